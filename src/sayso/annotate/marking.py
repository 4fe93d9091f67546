"""One annotator's work on one fact: mark sentences, comment, report the fact as wrong, submit, undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sayso.annotate.log import WHOLE_FACT, Change, HasFact, accept_all, record, undo
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


def fact_number(connection: Connection, fact: Triple) -> int:
    """Return the database id of a fact, adding it if it is new."""
    found = find_fact(connection, fact)
    if found is not None:
        return found
    cursor = connection.execute("INSERT INTO fact (head_id, relation, tail_id) VALUES (?, ?, ?)", fact)
    assert cursor.lastrowid
    return cursor.lastrowid


def find_fact(connection: Connection, fact: Triple) -> int | None:
    """Return the database id of a fact, or None if it is not in the database."""
    row = connection.execute("SELECT id FROM fact WHERE head_id = ? AND relation = ? AND tail_id = ?", fact).fetchone()
    return row[0] if row else None


def fact_of(connection: Connection, number: int) -> Triple:
    """Return the fact with this database id."""
    return Triple(*connection.execute("SELECT head_id, relation, tail_id FROM fact WHERE id = ?", (number,)).fetchone())


def sentence_number(connection: Connection, text: str) -> int:
    """Return the database id of a sentence, adding it if it is new."""
    connection.execute("INSERT OR IGNORE INTO sentence (text) VALUES (?)", (text,))
    number: int = connection.execute("SELECT id FROM sentence WHERE text = ?", (text,)).fetchone()[0]
    return number


def work_of(connection: Connection, owner: int, fact: Triple) -> Work:
    """Return the owner's work on the fact."""
    rows = connection.execute(
        "SELECT kind, value, text FROM entry LEFT JOIN sentence ON sentence.id = entry.sentence"
        " WHERE owner = ? AND fact = ?",
        (owner, find_fact(connection, fact)),
    ).fetchall()
    values = {kind: value for kind, value, text in rows if text is None}
    return Work(
        labels={text: value for kind, value, text in rows if kind == MARK and text is not None},
        comment=values.get(COMMENT, ""),
        is_wrong=WRONG in values,
        is_submitted=SUBMITTED in values,
    )


def mark(connection: Connection, annotator: Annotator, fact: Triple, labels: Mapping[str, str], key: str) -> None:
    """Save an annotator's labels, by sentence text; an empty label removes the mark."""
    unknown = set(labels.values()) - {*LABELS, ""}
    if unknown:
        raise UserError(f"{min(unknown)!r} is not a label; choose one of {', '.join(LABELS)}")
    number = fact_number(connection, fact)
    _refuse_submitted(connection, annotator, fact)
    changes = [Change(number, sentence_number(connection, text), MARK, label) for text, label in labels.items()]
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
) -> tuple[Triple, list[tuple[str, str]]] | None:
    """Undo the annotator's last step; return its fact, and (text, label) of the marks that changed.

    The step is the last one on the fact `shown`. If there is none and the fact is not submitted, it is the last one on
    any fact of the open part. For a submitted fact, a step on another fact is never undone instead.
    """
    number = find_fact(connection, shown) if shown else None
    changes = undo(connection, annotator, SCOPE, key, has_fact, number) if number is not None else []
    if not changes and shown and work_of(connection, annotator.id, shown).is_submitted:
        raise UserError("nothing to undo on this fact: its marks were imported")
    changes = changes or undo(connection, annotator, SCOPE, key, has_fact)
    if not changes:
        return None
    marks = [
        (str(connection.execute("SELECT text FROM sentence WHERE id = ?", (each.sentence,)).fetchone()[0]), each.value)
        for each in changes
        if each.kind == MARK
    ]
    return fact_of(connection, changes[0].fact), marks


def _set(connection: Connection, annotator: Annotator, fact: Triple, kind: str, value: str, key: str) -> None:
    record(connection, annotator, SCOPE, key, [Change(fact_number(connection, fact), WHOLE_FACT, kind, value)])


def _refuse_submitted(connection: Connection, annotator: Annotator, fact: Triple) -> None:
    if work_of(connection, annotator.id, fact).is_submitted:
        raise UserError("you have already submitted this fact; undo the submission to change your marks")
