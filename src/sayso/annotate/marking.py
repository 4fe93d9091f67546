"""One annotator's work on one fact: mark sentences, comment, report the fact as wrong, submit, undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sayso.annotate.log import (
    IS_FACT,
    WHOLE_FACT,
    Change,
    HasFact,
    accept_all,
    changes_since,
    entries,
    record,
    undo,
    version_of,
)
from sayso.annotate.people import Annotator
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

SCOPE, REOPENED = "annotate", "reopen"
MARK: Final = "mark"
COMMENT: Final = "comment"
WRONG: Final = "wrong"
SUBMITTED: Final = "submitted"
LABELS = ("rationale", "irrelevant", "unsure")
YES = "yes"
_NUM_TOLD, _LENGTH_TOLD = 5, 200
"""How many marks, and how much of a comment, the message about another tab repeats."""


class StaleError(UserError):
    """The fact has changed since the page was shown; nothing was saved."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """One annotator's work on a fact; `labels` maps sentence text to label.

    `version` changes with every change to it.
    """

    labels: Mapping[str, str]
    version: int = 0
    comment: str = ""
    is_wrong: bool = False
    is_submitted: bool = False


def work_of(connection: Connection, owner: int, fact: Triple) -> Work:
    """Return the owner's work on the fact."""
    found = entries(connection, f"entry.owner = ? AND {IS_FACT}", owner, *fact)
    values = {each.kind: each.value for each in found if each.sentence == WHOLE_FACT}
    return Work(
        labels={each.sentence: each.value for each in found if each.kind == MARK},
        version=version_of(connection, owner, fact),
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

    If the fact `shown` is submitted, it is reopened, whatever was done last. Otherwise its last step is undone or, if
    it has none, the last step on any fact that `has_fact` accepts.
    """
    if shown and work_of(connection, annotator.id, shown).is_submitted:
        change = Change(shown, WHOLE_FACT, SUBMITTED, "")
        # Not a step of its own in the undo history: undoing it would submit the fact.
        record(connection, annotator, REOPENED, key, [change])
        return [change]
    changes = undo(connection, annotator, SCOPE, key, has_fact, shown) if shown else []
    return changes or undo(connection, annotator, SCOPE, key, has_fact)


def refuse_stale(
    connection: Connection, annotator: Annotator, fact: Triple, texts: Sequence[str], version: int | None, key: str
) -> None:
    """Raise `StaleError` if the annotator's work on the fact has changed since the version that their page shows."""
    changes = [] if version is None else changes_since(connection, annotator.id, fact, version, key)
    if not changes:
        return
    numbers = {text: number for number, text in enumerate(texts, 1)}
    marked = [
        f"marked sentence {number} as {each.value}" if each.value else f"unmarked sentence {number}"
        for each in changes
        if (number := numbers.get(each.sentence))
    ]
    if len(marked) > _NUM_TOLD:
        marked = [f"changed the marks of {len(marked):,} sentences"]
    done = [*marked, *(_told(each) for each in changes if each.sentence == WHOLE_FACT)]
    told = f"In another tab or window you {', '.join(done)}."
    raise StaleError(f"{told} This page now shows that; your last change here was not saved.")


def _told(change: Change) -> str:
    """Return what a change of the whole fact did, as the end of a sentence."""
    match change.kind, change.value:
        case (kind, "") if kind == COMMENT:
            return "deleted the comment"
        case (kind, text) if kind == COMMENT:
            return f"wrote the comment “{text if len(text) <= _LENGTH_TOLD else f'{text[:_LENGTH_TOLD]}…'}”"
        case (kind, value) if kind == WRONG:
            return "reported the fact as wrong" if value else "withdrew the report that the fact is wrong"
        case _:
            return "submitted the fact" if change.value else "reopened the fact"


def _set(connection: Connection, annotator: Annotator, fact: Triple, kind: str, value: str, key: str) -> None:
    record(connection, annotator, SCOPE, key, [Change(fact, WHOLE_FACT, kind, value)])


def _refuse_submitted(connection: Connection, annotator: Annotator, fact: Triple) -> None:
    if work_of(connection, annotator.id, fact).is_submitted:
        raise UserError("you have already submitted this fact; undo the submission to change your marks")
