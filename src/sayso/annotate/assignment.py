"""Assignment: which annotators mark which facts, and which fact each of them gets next.

The terms of an assignment stay the same when the settings change: whether the work is practice (a pilot round), and how
many annotators mark the fact (its quota, set by the first assignment). Marks become visible to other annotators once
that many have submitted the fact, so lowering the quota would end the blind phase early.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sayso.annotate.log import HasFact, accept_all
from sayso.annotate.marking import MARK, SUBMITTED, fact_number, fact_of, find_fact, work_of
from sayso.annotate.people import Annotator, annotators
from sayso.annotate.pilot import facts_in_work, pilot_facts, pilot_result
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

_HELD_SECONDS = 3600.0
"""How long a fact stays reserved for an annotator who opened it but marked nothing."""

_HELD = (
    "(NOT is_pilot AND (time > ? OR EXISTS (SELECT 1 FROM entry WHERE entry.owner = claim.annotator"
    " AND entry.fact = claim.fact AND entry.kind = 'mark')))"
)


def claim(
    connection: Connection,
    annotator: Annotator,
    fact: Triple,
    annotators_per_fact: int | None,
    is_pilot: bool = False,
) -> None:
    """Assign a fact to an annotator; raise `UserError` if enough others have it.

    `annotators_per_fact` is None if there is no limit. An assignment that the annotator has started to mark does not
    change.
    """
    number = fact_number(connection, fact)
    is_begun = bool(work_of(connection, annotator.id, fact).labels)
    if is_begun and is_held(connection, annotator, fact):
        return
    quota = None if is_pilot or annotators_per_fact is None else _quota(connection, number) or annotators_per_fact
    others = _others(connection, annotator, number)
    if quota is not None and not is_begun and len(others) >= quota:
        raise UserError(f"this fact already has enough annotators ({len(others)})")
    connection.execute(
        "INSERT INTO claim (annotator, fact, time, is_pilot, quota) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (annotator, fact) DO UPDATE SET time = excluded.time, is_pilot = excluded.is_pilot,"
        " quota = coalesce(excluded.quota, quota)",
        (annotator.id, number, time.time(), is_pilot, quota),
    )


def has_room(connection: Connection, annotator: Annotator, fact: Triple, annotators_per_fact: int) -> bool:
    """Return whether the fact needs more annotators."""
    number = fact_number(connection, fact)
    return len(_others(connection, annotator, number)) < (_quota(connection, number) or annotators_per_fact)


def is_held(connection: Connection, annotator: Annotator, fact: Triple) -> bool:
    """Return whether the fact is assigned to the annotator."""
    query = "SELECT 1 FROM claim WHERE annotator = ? AND fact = ?"
    return connection.execute(query, (annotator.id, find_fact(connection, fact))).fetchone() is not None


def is_practice(connection: Connection, annotator: Annotator, fact: Triple) -> bool:
    """Return whether the fact is assigned to the annotator as practice, in a pilot round."""
    query = "SELECT is_pilot FROM claim WHERE annotator = ? AND fact = ?"
    row = connection.execute(query, (annotator.id, find_fact(connection, fact))).fetchone()
    return row is not None and bool(row[0])


def claim_next(
    connection: Connection,
    annotator: Annotator,
    queue: Iterable[Triple],
    annotators_per_fact: int | None,
    is_pilot: bool = False,
) -> Triple | None:
    """Assign the first fact in the queue that needs more annotators and is not yet assigned to this one."""
    rows = connection.execute(
        f"SELECT head_id, relation, tail_id, annotator, quota, {_HELD} OR annotator = ? AS is_held"
        " FROM claim JOIN fact ON fact.id = fact",
        (time.time() - _HELD_SECONDS, annotator.id),
    )
    holders: dict[Triple, set[int]] = {}
    most: dict[Triple, float] = {}
    for *ids, person, quota, is_claim_held in rows:
        fact = Triple(*ids)
        most[fact] = max(most.get(fact, 0), quota or 0)
        if is_claim_held:
            holders.setdefault(fact, set()).add(person)
    for fact in queue:
        people = holders.get(fact, set())
        limit = float("inf") if annotators_per_fact is None else most.get(fact) or annotators_per_fact
        if annotator.id not in people and len(people) < limit:
            claim(connection, annotator, fact, annotators_per_fact, is_pilot)
            return fact
    return None


def neighbour(
    connection: Connection, annotator: Annotator, fact: Triple, distance: int, has_fact: HasFact = accept_all
) -> Triple | None:
    """Return the annotator's fact `distance` places after (before, if negative) this one in the open part."""
    row = [each for each in _row(connection, annotator) if has_fact(each)]
    if fact not in row:
        return row[-1] if row and distance < 0 else None
    place = row.index(fact) + distance
    return row[place] if 0 <= place < len(row) else None


