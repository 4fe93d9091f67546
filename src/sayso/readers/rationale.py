"""Rationale JSON lines: one person's mark on one sentence for one fact."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sayso.readers.base import BadLine, BadLineError, Line, refuse_control
from sayso.readers.json_line import json_object, string
from sayso.readers.lines import read_lines
from sayso.records import Judgement

JudgementItem = tuple[int, Judgement | BadLine]
"""A line's number and what the line holds."""


def read_rationales(path: Path, lines: Iterable[Line] | None = None) -> Iterator[JudgementItem]:
    """Yield the judgement of each line, in order, or why it cannot be read; of `lines` where the file is open."""
    return judgements_of(read_lines(path) if lines is None else lines, lambda text: (parse(text),))


def judgements_of(lines: Iterable[Line], parse: Callable[[str], Iterable[Judgement]]) -> Iterator[JudgementItem]:
    """Yield the judgements that `parse` finds on each line; a line it cannot read gives one bad line and no more."""
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
        elif text and not text.isspace():
            try:
                judgements = tuple(map(with_plain_names, parse(text)))
            except BadLineError as error:
                yield number, BadLine(str(error))
            else:
                yield from ((number, judgement) for judgement in judgements)


def with_plain_names(judgement: Judgement) -> Judgement:
    """Return the judgement, whose ids and names must be without control characters."""
    head_id, tail_id, relation, _, _, annotator = judgement
    refuse_control(head_id, tail_id, relation, annotator)
    return judgement


def parse(text: str) -> Judgement:
    """Return the judgement of one line."""
    record = json_object(text)
    head_id, tail_id, relation, sentence, label = (
        string(record, key) for key in ("head", "tail", "relation", "sentence", "label")
    )
    return Judgement(head_id, tail_id, relation, sentence, label, string(record, "by", ""))


def write_rationale(judgement: Judgement) -> str:
    """Return the judgement's line; reading it gives the same judgement."""
    head_id, tail_id, relation, sentence, label, annotator = judgement
    record = {"head": head_id, "tail": tail_id, "relation": relation, "sentence": sentence, "label": label}
    return json.dumps({**record, "by": annotator} if annotator else record, ensure_ascii=False)
