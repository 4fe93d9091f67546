"""The event log: every change that users make, in steps that can be undone one by one, without limit.

The log is append-only; an undo is a step of its own. The table `entry` stores the resulting state. An entry is a `kind`
of value for a fact or for one of its sentences; an empty value means none.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sayso.annotate.people import Annotator, now
from sayso.annotate.store import Connection, Row
from sayso.records import Triple

WHOLE_FACT = 0
"""The sentence id of entries about the whole fact."""

HasFact = Callable[[Triple], bool]
"""Return whether the open part has a fact: a database may contain facts of several parts and stores."""


def accept_all(_: Triple) -> bool:
    """Accept every fact in the database."""
    return True


class Change(NamedTuple):
    """A new value for an entry; `fact` and `sentence` are database ids."""

    fact: int
    sentence: int
    kind: str
    value: str


def record(
    connection: Connection, actor: Annotator, scope: str, key: str, changes: Iterable[Change], owner: int | None = None
) -> bool:
    """Save the changes as one step, in the actor's own entries or in those of another owner.

    Returns False if nothing changes: the key was used before, or the values are already stored. Each `scope` (kind of
    work) has its own undo history.
    """
    owner = actor.id if owner is None else owner
    changes = [each for each in changes if value_of(connection, owner, *each[:3]) != each.value]
    if not changes or _find_step(connection, actor, key) is not None:
        return False
    step = _new_step(connection, actor, scope, key)
    for change in changes:
        _apply(connection, step, owner, change)
    return True


def undo(
    connection: Connection,
    actor: Annotator,
    scope: str,
    key: str,
    has_fact: HasFact = accept_all,
    fact: int | None = None,
) -> list[Change]:
    """Undo the actor's last effective step on one fact, or on any fact of the open part; return the restored values.

    A step that someone else has overruled is no longer effective. Steps on facts outside the open part are skipped,
    since nobody would see the change. Repeating a request with the same key returns the same result and undoes
    nothing else.
    """
    done = _find_step(connection, actor, key)
    if done is not None:
        return [Change(*row) for row in connection.execute(_EVENTS, (done,))]
    rows = _last_standing(connection, actor, scope, has_fact, fact)
    if not rows:
        return []
    step = _new_step(connection, actor, scope, key, undoes=rows[0]["step"])
    restored = []
    for row in rows:
        change = Change(row["fact"], row["sentence"], row["kind"], row["before"])
        _apply(connection, step, row["owner"], change)
        restored.append(change)
    return restored


def value_of(connection: Connection, owner: int, fact: int, sentence: int, kind: str) -> str:
    """Return the value of an entry, or an empty string."""
    row = connection.execute(
        "SELECT value FROM entry WHERE owner = ? AND fact = ? AND sentence = ? AND kind = ?",
        (owner, fact, sentence, kind),
    ).fetchone()
    return str(row[0]) if row else ""


_EVENTS = "SELECT fact, sentence, kind, value FROM event WHERE step = ? ORDER BY id"


_EVENTS_AND_FACTS = (
    "SELECT event.*, head_id, relation, tail_id FROM event JOIN fact ON fact.id = event.fact"
    " WHERE step = ? ORDER BY event.id DESC"
)


def _last_standing(
    connection: Connection, actor: Annotator, scope: str, has_fact: HasFact, fact: int | None
) -> list[Row]:
    """Return the events of the actor's last effective step, newest first."""
    steps = connection.execute(
        "SELECT id FROM step WHERE actor = ? AND scope = ? AND undoes IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM step AS later WHERE later.undoes = step.id)"
        " AND (? IS NULL OR EXISTS (SELECT 1 FROM event WHERE event.step = step.id AND event.fact = ?))"
        " ORDER BY id DESC",
        (actor.id, scope, fact, fact),
    )
    for (step,) in steps:
        rows = connection.execute(_EVENTS_AND_FACTS, (step,)).fetchall()
        if not all(has_fact(Triple(row["head_id"], row["relation"], row["tail_id"])) for row in rows):
            continue
        places = ((row["owner"], row["fact"], row["sentence"], row["kind"]) for row in rows)
        if all(value_of(connection, *place) == row["value"] for place, row in zip(places, rows, strict=True)):
            return rows
    return []


def _find_step(connection: Connection, actor: Annotator, key: str) -> int | None:
    row = connection.execute("SELECT id FROM step WHERE actor = ? AND key = ?", (actor.id, key)).fetchone()
    return row[0] if row else None


def _new_step(connection: Connection, actor: Annotator, scope: str, key: str, undoes: int | None = None) -> int:
    cursor = connection.execute(
        "INSERT INTO step (key, actor, scope, time, undoes) VALUES (?, ?, ?, ?, ?)",
        (key, actor.id, scope, now(), undoes),
    )
    assert cursor.lastrowid
    return cursor.lastrowid


def _apply(connection: Connection, step: int, owner: int, change: Change) -> None:
    place = (owner, change.fact, change.sentence, change.kind)
    before = value_of(connection, *place)
    connection.execute(
        "INSERT INTO event (step, owner, fact, sentence, kind, value, before) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (step, *place, change.value, before),
    )
    if change.value:
        connection.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?)", (*place, change.value, step))
    else:
        connection.execute("DELETE FROM entry WHERE owner = ? AND fact = ? AND sentence = ? AND kind = ?", place)