def open_facts(connection: Connection, annotator: Annotator) -> list[Triple]:
    """Return the annotator's facts that are not submitted."""
    rows = connection.execute(
        f"{_ROW} AND NOT EXISTS (SELECT 1 FROM entry WHERE owner = annotator AND entry.fact = claim.fact"
        " AND sentence = 0 AND kind = ?) ORDER BY claim.id",
        (annotator.id, SUBMITTED),
    )
    return [Triple(*row) for row in rows]


def keep_place(connection: Connection, annotator: Annotator, fact: Triple, sentence: int) -> None:
    """Save the annotator's position: the fact, and the index of the sentence in the bag."""
    number = fact_number(connection, fact)
    connection.execute("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", (annotator.id, number, sentence))


def place_of(connection: Connection, annotator: Annotator) -> tuple[Triple, int] | None:
    """Return the annotator's last position."""
    row = connection.execute("SELECT fact, sentence FROM place WHERE annotator = ?", (annotator.id,)).fetchone()
    return (fact_of(connection, row[0]), row[1]) if row else None


_ROW = "SELECT head_id, relation, tail_id FROM claim JOIN fact ON fact.id = claim.fact WHERE annotator = ?"


def _row(connection: Connection, annotator: Annotator) -> list[Triple]:
    return [Triple(*row) for row in connection.execute(f"{_ROW} ORDER BY claim.id", (annotator.id,))]


def _others(connection: Connection, annotator: Annotator, fact: int) -> list[int]:
    """Return the ids of the other annotators assigned to the fact."""
    query = f"SELECT annotator FROM claim WHERE fact = ? AND annotator <> ? AND {_HELD}"
    return [row[0] for row in connection.execute(query, (fact, annotator.id, time.time() - _HELD_SECONDS))]


def _quota(connection: Connection, fact: int) -> int | None:
    """Return how many annotators the fact needs; None if it is not assigned."""
    quota: int | None = connection.execute("SELECT max(quota) FROM claim WHERE fact = ?", (fact,)).fetchone()[0]
    return quota


@dataclass(frozen=True, kw_only=True)
class AnnotatorProgress:
    """How many facts an annotator has submitted, and how many marks they have made."""

    annotator: str
    num_submitted: int
    num_marks: int


def next_fact(
    connection: Connection,
    annotator: Annotator,
    queue: Sequence[Triple],
    after: Triple | None,
    has_fact: HasFact = accept_all,
) -> Triple | None:
    """Return the fact after this one, assigning it if necessary; None if nothing is left.

    First come the annotator's assigned facts, in order, then the rest of the pilot round, then the queue, and finally
    the facts they skipped. Only facts of the open part are returned.
    """
    following = neighbour(connection, annotator, after, 1, has_fact) if after else None
    if following:
        return following
    per_fact = read_settings(connection).annotators_per_fact
    pilot = set(pilot_facts(connection))
    # Skip facts of past rounds unless someone has started to mark them as real work, which must be completed.
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
    """Assign a fact to an annotator who is about to mark it; raise `UserError` if enough others have it.

    Facts of the pilot round have no limit, since everyone marks them.
    """
    is_pilot = fact in pilot_facts(connection)
    claim(connection, annotator, fact, None if is_pilot else read_settings(connection).annotators_per_fact, is_pilot)


def progress(connection: Connection) -> list[AnnotatorProgress]:
    """Return the progress of every annotator who has made a mark."""
    num = {
        (row[0], row[1]): row[2]
        for row in connection.execute(
            "SELECT owner, kind, count(*) FROM entry WHERE owner > 0 AND kind IN (?, ?) GROUP BY owner, kind",
            (MARK, SUBMITTED),
        )
    }
    return [
        AnnotatorProgress(
            annotator=person.name,
            num_submitted=num.get((person.id, SUBMITTED), 0),
            num_marks=num.get((person.id, MARK), 0),
        )
        for person in annotators(connection)
        if (person.id, MARK) in num
    ]


def withheld_facts(connection: Connection, annotator: Annotator, has_fact: HasFact = accept_all) -> set[Triple]:
    """Return the facts whose scores an annotator must not see: unsubmitted ones, and an unfinished pilot round."""
    is_done = pilot_result(connection, annotator, has_fact).is_done
    return {*open_facts(connection, annotator), *([] if is_done else pilot_facts(connection))}
