"""Read knowledge graph facts from tab-separated lines, and annotators' decisions on facts from JSON lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from sayso.input_file import note_old_format
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.files import parse_lines
from sayso.readers.json_line import json_object, string
from sayso.records import Triple

FactDecisionName = Literal["accepted", "rejected"]


class FactDecision(NamedTuple):
    """An annotator's decision on a fact; `by`, `at` and `reason` are empty if the line does not give them."""

    fact: Triple
    decision: FactDecisionName
    by: str = ""
    at: str = ""
    reason: str = ""


def read_triples(path: Path) -> Iterator[Triple]:
    """Yield the facts (head id, relation, tail id) in the file in order, including repeated ones."""
    return (triple for _, triple in parse_lines(path, "facts", _triple))


def _triple(text: str) -> Triple:
    columns = text.split("\t")
    if len(columns) != 3:
        raise BadLineError(f"expected 3 columns (head, relation, tail), got {len(columns)}")
    if not all(column.strip() for column in columns):
        raise BadLineError("head, relation or tail is empty")
    refuse_control(*columns)
    return Triple(*columns)


def read_decisions(path: Path) -> Iterator[FactDecision]:
    """Yield the decisions in a file written by `sayso decisions export --format decisions`; raise on a bad line."""
    return (decision for _, decision in parse_lines(path, "decisions", lambda text: _decision(text, path)))


def _decision(text: str, path: Path) -> FactDecision:
    record = json_object(text)
    if "decision" not in record and "verdict" in record:
        note_old_format(path, "'verdict' is now called 'decision'")
        record["decision"] = record["verdict"]
    head_id, relation, tail_id, decision = (string(record, key) for key in ("head", "relation", "tail", "decision"))
    refuse_control(head_id, relation, tail_id)
    known: tuple[FactDecisionName, ...] = get_args(FactDecisionName)
    if decision not in known:
        raise BadLineError(f"'decision' is {decision[:20]!r}; it must be {' or '.join(known)}")
    by, at, reason = (string(record, key, "") for key in ("by", "at", "reason"))
    return FactDecision(Triple(head_id, relation, tail_id), known[known.index(decision)], by, at, reason)
