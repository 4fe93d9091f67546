"""What people decide about facts: accepted, rejected, or in need of evidence; one decision a fact, the last one counts.

A decision is an entry of the event log like any other, so that it can be undone. It belongs to no single person:
whoever decides later decides for all, and the log keeps what stood there before.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sayso.annotate.log import WHOLE_FACT, Change, record, undo, value_of
from sayso.annotate.people import AGREED, Annotator, annotator_named, now
from sayso.annotate.store import Connection
from sayso.annotate.work import fact_number, fact_of, find_fact
from sayso.corpus.verdict import FactVerdict
from sayso.provenance.found import FoundFact
from sayso.provenance.record import DECISIONS, DecidedFact
from sayso.records import Triple

SCOPE = "curate"
DECISION = "decision"


@dataclass(frozen=True, kw_only=True)
class DecisionFilter:
    """Which decisions to list; whatever is empty asks for nothing."""

    decision: str = ""
    relation: str = ""
    annotator: str = ""
    q: str = ""


def decide(connection: Connection, annotator: Annotator, decided: DecidedFact, key: str) -> None:
    """Save a decision; it takes the place of the one before. The same one once more is no step of its own."""
    fact = Triple(decided.head_id, decided.relation, decided.tail_id)
    before = decision_on(connection, fact)
    if before and replace(before, decided_at=decided.decided_at) == decided:
        return
    number = fact_number(connection, fact)
    record(connection, annotator, SCOPE, key, [Change(number, WHOLE_FACT, DECISION, decided.to_json())], owner=AGREED)


def decide_on_found(
    connection: Connection, facts: Iterable[FoundFact], verdicts: Mapping[Triple, FactVerdict], by: str
) -> int:
    """Save verdicts on extracted facts, and return on how many of them; `by` decided where a verdict does not say."""
    num = 0
    for fact in facts:
        verdict = verdicts.get(Triple(fact.head_id, fact.relation, fact.tail_id))
        if verdict is not None:
            annotator = annotator_named(connection, verdict.by or by)
            decided = fact.decided(verdict.verdict, annotator.name, verdict.at or now(), verdict.reason)
            decide(connection, annotator, decided, uuid.uuid4().hex)
            num += 1
    return num


def withdraw(connection: Connection, annotator: Annotator, fact: Triple, key: str) -> None:
    """Leave a fact undecided again."""
    number = find_fact(connection, fact)
    if number is not None:
        record(connection, annotator, SCOPE, key, [Change(number, WHOLE_FACT, DECISION, "")], owner=AGREED)


def undo_decision(connection: Connection, annotator: Annotator, key: str) -> Triple | None:
    """Take back the person's last decision; return the fact it was about, None where there is none."""
    changes = undo(connection, annotator, SCOPE, key)
    return fact_of(connection, changes[0].fact) if changes else None


def decision_on(connection: Connection, fact: Triple) -> DecidedFact | None:
    """Return what was decided about the fact, None where nothing was."""
    number = find_fact(connection, fact)
    value = "" if number is None else value_of(connection, AGREED, number, WHOLE_FACT, DECISION)
    return DecidedFact.from_json(value) if value else None


def decisions_on(connection: Connection, facts: Iterable[Triple]) -> dict[Triple, str]:
    """Return the decision on each of these facts that has one."""
    found = ((fact, decision_on(connection, fact)) for fact in facts)
    return {fact: decided.decision for fact, decided in found if decided}


def decided_since(connection: Connection, event: int = 0) -> dict[Triple, tuple[int, str]]:
    """Return the last event after this one for each fact that was decided on since, and the decision then, if any."""
    rows = connection.execute(
        "SELECT event.id, head_id, relation, tail_id,"
        " CASE value WHEN '' THEN '' ELSE json_extract(value, '$.decision') END"
        " FROM event JOIN fact ON fact.id = event.fact WHERE event.id > ? AND owner = ? AND kind = ? ORDER BY event.id",
        (event, AGREED, DECISION),
    )
    return {Triple(*fact): (number, decision) for number, *fact, decision in rows}


def decisions(
    connection: Connection, wanted: DecisionFilter = DecisionFilter(), first: int = 0, num: int = -1
) -> list[DecidedFact]:
    """Return the decisions that are wanted, the latest first, from the `first` on, all where `num` is negative."""
    where, values = _where(wanted)
    rows = connection.execute(
        f"SELECT value FROM entry WHERE {where} ORDER BY step DESC LIMIT ? OFFSET ?", (*values, num, first)
    )
    return [DecidedFact.from_json(row[0]) for row in rows]


def count_decisions(connection: Connection, wanted: DecisionFilter = DecisionFilter()) -> dict[str, int]:
    """Return how many of the wanted facts have which decision."""
    where, values = _where(wanted)
    rows = connection.execute(
        f"SELECT json_extract(value, '$.decision'), count(*) FROM entry WHERE {where} GROUP BY 1", values
    )
    return {**dict.fromkeys(DECISIONS, 0), **{row[0]: row[1] for row in rows}}


def curators(connection: Connection) -> list[str]:
    """Return the names of all who have decided something that still stands."""
    rows = connection.execute(
        "SELECT DISTINCT json_extract(value, '$.annotator') FROM entry WHERE owner = ? AND kind = ? ORDER BY 1",
        (AGREED, DECISION),
    )
    return [row[0] for row in rows]


def _where(wanted: DecisionFilter) -> tuple[str, list[object]]:
    """Return the condition, in which nothing comes from outside, and the values that go with it."""
    parts, values = ["owner = ?", "kind = ?"], [AGREED, DECISION]
    for name in ("decision", "relation", "annotator"):
        if asked := getattr(wanted, name):
            parts.append(f"json_extract(value, '$.{name}') = ?")
            values.append(asked)
    for term in wanted.q.replace("_", " ").lower().split():
        names = "json_extract(value, '$.head_name') || ' ' || json_extract(value, '$.tail_name')"
        parts.append(f"instr(lower(replace({names}, '_', ' ')), ?)")
        values.append(term)
    return " AND ".join(parts), values
