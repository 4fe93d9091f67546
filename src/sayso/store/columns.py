"""Arrays as memory-mapped Arrow files and back, without copying; what is read is checked before it is used."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa

from sayso.errors import BadInputError
from sayso.io.checksum import CheckedFiles, is_verifying
from sayso.store.limit import Limits, fault_of
from sayso.store.rows import Rows
from sayso.store.table import BagTable

Column = np.ndarray | Rows | list[str]

_PER_BAG = ("head_B", "tail_B", "relations", "first_B1")
_PER_SENTENCE = ("tokens", "head_spans", "tail_spans", "window_N2", "expresses_N", "document_N", "place_N2")
_LEFT_OUT_IF_EMPTY = ("glued", "curly")
"""Columns that only a corpus made from documents has; stores made before there were any have none."""


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Write columns of equal length as one Arrow file."""
    arrays = {name: _to_arrow(column) for name, column in columns.items()}
    table = pa.table(arrays)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_columns(files: CheckedFiles, name: str, *wanted: str) -> dict[str, pa.Array]:
    """Return the columns of an Arrow file, memory-mapped unless the folder is held in memory.

    A file that is missing, damaged or without the wanted columns is a `BadInputError`; so is a value that is missing.
    """
    path = files.folder / name
    try:
        source = pa.BufferReader(files.read(name)) if files.in_memory else pa.memory_map(str(files.path(name)))
        table = pa.ipc.open_file(source).read_all()
        # Reads offsets and texts, not numbers; without it Arrow follows a damaged offset out of the file.
        table.validate(full=True)
        columns = {each: _only_chunk(table.column(each)) for each in table.column_names}
    except (OSError, MemoryError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInputError(f"{path}: not a file of columns, or damaged ({reason}): {files.advice}") from error
    for each in wanted:
        if each not in columns:
            raise BadInputError(f"{path}: there is no column {each!r}: {files.advice}")
    for each, column in columns.items():
        if _has_gaps(column):
            raise BadInputError(f"{path}: values of column {each!r} are missing: {files.advice}")
    return columns


def _has_gaps(column: pa.Array) -> bool:
    """Say whether a value, or one in a row of values, is missing; rows of width 0 are stored as missing."""
    if pa.types.is_null(column.type):
        return False
    is_nested = pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type)
    return bool(column.null_count or (is_nested and column.values.null_count))


def write_bags(folder: Path, part: str, table: BagTable) -> None:
    """Write one part of a store: its bags and its sentences."""
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    bags = {name: columns.pop(name) for name in _PER_BAG}
    # As many starts as bags: the last bag ends where the sentences end.
    bags["first_B1"] = bags["first_B1"][:-1]
    for name in _LEFT_OUT_IF_EMPTY:
        if not len(columns[name].value):
            del columns[name]
    write_columns(folder / f"{part}.bags.arrow", bags)
    write_columns(folder / f"{part}.sentences.arrow", columns)


def read_bags(files: CheckedFiles, part: str, limits: Limits) -> BagTable:
    """Return one part of a store, memory-mapped, every number in it below the limit of its kind."""
    bags = read_columns(files, f"{part}.bags.arrow", *_PER_BAG)
    sentences = read_columns(files, f"{part}.sentences.arrow", *_PER_SENTENCE)
    columns = {name: to_numpy(array) for name, array in (bags | sentences).items()}
    columns["first_B1"] = np.append(columns["first_B1"], len(sentences["tokens"]))
    for name in _LEFT_OUT_IF_EMPTY:
        columns.setdefault(name, Rows.empty(len(sentences["tokens"])))
    try:
        table = BagTable(**columns)  # type: ignore[arg-type]
    except TypeError as error:
        raise BadInputError(f"{files.folder}: part {part}: {error}: {files.advice}") from None
    if is_verifying() and (fault := fault_of(table, limits)):
        raise BadInputError(f"{files.folder}: part {part}: {fault}: {files.advice}")
    return table


def to_numpy(array: pa.Array) -> np.ndarray | Rows:
    """Return the numbers of an Arrow column as they lie in the file."""
    if pa.types.is_large_list(array.type):
        return Rows(_as_numpy(array.values), _as_numpy(array.offsets))
    values: np.ndarray
    if pa.types.is_null(array.type):
        return np.zeros((len(array), 0), np.float32)
    if pa.types.is_fixed_size_list(array.type):
        values = _as_numpy(array.values).reshape(len(array), array.type.list_size)
    else:
        values = _as_numpy(array)
    return values


def as_arrow(values: np.ndarray) -> pa.Array:
    """Return numbers that lie next to each other as an Arrow array, without copying and without importing pandas."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def _as_numpy(array: pa.Array) -> np.ndarray:
    # Arrow's own conversion imports pandas, where it is installed, which takes longer than reading a model.
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
