"""Read and write annotators' marks on sentences: our JSON lines or ERASER's, detected from the first line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sayso.input_file import holding
from sayso.readers.base import BadLine, Line, read_each, refuse_control
from sayso.readers.eraser import read_eraser
from sayso.readers.files import first_of, read_lines
from sayso.readers.json_line import has_keys, json_object, string
from sayso.records import Mark

MarkItem = tuple[int, Mark | BadLine]
"""A line number, and the mark or bad line found there."""


def read_marks(path: Path) -> Iterator[MarkItem]:
    """Yield the marks in a file of either format, in order; a line that cannot be read is a `BadLine`."""
    first, lines = first_of(read_lines(path))
    read = read_eraser if has_keys(first, "annotation_id") else read_mark_lines
    return holding(path, "marks", read(path, lines))


def read_mark_lines(path: Path, lines: Iterable[Line] | None = None) -> Iterator[MarkItem]:
    """Yield the mark on each JSON line of the file, or of `lines` if the file is already open."""
    return read_each(read_lines(path) if lines is None else lines, parse)


def parse(text: str) -> Mark:
    """Parse one line."""
    record = json_object(text)
    head_id, tail_id, relation, sentence, label = (
        string(record, key) for key in ("head", "tail", "relation", "sentence", "label")
    )
    return with_plain_names(Mark(head_id, tail_id, relation, sentence, label, string(record, "by", "")))


def write_mark(mark: Mark, names: Mapping[str, str] = {}) -> str:
    """Return the mark's line, with the names of head and tail if they are known; `parse` reads it back unchanged."""
    head_id, tail_id, relation, sentence, label, annotator = mark
    record = {"head": head_id, "tail": tail_id, "relation": relation, "sentence": sentence, "label": label}
    record |= {name: names[each] for name, each in (("head_name", head_id), ("tail_name", tail_id)) if each in names}
    return json.dumps({**record, "by": annotator} if annotator else record, ensure_ascii=False)


def with_plain_names(mark: Mark) -> Mark:
    """Return the mark; raise `BadLineError` if an id or a name contains a control character."""
    refuse_control(mark.head_id, mark.tail_id, mark.relation, mark.annotator)
    return mark
