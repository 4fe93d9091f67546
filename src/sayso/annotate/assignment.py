"""Assignment: which annotators mark which facts, and which fact each of them gets next.

The terms of an assignment stay the same when the settings change: whether the work is practice (a pilot round), and how
many annotators mark the fact (its quota, set by the first assignment). Marks become visible to other annotators once
that many have submitted the fact; if a lower quota applied to it, they would become visible too early.
"""

import itertools
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sayso.annotate.log import IS_FACT, IS_FINISHED, HasFact, accept_all, fact_number
from sayso.annotate.marking import MARK, SUBMITTED, work_of
from sayso.annotate.people import Annotator, now
from sayso.annotate.pilot import facts_in_work, pilot_facts, pilot_result
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

_HELD_SECONDS = 3600.0
"""How long a fact stays reserved for an annotator who opened it but marked nothing."""
_DAY_SECONDS, _RECENT_DAYS = 86_400.0, 7.0
_BREAK_SECONDS, _MIN_GAPS = 1800.0, 5
"""A longer time between two submissions is a break; fewer times than this give no median."""

_CLAIMED = "SELECT head_id, relation, tail_id FROM claim JOIN fact ON fact.id = claim.fact WHERE annotator = ?"
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

    `annotators_per_fact` is None if there is no limit. An assignment does not change once the annotator has started to
    mark the fact.
    """
    number = fact_number(connection, fact)
    is_begun = bool(work_of(connection, annotator.id, fact).labels)
    if is_begun and is_held(connection, annotator, fact):
        return
    quota = None
    if annotators_per_fact is not None and not is_pilot:
        num_others, quota = _filled(connection, annotator, number, annotators_per_fact)
        if num_others >= quota and not is_begun:
            raise UserError(f"this fact already has enough annotators ({num_others})")
    connection.execute(
        "INSERT INTO claim (annotator, fact, time, is_pilot, quota) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (annotator, fact) DO UPDATE SET time = excluded.time, is_pilot = excluded.is_pilot,"
        " quota = coalesce(excluded.quota, quota)",
        (annotator.id, number, time.time(), is_pilot, quota),
    )


def is_held(connection: Connection, annotator: Annotator, fact: Triple, as_practice: bool = False) -> bool:
    """Return whether the fact is assigned to the annotator (with `as_practice`: assigned in a pilot round)."""
    rows = connection.execute(f"{_CLAIMED} AND is_pilot >= ? AND {IS_FACT}", (annotator.id, as_practice, *fact))
    return rows.fetchone() is not None


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
    """Return the annotator's fact `distance` places after (before, if negative) this one that `has_fact` accepts."""
    rows = connection.execute(f"{_CLAIMED} ORDER BY claim.id", (annotator.id,))
    row = [each for each in itertools.starmap(Triple, rows) if each == fact or has_fact(each)]
    if fact not in row:
        return row[-1] if row and distance < 0 else None
    place = row.index(fact) + distance
    return row[place] if 0 <= place < len(row) else None


