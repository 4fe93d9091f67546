"""Decisions on facts as JSON lines: a fact, accepted or rejected, by whom, when and why."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from sayso.errors import BadInputError
from sayso.input_file import holding, note_old_format
from sayso.readers.base import BadLine, BadLineError, refuse_control
from sayso.readers.json_line import json_object, string
from sayso.readers.lines import read_lines
from sayso.records import Triple

FactDecisionName = Literal["accepted", "rejected"]


class FactDecision(NamedTuple):
    """A person's decision on a fact; `by`, `at` and `reason` are empty where the line has none."""

    fact: Triple
    decision: FactDecisionName
    by: str = ""
    at: str = ""
    reason: str = ""


def read_decisions(path: Path) -> Iterator[FactDecision]:
    """Yield the decisions of a file that `sayso decisions export --form decisions` wrote; raise on a bad line."""
    return holding(path, "decisions", _decisions(path))


def _decisions(path: Path) -> Iterator[FactDecision]:
    for number, text in read_lines(path):
        if isinstance(text, str) and (not text or text.isspace()):
            continue
        try:
            yield _parse(text, path)
        except BadLineError as error:
            raise BadInputError(f"{path}:{number}: {error}") from None


def _parse(text: str | BadLine, path: Path) -> FactDecision:
    if isinstance(text, BadLine):
        raise BadLineError(text.reason)
    record = json_object(text)
    if "decision" not in record and "verdict" in record:
        note_old_format(path, "'verdict' is called 'decision' now")
        record["decision"] = record["verdict"]
    head_id, relation, tail_id, decision = (string(record, key) for key in ("head", "relation", "tail", "decision"))
    refuse_control(head_id, relation, tail_id)
    known: tuple[FactDecisionName, ...] = get_args(FactDecisionName)
    for name in known:
        if decision == name:
            return FactDecision(
                Triple(head_id, relation, tail_id), name, *(string(record, key, "") for key in ("by", "at", "reason"))
            )
    raise BadLineError(f"'decision' is {decision[:20]!r}; it must be {' or '.join(known)}")
