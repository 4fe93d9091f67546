"""Marks on sentences from a file in either form: rationale JSON lines or ERASER's."""

from collections.abc import Iterator
from pathlib import Path

from sayso.input_file import holding
from sayso.readers.eraser import read_eraser
from sayso.readers.json_line import has_keys
from sayso.readers.lines import first_of, read_lines
from sayso.readers.rationale import MarkItem, read_rationales


def read_marks(path: Path) -> Iterator[MarkItem]:
    """Yield the marks of a file, in order, in the form that its first line shows."""
    first, lines = first_of(read_lines(path))
    read = read_eraser if has_keys(first, "annotation_id") else read_rationales
    return holding(path, "marks", read(path, lines))