def open_facts(connection: Connection, annotator: Annotator) -> list[Triple]:
    """Return the annotator's facts that are not submitted."""
    rows = connection.execute(
        f"{_CLAIMED} AND NOT EXISTS (SELECT 1 FROM entry WHERE owner = annotator AND entry.fact = claim.fact"
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
    query = "SELECT sentence, head_id, relation, tail_id FROM place JOIN fact ON fact.id = fact WHERE annotator = ?"
    row = connection.execute(query, (annotator.id,)).fetchone()
    return (Triple(*row[1:]), row[0]) if row else None


def _filled(connection: Connection, annotator: Annotator, fact: int, annotators_per_fact: int) -> tuple[int, int]:
    """Return how many others the fact is assigned to, and how many annotators it needs."""
    others, quota = connection.execute(
        f"SELECT count(*) FILTER (WHERE annotator <> ? AND {_HELD}), max(quota) FROM claim WHERE fact = ?",
        (annotator.id, time.time() - _HELD_SECONDS, fact),
    ).fetchone()
    return others, quota or annotators_per_fact


@dataclass(frozen=True, kw_only=True)
class AnnotatorProgress:
    """How many facts an annotator has submitted and how many marks they have made, and when they were last active."""

    annotator: str
    num_submitted: int
    num_marks: int
    last_active: str


@dataclass(frozen=True, kw_only=True)
class QueueProgress:
    """How far the queue is: facts that enough annotators have submitted, and submissions that are still needed.

    `per_day` is the number of submissions per day in the last seven days (or since the first one, if later), and
    `seconds_per_fact` the median time between two submissions of a person who took no break; None if unknown. Pilot
    rounds and imported marks do not count.
    """

    num_facts: int
    num_complete: int
    num_needed: int
    per_day: float | None
    seconds_per_fact: float | None

    @property
    def days_left(self) -> float | None:
        """The number of days until the queue is complete at this rate."""
        return self.num_needed / self.per_day if self.per_day else None

    @property
    def hours_left(self) -> float | None:
        """The hours of work until the queue is complete."""
        return None if self.seconds_per_fact is None else self.num_needed * self.seconds_per_fact / 3600


def next_fact(
    connection: Connection,
    annotator: Annotator,
    queue: Sequence[Triple],
    after: Triple | None,
    has_fact: HasFact = accept_all,
) -> Triple | None:
    """Return the next open fact after this one, assigning it if necessary; None if nothing is left.

    First come the annotator's assigned facts that are not submitted, in order, then the rest of the pilot round, then
    the queue, and finally the facts they skipped. Only facts that `has_fact` accepts are returned.
    """
    still_open = set(open_facts(connection, annotator))
    following = after and neighbour(connection, annotator, after, 1, lambda each: each in still_open and has_fact(each))
    if following:
        return following
    per_fact = read_settings(connection).annotators_per_fact

    def has_room(fact: Triple) -> bool:
        num_others, quota = _filled(connection, annotator, fact_number(connection, fact), per_fact)
        return num_others < quota

    pilot = set(pilot_facts(connection))
    # Skip facts of past rounds unless someone has started to mark them as real work, which must be completed.
    apart = pilot | (set(pilot_facts(connection, with_past=True)) - facts_in_work(connection))
    if not pilot_result(connection, annotator, has_fact).is_done:
        found = claim_next(connection, annotator, filter(has_fact, pilot_facts(connection)), None, is_pilot=True)
    else:
        found = claim_next(connection, annotator, (fact for fact in queue if fact not in apart), per_fact)
    passed_over = (fact for fact in open_facts(connection, annotator) if fact != after and has_fact(fact))
    return found or next((fact for fact in passed_over if fact in apart or has_room(fact)), None)


def hold(connection: Connection, annotator: Annotator, fact: Triple) -> None:
    """Assign a fact to an annotator who is about to mark it; raise `UserError` if enough others have it.

    Facts of the pilot round have no limit, since everyone marks them.
    """
    per_fact = read_settings(connection).annotators_per_fact
    claim(connection, annotator, fact, per_fact, is_pilot=fact in pilot_facts(connection))


def progress(connection: Connection) -> list[AnnotatorProgress]:
    """Return the progress of every annotator who has made a mark."""
    rows = connection.execute(
        "SELECT name, sum(kind = ?), sum(kind = ?) AS num_marks, max(time) FROM entry"
        " JOIN annotator ON annotator.id = owner JOIN step ON step.id = entry.step"
        " GROUP BY owner HAVING num_marks ORDER BY owner",
        (SUBMITTED, MARK),
    )
    return [
        AnnotatorProgress(annotator=name, num_submitted=submitted, num_marks=marks, last_active=time)
        for name, submitted, marks, time in rows
    ]


def queue_progress(connection: Connection, queue: Sequence[Triple]) -> QueueProgress:
    """Return how far the queue is, and how fast people work."""
    per_fact = read_settings(connection).annotators_per_fact
    rows = connection.execute(
        "SELECT head_id, relation, tail_id, (SELECT count(*) FROM finished WHERE finished.fact = fact.id),"
        " (SELECT max(quota) FROM claim WHERE claim.fact = fact.id) FROM fact"
        " WHERE fact.id IN (SELECT fact FROM claim UNION SELECT fact FROM finished)"
    )
    missing = {Triple(*ids): max(0, (quota or per_fact) - num) for *ids, num, quota in rows}
    needed = [missing.get(fact, per_fact) for fact in queue]
    submissions = connection.execute(
        "SELECT entry.owner, julianday(time) FROM entry JOIN step ON step.id = entry.step"
        f" WHERE kind = ? AND scope <> 'import' AND {IS_FINISHED} ORDER BY entry.owner, time",
        (SUBMITTED,),
    ).fetchall()
    today: float = connection.execute("SELECT julianday(?)", (now(),)).fetchone()[0]
    recent = [day for _, day in submissions if day > today - _RECENT_DAYS]
    # At least one day: the first minutes say nothing about a day.
    num_days = max(1.0, min(_RECENT_DAYS, today - min((day for _, day in submissions), default=today)))
    gaps = [
        (later - earlier) * _DAY_SECONDS
        for (one, earlier), (other, later) in itertools.pairwise(submissions)
        if one == other and (later - earlier) * _DAY_SECONDS < _BREAK_SECONDS
    ]
    return QueueProgress(
        num_facts=len(needed),
        num_complete=sum(not num for num in needed),
        num_needed=sum(needed),
        per_day=len(recent) / num_days if recent else None,
        seconds_per_fact=statistics.median(gaps) if len(gaps) >= _MIN_GAPS else None,
    )


def withheld_facts(connection: Connection, annotator: Annotator, has_fact: HasFact = accept_all) -> set[Triple]:
    """Return facts whose scores an annotator must not see: unsubmitted ones, and those of an unfinished pilot round."""
    is_done = pilot_result(connection, annotator, has_fact).is_done
    return {*open_facts(connection, annotator), *([] if is_done else pilot_facts(connection))}
