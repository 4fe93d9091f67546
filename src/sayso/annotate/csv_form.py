"""Marks as a table for spreadsheets: CSV with a header."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from sayso.errors import BadInputError
from sayso.facts.spreadsheet_cell import bare, shielded
from sayso.io.atomic import atomic_file
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.rationale import MarkItem, with_plain_names
from sayso.readers.whole import read_text
from sayso.records import Mark

COLUMNS = ("head", "tail", "relation", "sentence", "label", "by")


def write_csv(path: Path, marks: Iterable[Mark]) -> int:
    """Write a row a mark; return how many could not be written, which is none."""
    with atomic_file(path) as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([shielded(cell) for cell in mark] for mark in marks)
    return 0


def read_csv(path: Path) -> Iterator[MarkItem]:
    """Yield the mark of each row with the line it ends on, or why it cannot be read."""
    rows = csv.reader(io.StringIO(read_text(path, "marks"), newline=""), strict=True)
    try:
        header = next(rows, [])
        if tuple(header) != COLUMNS:
            raise BadInputError(f"{path}:1: the header is not {','.join(COLUMNS)}")
        for row in rows:
            yield rows.line_num, _mark(row)
    except csv.Error as error:
        raise BadInputError(f"{path}:{rows.line_num}: not CSV ({error})") from error


def _mark(row: list[str]) -> Mark | BadLine:
    if len(row) != len(COLUMNS):
        return BadLine(f"{len(row)} columns where the header has {len(COLUMNS)}")
    try:
        return with_plain_names(Mark(*map(bare, row)))
    except BadLineError as error:
        return BadLine(str(error))
