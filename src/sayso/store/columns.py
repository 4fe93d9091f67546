"""Numeric and string columns in memory-mapped Arrow files, checked before use.

Shapes: B bags, N sentences.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sayso.errors import BadInputError
from sayso.io.checksum import CheckedFiles, is_verifying
from sayso.store.rows import Rows
from sayso.store.table import BAG_COLUMNS, NO_DOCUMENT, NO_LABEL, SENTENCE_COLUMNS, BagTable, no_source

Column = np.ndarray | Rows | list[str]

_OPTIONAL = ("label_N", "glued", "curly")
"""Columns that exist only in a corpus with labelled direct sentences, or in one made from documents."""
_ROWS = frozenset({"relations", "tokens", "head_spans", "tail_spans", "glued", "curly"})
_PAIRS = frozenset({"window_N2", "place_N2"})


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Write columns of equal length as one Arrow file."""
    table = pa.table({name: _to_arrow(column) for name, column in columns.items()})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_columns(files: CheckedFiles, name: str, *wanted: str) -> dict[str, pa.Array]:
    """Return the columns of an Arrow file, memory-mapped unless the folder is read into memory.

    Raises:
        BadInputError: the file is missing or damaged, lacks a requested column, or has a missing value.
    """
    path = files.folder / name
    try:
        source = pa.BufferReader(files.read(name)) if files.in_memory else pa.memory_map(str(files.path(name)))
        table = pa.ipc.open_file(source).read_all()
        # Checks offsets and strings, not numbers; without it Arrow follows a damaged offset past the end of the file.
        table.validate(full=True)
        columns = {each: _only_chunk(table.column(each)) for each in table.column_names}
    except (OSError, MemoryError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInputError(f"{path}: not a valid Arrow file ({reason}): {files.advice}") from error
    for each in wanted:
        if each not in columns:
            raise BadInputError(f"{path}: column {each!r} is missing: {files.advice}")
    for each, column in columns.items():
        if _has_gaps(column):
            raise BadInputError(f"{path}: column {each!r} has missing values: {files.advice}")
    return columns


def _has_gaps(column: pa.Array) -> bool:
    """Return whether any value is missing, including inside rows; rows of width 0 are stored as nulls."""
    if pa.types.is_null(column.type):
        return False
    is_nested = pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type)
    return bool(column.null_count or (is_nested and column.values.null_count))


def write_bags(folder: Path, part: str, table: BagTable) -> None:
    """Write one part of a store: its bags and its sentences."""
    bags = {name: getattr(table, name) for name in BAG_COLUMNS}
    sentences = {name: getattr(table, name) for name in SENTENCE_COLUMNS}
    is_used = {
        "label_N": (table.label_N != NO_LABEL).any(),
        "glued": len(table.glued.value),
        "curly": len(table.curly.value),
    }
    sentences = {name: column for name, column in sentences.items() if is_used.get(name, True)}
    # One start per bag: the last bag ends with the last sentence.
    write_columns(folder / f"{part}.bags.arrow", {**bags, "first_B1": table.first_B1[:-1]})
    write_columns(folder / f"{part}.sentences.arrow", sentences)


class Limits(NamedTuple):
    """The number of words, entities, relations, documents and direct labels; the ids in a table are below these."""

    words: int
    entities: int
    relations: int
    documents: int
    labels: int = 0


def read_bags(files: CheckedFiles, part: str, limits: Limits) -> BagTable:
    """Read one part of a store, memory-mapped, and check that every id is within its limit."""
    bags = read_columns(files, f"{part}.bags.arrow", *BAG_COLUMNS, "first_B1")
    sentences = read_columns(
        files, f"{part}.sentences.arrow", *(name for name in SENTENCE_COLUMNS if name not in _OPTIONAL)
    )
    columns = {name: to_numpy(array) for name, array in (bags | sentences).items()}
    columns["first_B1"] = np.append(columns["first_B1"], len(sentences["tokens"]))
    missing = no_source(len(sentences["tokens"]))
    columns |= {name: missing[name] for name in _OPTIONAL if name not in columns}
    try:
        table = BagTable(**columns)  # type: ignore[arg-type]
    except TypeError as error:
        raise BadInputError(f"{files.folder}: part {part}: {error}: {files.advice}") from None
    if is_verifying() and (fault := fault_of(table, limits)):
        raise BadInputError(f"{files.folder}: part {part}: {fault}: {files.advice}")
    return table


def to_numpy(array: pa.Array) -> np.ndarray | Rows:
    """Return an Arrow column as numpy without copying it."""
    if pa.types.is_large_list(array.type):
        return Rows(_as_numpy(array.values), _as_numpy(array.offsets))
    if pa.types.is_null(array.type):
        return np.zeros((len(array), 0), np.float32)
    if pa.types.is_fixed_size_list(array.type):
        return _as_numpy(array.values).reshape(len(array), array.type.list_size)
    return _as_numpy(array)


