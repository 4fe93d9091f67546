"""The event log: every change that users make, in steps that can be undone one by one, without limit.

The log is append-only; an undo is a step of its own. The table `entry` stores the resulting state. An entry is a `kind`
of value for a fact or for one of its sentences; an empty value means none.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sayso.annotate.people import Annotator, now
from sayso.annotate.store import Connection, Row
from sayso.records import Triple

WHOLE_FACT = ""
"""The sentence of entries about the whole fact."""
IS_FACT = "head_id = ? AND relation = ? AND tail_id = ?"
IS_FINISHED = "(entry.owner, entry.fact) IN (SELECT annotator, fact FROM finished)"
"""SQL conditions for `entries`: a given fact; submitted work, not counting practice."""
_IS_PLACE = "owner = ? AND fact = ? AND sentence = ? AND kind = ?"

Place = tuple[int, int, int, str]
"""An entry's owner, fact, sentence (0 for the whole fact) and kind, as database ids."""

HasFact = Callable[[Triple], bool]
"""Return whether the part that is being annotated has a fact: a database may contain several parts and stores."""


def accept_all(_: Triple) -> bool:
    """Accept every fact in the database."""
    return True


class Change(NamedTuple):
    """A new value for an entry."""

    fact: Triple
    sentence: str
    kind: str
    value: str


class Entry(NamedTuple):
    """A stored value, the name of its owner (empty if that is not a person), and who set it."""

    fact: Triple
    sentence: str
    kind: str
    value: str
    owner: str
    set_by: str


def entries(connection: Connection, condition: str, *values: object) -> list[Entry]:
    """Return the entries that match an SQL condition, ordered by fact, sentence and owner."""
    rows = connection.execute(
        "SELECT head_id, relation, tail_id, coalesce(text, ''), kind, value, coalesce(person.name, ''), setter.name"
        " FROM entry JOIN fact ON fact.id = entry.fact LEFT JOIN sentence ON sentence.id = entry.sentence"
        " LEFT JOIN annotator AS person ON person.id = entry.owner"
        " JOIN step ON step.id = entry.step JOIN annotator AS setter ON setter.id = step.actor"
        f" WHERE {condition} ORDER BY entry.fact, entry.sentence, entry.owner",
        values,
    )
    return [Entry(Triple(*row[:3]), *row[3:]) for row in rows]


def record(
    connection: Connection, actor: Annotator, scope: str, key: str, changes: Iterable[Change], owner: int | None = None
) -> bool:
    """Save the changes as one step, in the actor's own entries or in those of another owner.

    Returns False if nothing changes: the key was used before, or the values are already stored. Each `scope` (kind of
    work) has its own undo history.
    """
    owner = actor.id if owner is None else owner
    places = {
        (owner, fact_number(connection, fact), _sentence_number(connection, sentence), kind): value
        for fact, sentence, kind, value in changes
    }
    news = {place: value for place, value in places.items() if _value(connection, place) != value}
    if not news or _find_step(connection, actor, key) is not None:
        return False
    step = _new_step(connection, actor, scope, key)
    for place, value in news.items():
        _apply(connection, step, place, value)
    return True


def undo(
    connection: Connection,
    actor: Annotator,
    scope: str,
    key: str,
    has_fact: HasFact = accept_all,
    shown: Triple | None = None,
) -> list[Change]:
    """Undo the actor's last step on one fact, or on any fact that `has_fact` accepts; return the restored values.

    Steps that have been undone, or that someone else has overwritten, are skipped, and so are steps on other
    facts, where the user would not see the change. Repeating a request with the same key returns the same result and
    undoes nothing else.
    """
    step = _find_step(connection, actor, key)
    if step is None:
        events = _last_undoable(connection, actor, scope, has_fact, shown)
        if not events:
            return []
        step = _new_step(connection, actor, scope, key, undoes=events[0]["step"])
        for event in reversed(events):
            _apply(connection, step, _place(event), event["before"])
    return [Change(_fact(event), event["text"], event["kind"], event["value"]) for event in _events(connection, step)]


def version_of(connection: Connection, owner: int, fact: Triple, key: str = "") -> int:
    """Return the number of the last event in someone's work on a fact, 0 if there is none.

    If the request with this key has already been handled, it is the last event of that request.
    """
    query = "SELECT max(event.id) FROM event JOIN fact ON fact.id = event.fact WHERE event.owner = ?"
    done = f"{query} AND {IS_FACT} AND step = (SELECT id FROM step WHERE actor = event.owner AND key = ?)"
    found = connection.execute(done, (owner, *fact, key)).fetchone()[0]
    return found or connection.execute(f"{query} AND {IS_FACT}", (owner, *fact)).fetchone()[0] or 0


