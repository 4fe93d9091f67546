from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.annotate.decisions import (
    DAMAGED,
    SCOPE,
    DamagedDecision,
    DecisionFilter,
    ReasonCount,
    count_decisions,
    count_reasons,
    curators,
    decide,
    decide_on_extracted,
    decide_quote,
    decided_quotes,
    decided_since,
    decision_on,
    decisions,
    decisions_on,
    quote_decisions_on,
    withdraw,
    withdraw_quote,
)
from sayso.annotate.log import undo
from sayso.annotate.people import Annotator, annotator_named
from sayso.annotate.store import AnnotationDatabase, Connection
from sayso.errors import UserError
from sayso.facts.quote import Quote
from sayso.readers.tables import FactDecision, SentenceDecision
from sayso.records import Triple
from toy_facts import PLAIN, TOLD, make_decided, make_decided_quote, make_extracted

FACT = Triple("Q1030", "/location/country/capital", "Q3935")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    database = AnnotationDatabase(tmp_path / "marks.sqlite")
    with database.writing() as opened:
        yield opened
    database.close()


@pytest.fixture
def ada(connection: Connection) -> Annotator:
    return annotator_named(connection, "Ada")


def test_the_last_decision_counts_no_matter_who_made_it(connection: Connection, ada: Annotator) -> None:
    assert decision_on(connection, FACT) is None
    decide(connection, ada, make_decided(), "key 1")
    later = make_decided(decision="rejected", annotator="Ben")
    decide(connection, annotator_named(connection, "Ben"), later, "key 2")
    assert decision_on(connection, FACT) == later
    assert decisions(connection)[0] == [later]
    assert curators(connection) == ["Ben"]


def test_a_decision_on_a_quote_is_counted_exported_and_undone(connection: Connection, ada: Annotator) -> None:
    decide(connection, ada, make_decided(), "key 1")
    rejected = make_decided_quote()
    for key in ("key 2", "key 3"):
        decide_quote(connection, ada, rejected, key)
    decide_quote(connection, ada, make_decided_quote(quote=PLAIN, decision="accepted", reason=""), "key 4")
    assert quote_decisions_on(connection, FACT)[TOLD.sentence] == rejected
    assert count_reasons(connection) == [ReasonCount("negated", 1, 1)]
    (fact,), _ = decisions(connection)
    assert [(each.decision, each.reason) for each in fact.quotes] == [("rejected", "negated"), ("accepted", "")]
    assert len(decided_quotes(connection)) == 2
    undo(connection, ada, SCOPE, "key 5")
    assert [each.decision for each in decisions(connection)[0][0].quotes] == ["rejected", ""]
    withdraw_quote(connection, ada, FACT, TOLD.sentence, "key 6")
    assert decided_quotes(connection) == []
    assert decision_on(connection, FACT) == make_decided()
    with pytest.raises(UserError, match="an id or the reason contains"):
        decide_quote(connection, ada, make_decided_quote(reason="\x1b[2J"), "key 7")


def test_decisions_on_quotes_are_imported_with_the_fact(connection: Connection, ada: Annotator) -> None:
    fact = make_extracted()
    _, second = fact.quotes
    on_quotes = (SentenceDecision(second.sentence, "rejected", "negated"), SentenceDecision("elsewhere", "accepted"))
    made = FactDecision(fact.triple, "accepted", "Bo", quotes=on_quotes)
    assert decide_on_extracted(connection, [fact], {fact.triple: made}, "Ada") == 1
    (decided,), _ = decisions(connection)
    assert [(each.decision, each.reason) for each in decided.quotes] == [("", ""), ("rejected", "negated")]
    assert [each.annotator for each in decided_quotes(connection)] == ["Bo"]


def test_undo_takes_back_one_decision_after_the_other(connection: Connection, ada: Annotator) -> None:
    first, second = make_decided(), make_decided(decision="needs_evidence")
    decide(connection, ada, first, "key 1")
    decide(connection, ada, second, "key 2")
    assert [each.fact for each in undo(connection, ada, SCOPE, "key 3")] == [FACT]
    assert decision_on(connection, FACT) == first
    assert [each.fact for each in undo(connection, ada, SCOPE, "key 4")] == [FACT]
    assert decision_on(connection, FACT) is None
    assert undo(connection, ada, SCOPE, "key 5") == []


def test_a_decision_sent_twice_is_made_once(connection: Connection, ada: Annotator) -> None:
    for _ in range(2):
        decide(connection, ada, make_decided(), "the same key")
    undo(connection, ada, SCOPE, "another key")
    assert decision_on(connection, FACT) is None


