"""Who marks which fact: the row of facts that each person was given, and what comes next in it."""

import time
from collections.abc import Iterable

from sayso.annotate.log import HasFact, has_any
from sayso.annotate.people import Annotator
from sayso.annotate.store import Connection
from sayso.annotate.work import SUBMITTED, fact_number, fact_of, find_fact, work_of
from sayso.errors import UserError
from sayso.records import Triple

_HELD_SECONDS = 3600.0
"""How long a fact is kept for somebody who has opened it and marked nothing."""

_HELD = (
    "(time > ? OR EXISTS (SELECT 1 FROM entry WHERE entry.owner = claim.annotator AND entry.fact = claim.fact"
    " AND entry.kind = 'mark'))"
)


def claim(connection: Connection, annotator: Annotator, fact: Triple, annotators_per_fact: int | None) -> None:
    """Give a person a fact; one that enough others have is a `UserError`. No limit where the number is None."""
    number = fact_number(connection, fact)
    others = {person for person in _holders(connection, number) if person != annotator.id}
    is_taken = annotators_per_fact is not None and len(others) >= annotators_per_fact
    if is_taken and not work_of(connection, annotator.id, fact).labels:
        raise UserError(f"{len(others)} others mark this fact, as many as are wanted; see the agreement instead")
    connection.execute(
        "INSERT INTO claim (annotator, fact, time) VALUES (?, ?, ?)"
        " ON CONFLICT (annotator, fact) DO UPDATE SET time = excluded.time",
        (annotator.id, number, time.time()),
    )


def is_held(connection: Connection, annotator: Annotator, fact: Triple) -> bool:
    """Say whether the person was given the fact before."""
    query = "SELECT 1 FROM claim WHERE annotator = ? AND fact = ?"
    return connection.execute(query, (annotator.id, find_fact(connection, fact))).fetchone() is not None


def claim_next(
    connection: Connection, annotator: Annotator, queue: Iterable[Triple], annotators_per_fact: int | None
) -> Triple | None:
    """Give a person the first fact of the queue that they have not had and that not enough others have."""
    rows = connection.execute(
        f"SELECT head_id, relation, tail_id, annotator FROM claim JOIN fact ON fact.id = fact WHERE {_HELD}"
        " OR annotator = ?",
        (time.time() - _HELD_SECONDS, annotator.id),
    )
    holders: dict[Triple, set[int]] = {}
    for head_id, relation, tail_id, person in rows:
        holders.setdefault(Triple(head_id, relation, tail_id), set()).add(person)
    most = annotators_per_fact or float("inf")
    free = (fact for fact in queue if fact not in holders or _is_free(holders[fact], annotator, most))
    found = next(free, None)
    if found is not None:
        claim(connection, annotator, found, None)
    return found


def _is_free(people: set[int], annotator: Annotator, most: float) -> bool:
    return annotator.id not in people and len(people) < most


def neighbour(
    connection: Connection, annotator: Annotator, fact: Triple, distance: int, has_fact: HasFact = has_any
) -> Triple | None:
    """Return the fact that lies so many places behind (or, if negative, before) this one in the person's open row."""
    row = [each for each in _row(connection, annotator) if has_fact(each)]
    if fact not in row:
        return row[-1] if row and distance < 0 else None
    place = row.index(fact) + distance
    return row[place] if 0 <= place < len(row) else None


def open_facts(connection: Connection, annotator: Annotator) -> list[Triple]:
    """Return the facts of the person's row that they have not submitted."""
    rows = connection.execute(
        f"{_ROW} AND NOT EXISTS (SELECT 1 FROM entry WHERE owner = annotator AND entry.fact = claim.fact"
        " AND sentence = 0 AND kind = ?) ORDER BY claim.id",
        (annotator.id, SUBMITTED),
    )
    return [Triple(*row) for row in rows]


def keep_place(connection: Connection, annotator: Annotator, fact: Triple, sentence: int) -> None:
    """Remember where the person is: the fact, and the sentence by its place in the bag."""
    number = fact_number(connection, fact)
    connection.execute("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", (annotator.id, number, sentence))


def place_of(connection: Connection, annotator: Annotator) -> tuple[Triple, int] | None:
    """Return where the person was last."""
    row = connection.execute("SELECT fact, sentence FROM place WHERE annotator = ?", (annotator.id,)).fetchone()
    return (fact_of(connection, row[0]), row[1]) if row else None


_ROW = "SELECT head_id, relation, tail_id FROM claim JOIN fact ON fact.id = claim.fact WHERE annotator = ?"


def _row(connection: Connection, annotator: Annotator) -> list[Triple]:
    return [Triple(*row) for row in connection.execute(f"{_ROW} ORDER BY claim.id", (annotator.id,))]


def _holders(connection: Connection, fact: int) -> list[int]:
    """Return who has the fact."""
    query = f"SELECT annotator FROM claim WHERE fact = ? AND {_HELD}"
    return [row[0] for row in connection.execute(query, (fact, time.time() - _HELD_SECONDS))]