def changes_since(connection: Connection, owner: int, fact: Triple, version: int, key: str) -> list[Change]:
    """Return what has changed in someone's work on a fact since a version; nothing if the key has been used."""
    if _find_step(connection, Annotator(owner, ""), key) is not None:
        return []
    events = connection.execute(
        "SELECT coalesce(text, '') AS text, kind, value, before FROM event JOIN fact ON fact.id = event.fact"
        f" LEFT JOIN sentence ON sentence.id = sentence WHERE event.owner = ? AND {IS_FACT} AND event.id > ?"
        " ORDER BY event.id",
        (owner, *fact, version),
    ).fetchall()
    before = {(text, kind): value for text, kind, _, value in reversed(events)}
    after = {(text, kind): value for text, kind, value, _ in events}
    return [Change(fact, *place, value) for place, value in after.items() if value != before[place]]


def fact_number(connection: Connection, fact: Triple) -> int:
    """Return the database id of a fact, adding it if it is new."""
    row = connection.execute(f"SELECT id FROM fact WHERE {IS_FACT}", fact).fetchone()
    return row[0] if row else _insert(connection, "fact (head_id, relation, tail_id)", fact)


def _sentence_number(connection: Connection, text: str) -> int:
    if text == WHOLE_FACT:
        return 0
    row = connection.execute("SELECT id FROM sentence WHERE text = ?", (text,)).fetchone()
    return row[0] if row else _insert(connection, "sentence (text)", (text,))


def _insert(connection: Connection, columns: str, values: tuple[object, ...]) -> int:
    marks = ", ".join("?" * len(values))
    number = connection.execute(f"INSERT INTO {columns} VALUES ({marks})", values).lastrowid
    assert number
    return number


def _last_undoable(
    connection: Connection, actor: Annotator, scope: str, has_fact: HasFact, shown: Triple | None
) -> list[Row]:
    """Return the events of the actor's last step that has not been undone or overwritten; empty if there is none."""
    is_shown = f"SELECT 1 FROM event JOIN fact ON fact.id = event.fact WHERE event.step = step.id AND {IS_FACT}"
    steps = connection.execute(
        "SELECT id FROM step WHERE actor = ? AND scope = ? AND undoes IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM step AS later WHERE later.undoes = step.id)"
        f"{f' AND EXISTS ({is_shown})' if shown else ''} ORDER BY id DESC",
        (actor.id, scope, *(shown or ())),
    )
    for (step,) in steps:
        events = _events(connection, step)
        is_effective = all(_value(connection, _place(event)) == event["value"] for event in events)
        if is_effective and all(has_fact(_fact(event)) for event in events):
            return events
    return []


def _events(connection: Connection, step: int) -> list[Row]:
    return connection.execute(
        "SELECT event.*, head_id, relation, tail_id, coalesce(text, '') AS text FROM event"
        " JOIN fact ON fact.id = event.fact LEFT JOIN sentence ON sentence.id = event.sentence"
        " WHERE step = ? ORDER BY event.id",
        (step,),
    ).fetchall()


def _fact(event: Row) -> Triple:
    return Triple(event["head_id"], event["relation"], event["tail_id"])


def _place(event: Row) -> Place:
    return event["owner"], event["fact"], event["sentence"], event["kind"]


def _find_step(connection: Connection, actor: Annotator, key: str) -> int | None:
    row = connection.execute("SELECT id FROM step WHERE actor = ? AND key = ?", (actor.id, key)).fetchone()
    return row[0] if row else None


def _new_step(connection: Connection, actor: Annotator, scope: str, key: str, undoes: int | None = None) -> int:
    return _insert(connection, "step (key, actor, scope, time, undoes)", (key, actor.id, scope, now(), undoes))


def _value(connection: Connection, place: Place) -> str:
    row = connection.execute(f"SELECT value FROM entry WHERE {_IS_PLACE}", place).fetchone()
    return str(row[0]) if row else ""


def _apply(connection: Connection, step: int, place: Place, value: str) -> None:
    columns = "event (step, owner, fact, sentence, kind, value, before)"
    _insert(connection, columns, (step, *place, value, _value(connection, place)))
    if value:
        connection.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?)", (*place, value, step))
    else:
        connection.execute(f"DELETE FROM entry WHERE {_IS_PLACE}", place)
