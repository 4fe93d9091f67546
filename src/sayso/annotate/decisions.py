"""Decisions on facts: accepted, rejected or needs evidence; the latest decision on a fact counts.

Decisions are entries in the event log, so they can be undone. They do not belong to one person: the latest decision
counts for everyone, and the log keeps earlier ones.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from sayso.annotate.log import IS_FACT, WHOLE_FACT, Change, entries, record
from sayso.annotate.people import AGREED, Annotator, annotator_named, now
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.facts.fact import DECISIONS, DecidedFact, Decision, ExtractedFact
from sayso.facts.quote import DecidedQuote, Quote, with_decisions
from sayso.readers.base import BadLineError
from sayso.readers.tables import FactDecision, SentenceDecision
from sayso.records import Triple
from sayso.tokens import control_character

SCOPE = "curate"
DECISION = "decision"
QUOTE = "quote"
"""The kind of entries with a decision on one sentence of a fact."""
DAMAGED = "damaged"
"""The state of a decision that cannot be read."""
_STATE = (
    f"CASE WHEN value = '' THEN '' WHEN NOT json_valid(value) THEN '{DAMAGED}' WHEN json_extract(value, '$.decision')"
    f" IN {DECISIONS} THEN json_extract(value, '$.decision') ELSE '{DAMAGED}' END"
)


class DamagedDecision(NamedTuple):
    """A stored decision that cannot be read; older versions stored any value, even NaN."""

    fact: Triple
    reason: str

    @property
    def decision(self) -> str:
        """The state to show in place of a decision: `damaged`."""
        return DAMAGED


@dataclass(frozen=True, kw_only=True)
class DecisionFilter:
    """Which decisions to list; empty fields match everything."""

    decision: Decision | Literal[""] = ""
    relation: str = ""
    annotator: str = ""
    q: str = ""


def decide(connection: Connection, annotator: Annotator, decided: DecidedFact, key: str) -> None:
    """Save a decision, replacing the previous one; repeating the same decision has no effect.

    Raises `UserError`, saving nothing, if the decision could not be read back.
    """
    decide_together(connection, annotator, [decided], key)


def decide_together(connection: Connection, annotator: Annotator, decided: Iterable[DecidedFact], key: str) -> None:
    """Save decisions on several facts as one step, which is undone as a whole; see `decide`."""
    changes = [
        Change(each.triple, WHOLE_FACT, DECISION, _checked(each)) for each in decided if _is_new(connection, each)
    ]
    record(connection, annotator, SCOPE, key, changes, owner=AGREED)


def _checked(decided: DecidedFact) -> str:
    """Return the decision as JSON; raise `UserError` if it could not be read back."""
    value = decided.to_json()
    if isinstance(read := _read(decided.triple, value), DamagedDecision):
        raise UserError(f"this decision cannot be saved: {read.reason}")
    if found := control_character(*decided.triple, decided.head_name, decided.tail_name, decided.annotator):
        raise UserError(f"this decision cannot be saved: an id or name contains {found}")
    return value


def _is_new(connection: Connection, decided: DecidedFact) -> bool:
    before = decision_on(connection, decided.triple)
    return not isinstance(before, DecidedFact) or replace(before, decided_at=decided.decided_at) != decided


def decide_on_extracted(
    connection: Connection, facts: Iterable[ExtractedFact], wanted: Mapping[Triple, FactDecision], by: str
) -> int:
    """Save decisions on extracted facts and return their count; `by` is used for decisions without a name."""
    num = 0
    for fact in facts:
        made = wanted.get(fact.triple)
        if made is not None:
            annotator = annotator_named(connection, made.by or by)
            at, is_label = made.at or now(), fact.status == "known"
            decided = fact.decided(made.decision, annotator.name, at, made.reason, is_label)
            decide(connection, annotator, decided, uuid.uuid4().hex)
            for quote, on_quote in _decided_quotes_of(fact, made):
                about = {"annotator": annotator.name, "decided_at": at, "reason": on_quote.reason}
                decide_quote(
                    connection, annotator, fact.quote_decided(quote, on_quote.decision, **about), uuid.uuid4().hex
                )
            num += 1
    return num


def _decided_quotes_of(fact: ExtractedFact, made: FactDecision) -> Iterator[tuple[Quote, SentenceDecision]]:
    on_sentences = {each.sentence: each for each in made.quotes}
    return ((each, on_sentences[each.sentence]) for each in fact.quotes if each.sentence in on_sentences)


def withdraw(connection: Connection, annotator: Annotator, facts: Iterable[Triple], key: str) -> None:
    """Delete the decisions on facts, as one step."""
    changes = [Change(fact, WHOLE_FACT, DECISION, "") for fact in facts]
    record(connection, annotator, SCOPE, key, changes, owner=AGREED)


def decide_quote(connection: Connection, annotator: Annotator, decided: DecidedQuote, key: str) -> None:
    """Save a decision on one quote of a fact, replacing the previous one; repeating it has no effect."""
    fact, sentence, value = decided.triple, decided.quote.sentence, decided.to_json()
    try:
        DecidedQuote.from_json(value)
    except BadLineError as error:
        raise UserError(f"this decision cannot be saved: {error}") from None
    if found := control_character(*fact, decided.reason, decided.annotator):
        raise UserError(f"this decision cannot be saved: an id or the reason contains {found}")
    before = quote_decisions_on(connection, fact).get(sentence)
    if before and replace(before, decided_at=decided.decided_at) == decided:
        return
    record(connection, annotator, SCOPE, key, [Change(fact, sentence, QUOTE, value)], owner=AGREED)


def withdraw_quote(connection: Connection, annotator: Annotator, fact: Triple, sentence: str, key: str) -> None:
    """Delete the decision on one quote of a fact."""
    record(connection, annotator, SCOPE, key, [Change(fact, sentence, QUOTE, "")], owner=AGREED)


def quote_decisions_on(connection: Connection, fact: Triple) -> dict[str, DecidedQuote]:
    """Return the decisions on the quotes of a fact, by sentence; damaged ones are left out."""
    found = entries(connection, f"entry.owner = ? AND kind = ? AND {IS_FACT}", AGREED, QUOTE, *fact)
    return {each.sentence: decided for each in found if (decided := _read_quote(each.value))}


def decided_quotes(connection: Connection) -> list[DecidedQuote]:
    """Return all decisions on quotes, latest first; damaged ones are left out."""
    rows = connection.execute(
        "SELECT value FROM entry WHERE owner = ? AND kind = ? ORDER BY step DESC, fact, sentence", (AGREED, QUOTE)
    )
    return [decided for (value,) in rows if (decided := _read_quote(value))]


def _read_quote(value: str) -> DecidedQuote | None:
    try:
        return DecidedQuote.from_json(value)
    except BadLineError:
        return None


@dataclass(frozen=True)
class ReasonCount:
    """How many quotes were rejected for a reason (empty if none was given), and of how many facts."""

    reason: str
    num_quotes: int
    num_facts: int


def count_reasons(connection: Connection) -> list[ReasonCount]:
    """Return the reasons for rejecting quotes, most frequent first."""
    is_rejected = f"{_value_of('decision')} = 'rejected'"
    rows = connection.execute(
        f"SELECT coalesce({_value_of('reason')}, ''), count(*), count(DISTINCT fact) FROM entry"
        f" WHERE owner = ? AND kind = ? AND {is_rejected} GROUP BY 1 ORDER BY 2 DESC, 1",
        (AGREED, QUOTE),
    )
    return [ReasonCount(*row) for row in rows]


def decision_on(connection: Connection, fact: Triple) -> DecidedFact | DamagedDecision | None:
    """Return the decision on the fact, or None."""
    found = entries(connection, f"entry.owner = ? AND kind = ? AND {IS_FACT}", AGREED, DECISION, *fact)
    return _read(fact, found[0].value) if found else None


def decisions_on(connection: Connection, facts: Iterable[Triple]) -> dict[Triple, str]:
    """Return the decisions on these facts; facts without a decision are left out."""
    found = ((fact, decision_on(connection, fact)) for fact in facts)
    return {fact: decided.decision for fact, decided in found if decided}


def decided_since(connection: Connection, event: int = 0) -> dict[Triple, tuple[int, str]]:
    """Return the last event and the resulting decision for each fact decided after this event."""
    rows = connection.execute(
        f"SELECT event.id, head_id, relation, tail_id, {_STATE}"
        " FROM event JOIN fact ON fact.id = event.fact WHERE event.id > ? AND owner = ? AND kind = ? ORDER BY event.id",
        (event, AGREED, DECISION),
    )
    return {Triple(*fact): (number, decision) for number, *fact, decision in rows}


def decisions(
    connection: Connection, wanted: DecisionFilter = DecisionFilter(), first: int = 0, num: int = -1
) -> tuple[list[DecidedFact], list[DamagedDecision]]:
    """Return the matching decisions, latest first, starting at `first`; all of them if `num` is negative.

    The quotes include the decisions on them. Damaged decisions are returned in a list of their own.
    """
    where, values = _where(wanted)
    rows = connection.execute(
        "SELECT value, head_id, relation, tail_id FROM entry JOIN fact ON fact.id = entry.fact"
        f" WHERE {where} ORDER BY step DESC LIMIT ? OFFSET ?",
        (*values, num, first),
    )
    found = [_read(Triple(*fact), value) for value, *fact in rows]
    readable = [_with_quotes(connection, each) for each in found if isinstance(each, DecidedFact)]
    return readable, [each for each in found if isinstance(each, DamagedDecision)]


def _with_quotes(connection: Connection, decided: DecidedFact) -> DecidedFact:
    on_quotes = quote_decisions_on(connection, decided.triple)
    return replace(decided, quotes=with_decisions(decided.quotes, on_quotes)) if on_quotes else decided


def _read(fact: Triple, value: str) -> DecidedFact | DamagedDecision:
    try:
        return DecidedFact.from_json(value)
    except BadLineError as error:
        return DamagedDecision(fact, str(error))


def count_decisions(connection: Connection, wanted: DecisionFilter = DecisionFilter()) -> dict[str, int]:
    """Return the number of matching facts per decision; unreadable ones are `damaged`."""
    where, values = _where(wanted)
    rows = connection.execute(
        f"SELECT {_STATE}, count(*) FROM entry JOIN fact ON fact.id = entry.fact WHERE {where} GROUP BY 1", values
    )
    return {**dict.fromkeys(DECISIONS, 0), **{row[0]: row[1] for row in rows}}


def curators(connection: Connection) -> list[str]:
    """Return the names of everyone whose decision currently counts."""
    rows = connection.execute(
        f"SELECT DISTINCT {_value_of('annotator')} FROM entry WHERE owner = ? AND kind = ? ORDER BY 1",
        (AGREED, DECISION),
    )
    return [row[0] for row in rows if isinstance(row[0], str)]


def _value_of(name: str) -> str:
    """Return SQL for a field of a decision's JSON; NULL if it is not valid JSON."""
    return f"CASE WHEN json_valid(value) THEN json_extract(value, '$.{name}') END"


def _where(wanted: DecisionFilter) -> tuple[str, list[object]]:
    """Return the SQL condition, which is built from constants only, and its parameters."""
    parts, values = ["owner = ?", "kind = ?"], [AGREED, DECISION]
    for name in ("decision", "relation", "annotator"):
        if asked := getattr(wanted, name):
            parts.append(f"{_value_of(name)} = ?")
            values.append(asked)
    for term in wanted.q.replace("_", " ").lower().split():
        names = f"{_value_of('head_name')} || ' ' || {_value_of('tail_name')}"
        parts.append(f"instr(lower(replace({names}, '_', ' ')), ?)")
        values.append(term)
    return " AND ".join(parts), values
