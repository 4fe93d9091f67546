"""What people decided about facts, as JSON lines: a fact and a verdict, accepted or rejected, and who says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from sayso.errors import BadInputError
from sayso.input_file import holding
from sayso.readers.base import BadLine, BadLineError, refuse_control
from sayso.readers.json_line import json_object, string
from sayso.readers.lines import read_lines
from sayso.records import Triple

VerdictName = Literal["accepted", "rejected"]


class FactVerdict(NamedTuple):
    """A person's verdict on a fact; who, when and why are empty where the line does not say."""

    fact: Triple
    verdict: VerdictName
    by: str = ""
    at: str = ""
    reason: str = ""


def read_verdicts(path: Path) -> Iterator[FactVerdict]:
    """Yield the verdicts of a file as `sayso decisions export --form judgements` writes it; a bad line is an error."""
    return holding(path, "verdicts", _verdicts(path))


def _verdicts(path: Path) -> Iterator[FactVerdict]:
    for number, text in read_lines(path):
        if isinstance(text, str) and (not text or text.isspace()):
            continue
        try:
            yield _parse(text)
        except BadLineError as error:
            raise BadInputError(f"{path}:{number}: {error}") from None


def _parse(text: str | BadLine) -> FactVerdict:
    if isinstance(text, BadLine):
        raise BadLineError(text.reason)
    record = json_object(text)
    head_id, relation, tail_id, verdict = (string(record, key) for key in ("head", "relation", "tail", "verdict"))
    refuse_control(head_id, relation, tail_id)
    known: tuple[VerdictName, ...] = get_args(VerdictName)
    for name in known:
        if verdict == name:
            return FactVerdict(
                Triple(head_id, relation, tail_id), name, *(string(record, key, "") for key in ("by", "at", "reason"))
            )
    raise BadLineError(f"'verdict' is {verdict[:20]!r}; it must be {' or '.join(known)}")