def test_the_same_decision_made_again_a_little_later_is_no_second_step(connection: Connection, ada: Annotator) -> None:
    first = make_decided()
    decide(connection, ada, first, "key 1")
    decide(connection, ada, make_decided(decided_at="2026-01-02T03:04:06.000+00:00"), "key 2")
    assert decision_on(connection, FACT) == first
    undo(connection, ada, SCOPE, "key 3")
    assert decision_on(connection, FACT) is None


def test_a_withdrawal_can_be_undone(connection: Connection, ada: Annotator) -> None:
    decide(connection, ada, make_decided(), "key 1")
    withdraw(connection, ada, [FACT], "key 2")
    assert decisions(connection)[0] == []
    undo(connection, ada, SCOPE, "key 3")
    assert decision_on(connection, FACT) == make_decided()


def test_filters_keep_what_fits(connection: Connection, ada: Annotator) -> None:
    facts = [
        make_decided(),
        make_decided(tail_id="Q1", decision="rejected", tail_name="el_paso"),
        make_decided(tail_id="Q2", relation="born", annotator="Ben"),
    ]
    for number, fact in enumerate(facts):
        decide(connection, ada, fact, f"key {number}")
    assert decisions(connection)[0] == facts[::-1]
    assert decisions(connection, DecisionFilter(decision="rejected"))[0] == [facts[1]]
    assert decisions(connection, DecisionFilter(relation="born"))[0] == [facts[2]]
    assert decisions(connection, DecisionFilter(annotator="Ben"))[0] == [facts[2]]
    assert decisions(connection, DecisionFilter(q="El Paso nami"))[0] == [facts[1]]
    assert decisions(connection, DecisionFilter(q="%' OR 1"))[0] == []
    assert decisions(connection, first=1, num=1)[0] == [facts[1]]
    assert count_decisions(connection) == {"accepted": 2, "rejected": 1, "needs_evidence": 0}
    assert count_decisions(connection, DecisionFilter(q="paso"))["rejected"] == 1


def test_decisions_on_many_facts_name_only_the_decided(connection: Connection, ada: Annotator) -> None:
    decide(connection, ada, make_decided(), "key 1")
    assert decisions_on(connection, [FACT, Triple("a", "b", "c")]) == {FACT: "accepted"}


def test_decisions_since_an_event_are_listed_once_with_the_current_state(
    connection: Connection, ada: Annotator
) -> None:
    assert decided_since(connection) == {}
    decide(connection, ada, make_decided(), "key 1")
    decide(connection, ada, make_decided(decision="rejected"), "key 2")
    ((event, decision),) = decided_since(connection).values()
    assert decision == "rejected"
    assert decided_since(connection, event) == {}
    withdraw(connection, ada, [FACT], "key 3")
    assert [decision for _, decision in decided_since(connection, event).values()] == [""]
    assert list(decided_since(connection, event)) == [FACT]


@pytest.mark.parametrize(
    "changes",
    [
        {"probability": float("nan")},
        {"probability": "0.9"},
        {"head_name": None},
        {"tail_id": "Q1\tP36\nQ2"},
        {"quotes": (Quote("", "a b", "", 1, float("inf")),)},
        {"quotes": (Quote("", "a b", "", "first", 0.5),)},  # type: ignore[arg-type]
        {"decision": "perhaps"},
    ],
)
def test_a_decision_that_could_not_be_read_again_is_not_saved(
    connection: Connection, ada: Annotator, changes: dict[str, object]
) -> None:
    with pytest.raises(UserError, match="cannot be saved"):
        decide(connection, ada, make_decided(**changes), "key 1")
    assert decided_since(connection) == {}


@pytest.mark.parametrize(
    "damage", ["replace(value, '0.97', 'NaN')", "replace(value, '0.97', '\"0.97\"')", "'{'", "'[]'"]
)
def test_a_damaged_decision_is_reported_and_can_be_replaced(
    connection: Connection, ada: Annotator, damage: str
) -> None:
    decide(connection, ada, make_decided(tail_id="Q1"), "key 0")
    decide(connection, ada, make_decided(), "key 1")
    for table in ("entry", "event"):
        connection.execute(f"UPDATE {table} SET value = {damage} WHERE fact = 2")
    assert isinstance(decision_on(connection, FACT), DamagedDecision)
    (whole,), (damaged,) = decisions(connection)
    assert (whole.tail_id, damaged.fact) == ("Q1", FACT)
    assert sum(count_decisions(connection).values()) == 2
    assert curators(connection) == ["Ada"]
    assert decided_since(connection)[FACT][1] in (DAMAGED, "accepted")
    assert decisions(connection, DecisionFilter(q="nami", decision="rejected"))[0] == []
    decide(connection, ada, make_decided(), "key 2")
    assert decision_on(connection, FACT) == make_decided()
