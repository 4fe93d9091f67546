"""What the table of an extraction needs to know of each fact, and where its line stands: one pass over the file.

Shapes: F facts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sayso.errors import BadInputError
from sayso.facts.extracted import found_at, no_fact
from sayso.readers.lines import MAX_LINE_BYTES

_TEXT = pa.large_string()
_SCHEMA = pa.schema(
    [
        *((name, _TEXT) for name in ("head_id", "head_name", "relation", "tail_id", "tail_name")),
        *(("probability", pa.float64()), ("status", _TEXT), ("support", _TEXT), ("num_sentences", pa.int64())),
    ]
)
_ROWS_AT_A_TIME = 65_536
"""Rows that are held as Python's own values while the columns are made."""


class FoundColumns(NamedTuple):
    """The columns by name, and the byte at which each line begins; behind the last the end of the file."""

    columns: dict[str, pa.Array]
    start_F1: np.ndarray


def read_columns(path: Path) -> FoundColumns:
    """Return the columns of a file of facts; a line that is none is an error."""
    batches, rows, starts = list[pa.RecordBatch](), list[tuple[object, ...]](), [0]
    for number, line in enumerate(_lines(path), 1):
        rows.append(_row(path, number, line))
        starts.append(starts[-1] + len(line))
        if len(rows) == _ROWS_AT_A_TIME:
            batches.append(_batch(rows))
            rows = []
    table = pa.Table.from_batches([*batches, _batch(rows)]).combine_chunks()
    columns = {name: table.column(name).combine_chunks() for name in _SCHEMA.names}
    return FoundColumns(columns, np.array(starts, np.int64))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES):
                yield line
    except OSError as error:
        raise BadInputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _row(path: Path, number: int, line: bytes) -> tuple[object, ...]:
    try:
        fact = found_at(path, number, line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise no_fact(path, number, str(error)) from None
    values = vars(fact) | {"support": fact.support.kind}
    return tuple(values[name] for name in _SCHEMA.names)


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    values = list(zip(*rows, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(values, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
