"""Rationale JSON lines: one person's mark on one sentence for one fact."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sayso.readers.base import BadLine, BadLineError, Line, refuse_control
from sayso.readers.json_line import json_object, string
from sayso.readers.lines import read_lines
from sayso.records import Mark

MarkItem = tuple[int, Mark | BadLine]
"""A line's number and what the line holds."""


def read_rationales(path: Path, lines: Iterable[Line] | None = None) -> Iterator[MarkItem]:
    """Yield the mark of each line, in order, or why it cannot be read; of `lines` where the file is open."""
    return marks_of(read_lines(path) if lines is None else lines, lambda text: (parse(text),))


def marks_of(lines: Iterable[Line], parse: Callable[[str], Iterable[Mark]]) -> Iterator[MarkItem]:
    """Yield the marks that `parse` finds on each line; a line it cannot read gives one bad line and no more."""
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
        elif text and not text.isspace():
            try:
                marks = tuple(map(with_plain_names, parse(text)))
            except BadLineError as error:
                yield number, BadLine(str(error))
            else:
                yield from ((number, mark) for mark in marks)


def with_plain_names(mark: Mark) -> Mark:
    """Return the mark, whose ids and names must be without control characters."""
    head_id, tail_id, relation, _, _, annotator = mark
    refuse_control(head_id, tail_id, relation, annotator)
    return mark


def parse(text: str) -> Mark:
    """Return the mark of one line."""
    record = json_object(text)
    head_id, tail_id, relation, sentence, label = (
        string(record, key) for key in ("head", "tail", "relation", "sentence", "label")
    )
    return Mark(head_id, tail_id, relation, sentence, label, string(record, "by", ""))


def write_rationale(mark: Mark) -> str:
    """Return the mark's line; reading it gives the same mark."""
    head_id, tail_id, relation, sentence, label, annotator = mark
    record = {"head": head_id, "tail": tail_id, "relation": relation, "sentence": sentence, "label": label}
    return json.dumps({**record, "by": annotator} if annotator else record, ensure_ascii=False)
