"""Where people do not agree, and what they settle on.

Somebody's marks are shown to others only once a fact is closed, that is, as many people as wanted have submitted it:
nobody is given it to mark after that. Who takes a submission back may have seen them; the log keeps what stood there.
"""

from dataclasses import dataclass
from typing import NamedTuple

from sayso.annotate.agreement import submitted_marks
from sayso.annotate.fact_work import LABELS, MARK, fact_number, fact_of, find_fact, sentence_number
from sayso.annotate.log import Change, HasFact, has_any, record, undo
from sayso.annotate.people import AGREED, Annotator
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

SCOPE = "agree"


class Settled(NamedTuple):
    """What a sentence was settled as, and who did it."""

    label: str
    annotator: str


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """A sentence that people (by name) have marked differently for a closed fact.

    `settled` is what it was settled as and `settled_by` whoever did it; both are empty until it is.
    """

    sentence: str
    labels: tuple[tuple[str, str], ...]
    settled: str
    settled_by: str


def closed_facts(connection: Connection, annotators_per_fact: int) -> list[Triple]:
    """Return the facts that as many people as wanted have submitted, practice apart.

    The number is what the fact was given out for; `annotators_per_fact` where nobody was given it, as in imports.
    """
    rows = connection.execute(
        "SELECT fact FROM finished GROUP BY fact HAVING count(*) >="
        " coalesce((SELECT max(quota) FROM claim WHERE claim.fact = finished.fact), ?) ORDER BY fact",
        (annotators_per_fact,),
    ).fetchall()
    return [fact_of(connection, row[0]) for row in rows]


def disagreements(connection: Connection, annotators_per_fact: int) -> dict[Triple, list[Disagreement]]:
    """Return the sentences of closed facts that people have marked differently, by fact."""
    closed = set(closed_facts(connection, annotators_per_fact))
    found: dict[Triple, dict[str, list[tuple[str, str]]]] = {}
    for mark in submitted_marks(connection):
        if mark.fact in closed:
            found.setdefault(mark.fact, {}).setdefault(mark.sentence, []).append((mark.annotator, mark.label))
    settled = settled_labels(connection)
    return {
        fact: differing
        for fact, sentences in found.items()
        if (
            differing := [
                Disagreement(sentence=text, labels=tuple(labels), settled=agreed.label, settled_by=agreed.annotator)
                for text, labels in sentences.items()
                if len({label for _, label in labels}) > 1
                for agreed in (settled.get((fact, text), Settled("", "")),)
            ]
        )
    }


def settled_labels(connection: Connection) -> dict[tuple[Triple, str], Settled]:
    """Return what was settled, by fact and sentence."""
    rows = connection.execute(
        "SELECT head_id, relation, tail_id, text, value, name FROM entry JOIN fact ON fact.id = fact"
        " JOIN sentence ON sentence.id = sentence JOIN step ON step.id = step JOIN annotator ON annotator.id = actor"
        " WHERE owner = ? AND kind = ?",
        (AGREED, MARK),
    )
    return {(Triple(*row[:3]), row[3]): Settled(*row[4:]) for row in rows}


def settle(connection: Connection, actor: Annotator, fact: Triple, sentence: str, label: str, key: str) -> None:
    """Save what a sentence is once its disagreement was settled; the empty label opens it again."""
    if label not in (*LABELS, ""):
        raise UserError(f"{label!r} is no label; there are {', '.join(LABELS)}")
    change = Change(fact_number(connection, fact), sentence_number(connection, sentence), MARK, label)
    record(connection, actor, SCOPE, key, [change], owner=AGREED)


def undo_settling(
    connection: Connection, actor: Annotator, key: str, has_fact: HasFact = has_any, shown: Triple | None = None
) -> Triple | None:
    """Take back the last sentence that this person has settled, on the fact that is shown or else on any that is open.

    The fact comes back; None where they have settled nothing there.
    """
    number = find_fact(connection, shown) if shown else None
    changes = undo(connection, actor, SCOPE, key, has_fact, number) if number is not None or not shown else []
    return fact_of(connection, changes[0].fact) if changes else None
