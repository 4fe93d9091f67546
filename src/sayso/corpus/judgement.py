"""Marks on sentences from a file in either form: rationale JSON lines or ERASER's."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sayso.corpus.eraser import read_eraser
from sayso.corpus.json_line import has_keys
from sayso.corpus.lines import read_lines
from sayso.corpus.rationale import JudgementItem, read_rationales


def read_judgements(path: Path) -> Iterator[JudgementItem]:
    """Yield the judgements of a file, in order, in the form that its first line shows."""
    first = next((text for _, text in islice(read_lines(path), 1)), "")
    is_eraser = isinstance(first, str) and has_keys(first, "annotation_id")
    return read_eraser(path) if is_eraser else read_rationales(path)