def as_arrow(values: np.ndarray) -> pa.Array:
    """Return a contiguous array as Arrow, without copying and without importing pandas."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def _as_numpy(array: pa.Array) -> np.ndarray:
    # Arrow's own conversion imports pandas if it is installed, which takes longer than reading a model.
    try:
        return np.from_dlpack(array)
    except pa.ArrowTypeError:
        return np.asarray(array.to_numpy())


def _to_arrow(column: Column) -> pa.Array:
    if isinstance(column, Rows):
        return pa.LargeListArray.from_arrays(pa.array(column.start, pa.int64()), pa.array(column.value))
    if isinstance(column, list):
        return pa.array(column, pa.large_string())
    if column.ndim == 2 and column.shape[1] == 0:
        return pa.nulls(len(column))  # Arrow has no rows of width 0
    if column.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(column).ravel()), column.shape[1])
    return pa.array(column)


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def is_finite(values: np.ndarray) -> bool:
    """Return whether all values are finite, without a copy."""
    return not values.size or bool(np.isfinite(values.min()) and np.isfinite(values.max()))


def is_within(values: np.ndarray, low: int, stop: int) -> bool:
    """Return whether all values are integers from `low` up to but not including `stop`."""
    if values.dtype.kind not in "iu":
        return False
    return not values.size or bool(low <= values.min() and values.max() < stop)


def fault_of(table: BagTable, limits: Limits) -> str:
    """Return the first problem with a table's shapes or values; empty if there is none."""
    return _shape_fault(table) or _range_fault(table, limits)


def _shape_fault(table: BagTable) -> str:
    num_bags, num_sentences = len(table.first_B1) - 1, len(table.tokens)
    for field in fields(table):
        column, name = getattr(table, field.name), field.name
        if isinstance(column, Rows) != (name in _ROWS):
            return f"{name} has the wrong type"
        if name != "first_B1" and len(column) != (num_bags if name in BAG_COLUMNS else num_sentences):
            return f"{name} has {len(column):,} rows"
        if name in _PAIRS and column.shape[1:] != (2,):
            return f"{name} does not contain pairs"
    return "" if table.expresses_N.dtype.kind == "f" else "expresses_N does not contain floats"


def _range_fault(table: BagTable, limits: Limits) -> str:
    longest = int(table.tokens.length.max(initial=0))
    ranges = {
        "head_B": (0, limits.entities),
        "tail_B": (0, limits.entities),
        "relations": (0, limits.relations),
        "first_B1": (0, len(table.tokens) + 1),
        "tokens": (0, limits.words),
        "head_spans": (0, longest + 1),
        "tail_spans": (0, longest + 1),
        "window_N2": (0, longest + 1),
        "label_N": (NO_LABEL, limits.labels),
        "document_N": (NO_DOCUMENT, limits.documents),
        "place_N2": (-1, 2**62),
        "glued": (0, longest + 1),
        "curly": (0, 2**31),
    }
    for name, (low, stop) in ranges.items():
        column = getattr(table, name)
        if not is_within(column.value if name in _ROWS else column, low, stop):
            return f"a value of {name} is not between {low} and {stop - 1:,}"
    first = table.first_B1
    return "bags are not consecutive" if first[0] != 0 or np.any(first[1:] < first[:-1]) else ""


def numbers_in(column: pa.Array, dtype: str = "<i4") -> np.ndarray:
    """Return the numbers of an Arrow array without nulls."""
    # Not `np.asarray`, which imports pandas: this takes half a second.
    values = column.buffers()[1]
    return np.frombuffer(values, dtype)[column.offset :][: len(column)] if values else np.zeros(0, dtype)


def are_valid(column: pa.Array) -> np.ndarray:
    """Return which values of an array are not null."""
    bits = column.is_valid()
    is_set = np.unpackbits(np.frombuffer(bits.buffers()[1], np.uint8), bitorder="little")
    is_valid_N: np.ndarray = is_set[bits.offset :][: len(bits)].astype(bool)
    return is_valid_N


def text_array(texts: Sequence[str]) -> pa.StringArray:
    """Return texts as an array."""
    # Not `pa.array`, which imports pandas too.
    joined = "".join(texts)
    lengths = map(len, texts) if joined.isascii() else (len(text.encode()) for text in texts)
    offsets = np.fromiter(accumulate(lengths, initial=0), np.int32, len(texts) + 1)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(joined.encode()))


def take_texts(texts: pa.StringArray, index: np.ndarray) -> pa.StringArray:
    """Return the texts at these indices."""
    return texts.take(pa.Array.from_buffers(pa.int64(), len(index), [None, pa.py_buffer(index.astype(np.int64))]))


def names_of(entities: Mapping[str, pa.Array], ids: Iterable[str]) -> dict[str, str]:
    """Return the names of entities by id; ids that the columns `id` and `name` do not have are left out."""
    wanted = list(dict.fromkeys(ids))
    rows = pc.index_in(pa.array(wanted, entities["id"].type), value_set=entities["id"]).to_pylist()
    return {each: entities["name"][row].as_py() for each, row in zip(wanted, rows, strict=True) if row is not None}
