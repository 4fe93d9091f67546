"""Whose turn it is: the fact that a person gets next, and how far everybody is."""

from collections.abc import Sequence
from dataclasses import dataclass

from sayso.annotate.assignment import claim, claim_next, has_room, neighbour, open_facts
from sayso.annotate.fact_work import MARK, SUBMITTED
from sayso.annotate.log import HasFact, has_any
from sayso.annotate.people import Annotator, annotators
from sayso.annotate.pilot import facts_in_work, pilot_facts, pilot_result
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.records import Triple


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a person is: facts submitted, and marks made."""

    annotator: str
    num_submitted: int
    num_marks: int


def next_turn(
    connection: Connection,
    annotator: Annotator,
    queue: Sequence[Triple],
    after: Triple | None,
    has_fact: HasFact = has_any,
) -> Triple | None:
    """Return the fact that comes after this one, and give it to the person if it is new to them.

    First the facts they had before in their order, then what is left of the pilot round, then the queue, and at last
    whatever they have passed over, all of them as far as they are open. None where nothing is left.
    """
    following = neighbour(connection, annotator, after, 1, has_fact) if after else None
    if following:
        return following
    per_fact = read_settings(connection).annotators_per_fact
    pilot = set(pilot_facts(connection))
    # A fact of a past round is kept out, unless somebody has begun to mark it as real work: that is to be completed.
    apart = pilot | (set(pilot_facts(connection, with_past=True)) - facts_in_work(connection))
    if not pilot_result(connection, annotator, has_fact).is_done:
        found = claim_next(connection, annotator, filter(has_fact, pilot_facts(connection)), None, is_pilot=True)
    else:
        found = claim_next(connection, annotator, (fact for fact in queue if fact not in apart), per_fact)
    passed_over = (
        fact
        for fact in open_facts(connection, annotator)
        if fact != after and has_fact(fact) and (fact in apart or has_room(connection, annotator, fact, per_fact))
    )
    return found or next(passed_over, None)


def hold(connection: Connection, annotator: Annotator, fact: Triple) -> None:
    """Give a person a fact that they are about to mark, unless they have begun; enough others are a `UserError`.

    A fact of the pilot round is marked by everybody.
    """
    is_pilot = fact in pilot_facts(connection)
    claim(connection, annotator, fact, None if is_pilot else read_settings(connection).annotators_per_fact, is_pilot)


def progress(connection: Connection) -> list[Progress]:
    """Return how far everybody is who has marked something."""
    num = {
        (row[0], row[1]): row[2]
        for row in connection.execute(
            "SELECT owner, kind, count(*) FROM entry WHERE owner > 0 AND kind IN (?, ?) GROUP BY owner, kind",
            (MARK, SUBMITTED),
        )
    }
    return [
        Progress(
            annotator=person.name,
            num_submitted=num.get((person.id, SUBMITTED), 0),
            num_marks=num.get((person.id, MARK), 0),
        )
        for person in annotators(connection)
        if (person.id, MARK) in num
    ]
