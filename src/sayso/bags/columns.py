"""Arrays as memory-mapped Arrow files and back, without copying."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa

from sayso.bags.rows import Rows
from sayso.bags.table import BagTable
from sayso.errors import BadInputError

Column = np.ndarray | Rows | list[str]

_PER_BAG = ("head_B", "tail_B", "relations", "first_B1")
_LEFT_OUT_IF_EMPTY = ("glued", "curly")
"""Columns that only a corpus made from documents has; stores made before there were any have none."""


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Write columns of equal length as one Arrow file."""
    arrays = {name: _to_arrow(column) for name, column in columns.items()}
    table = pa.table(arrays)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_columns(path: Path) -> dict[str, pa.Array]:
    """Return the columns of an Arrow file, memory-mapped."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise BadInputError(f"{path}: not a part of a store, or damaged ({error})") from error
    return {name: _only_chunk(table.column(name)) for name in table.column_names}


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


def read_bags(folder: Path, part: str) -> BagTable:
    """Return one part of a store, memory-mapped."""
    bags = read_columns(folder / f"{part}.bags.arrow")
    sentences = read_columns(folder / f"{part}.sentences.arrow")
    columns = {name: to_numpy(array) for name, array in (bags | sentences).items()}
    columns["first_B1"] = np.append(columns["first_B1"], len(sentences["tokens"]))
    for name in _LEFT_OUT_IF_EMPTY:
        columns.setdefault(name, Rows.empty(len(sentences["tokens"])))
    return BagTable(**columns)  # type: ignore[arg-type]


def to_numpy(array: pa.Array) -> np.ndarray | Rows:
    """Return the numbers of an Arrow column as they lie in the file."""
    if pa.types.is_large_list(array.type):
        return Rows(array.values.to_numpy(), array.offsets.to_numpy())
    values: np.ndarray
    if pa.types.is_null(array.type):
        return np.zeros((len(array), 0), np.float32)
    if pa.types.is_fixed_size_list(array.type):
        values = array.values.to_numpy().reshape(len(array), array.type.list_size)
    else:
        values = array.to_numpy()
    return values


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
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
