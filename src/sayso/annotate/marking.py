"""One annotator's work on one fact: mark sentences, comment, report the fact as wrong, submit, undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sayso.annotate.log import IS_FACT, WHOLE_FACT, Change, HasFact, accept_all, entries, record, undo
from sayso.annotate.people import Annotator
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

SCOPE = "annotate"
MARK: Final = "mark"
COMMENT: Final = "comment"
WRONG: Final = "wrong"
SUBMITTED: Final = "submitted"
LABELS = ("rationale", "irrelevant", "unsure")
YES = "yes"


@dataclass(frozen=True, kw_only=True)
class Work:
    """One annotator's work on a fact; `labels` maps sentence text to label."""

    labels: Mapping[str, str]
    comment: str = ""
    is_wrong: bool = False
    is_submitted: bool = False


def work_of(connection: Connection, owner: int, fact: Triple) -> Work:
    """Return the owner's work on the fact."""
    found = entries(connection, f"entry.owner = ? AND {IS_FACT}", owner, *fact)
    values = {each.kind: each.value for each in found if each.sentence == WHOLE_FACT}
    return Work(
        labels={each.sentence: each.value for each in found if each.kind == MARK},
        comment=values.get(COMMENT, ""),
        is_wrong=WRONG in values,
        is_submitted=SUBMITTED in values,
    )


def mark(connection: Connection, annotator: Annotator, fact: Triple, labels: Mapping[str, str], key: str) -> None:
    """Save an annotator's labels, by sentence text; an empty label removes the mark."""
    unknown = set(labels.values()) - {*LABELS, ""}
    if unknown:
        raise UserError(f"{min(unknown)!r} is not a label; choose one of {', '.join(LABELS)}")
    _refuse_submitted(connection, annotator, fact)
    changes = [Change(fact, text, MARK, label) for text, label in labels.items()]
    record(connection, annotator, SCOPE, key, changes)


def comment(connection: Connection, annotator: Annotator, fact: Triple, text: str, key: str) -> None:
    """Save a comment on the fact; also possible after submission."""
    _set(connection, annotator, fact, COMMENT, text.strip(), key)


def flag_wrong(connection: Connection, annotator: Annotator, fact: Triple, is_wrong: bool, key: str) -> None:
    """Report the fact as wrong, or withdraw the report."""
    _refuse_submitted(connection, annotator, fact)
    _set(connection, annotator, fact, WRONG, YES if is_wrong else "", key)


def submit(connection: Connection, annotator: Annotator, fact: Triple, texts: Sequence[str], key: str) -> None:
    """Submit a fact; every sentence must have a mark."""
    labels = work_of(connection, annotator.id, fact).labels
    num_open = sum(text not in labels for text in texts)
    if num_open:
        raise UserError(f"{num_open} of {len(texts)} sentences are not marked yet; mark them, as unsure if necessary")
    _set(connection, annotator, fact, SUBMITTED, YES, key)


def undo_last(
    connection: Connection,
    annotator: Annotator,
    key: str,
    has_fact: HasFact = accept_all,
    shown: Triple | None = None,
) -> list[Change]:
    """Undo the annotator's last step and return the restored values.

    This is the last step on the fact `shown`. If it has none and is not submitted, it is the last step on any fact that
    `has_fact` accepts; while a submitted fact is shown, steps on other facts are never undone.
    """
    changes = undo(connection, annotator, SCOPE, key, has_fact, shown) if shown else []
    if not changes and shown and work_of(connection, annotator.id, shown).is_submitted:
        raise UserError("nothing to undo on this fact: its marks were imported")
    return changes or undo(connection, annotator, SCOPE, key, has_fact)


def _set(connection: Connection, annotator: Annotator, fact: Triple, kind: str, value: str, key: str) -> None:
    record(connection, annotator, SCOPE, key, [Change(fact, WHOLE_FACT, kind, value)])


def _refuse_submitted(connection: Connection, annotator: Annotator, fact: Triple) -> None:
    if work_of(connection, annotator.id, fact).is_submitted:
        raise UserError("you have already submitted this fact; undo the submission to change your marks")
