from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.annotate.decisions import SCOPE, decide, withdraw
from sayso.annotate.log import undo
from sayso.annotate.people import annotator_named
from sayso.annotate.store import Connection, writing_to
from sayso.facts.fact import ExtractedFact
from sayso.facts.file import facts_file
from sayso.facts.quote import Quote
from sayso.records import Triple
from sayso.serve.review.file import ExtractedFile
from sayso.serve.review.table import ReviewQuery
from toy_extraction import CONTRADICTING, DEFAULT_ORDER, FACTS, HOSTILE_FACT, KNOWN, NEW, write_found
from toy_facts import make_extracted

ALL = ReviewQuery(decision="any")


@pytest.fixture
def file(tmp_path: Path) -> ExtractedFile:
    return ExtractedFile("news", facts_file(write_found(tmp_path / "news")))


def listed(file: ExtractedFile, query: ReviewQuery = ReviewQuery()) -> list[ExtractedFact]:
    return [FACTS[row] for row in file.index.find_all(query).tolist()]


def decided(connection: Connection, fact: ExtractedFact, decision: str, key: str) -> None:
    ada = annotator_named(connection, "Ada")
    decide(connection, ada, fact.decided(decision, "Ada", "2026-01-01T00:00:00+00:00", "", False), key)  # type: ignore[arg-type]


def test_new_facts_come_first_and_then_the_most_probable(file: ExtractedFile) -> None:
    assert listed(file) == DEFAULT_ORDER


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        (ReviewQuery(relation="capital"), lambda fact: fact.relation == "capital"),
        (ReviewQuery(status="known"), lambda fact: fact.status == "known"),
        (ReviewQuery(support="not_sentences"), lambda fact: fact.support.kind == "not_sentences"),
        (ReviewQuery(min_probability=0.88), lambda fact: fact.probability >= 0.88),
        (ReviewQuery(q="LAND3 port"), lambda fact: fact.head_name == "north_land3"),
        (ReviewQuery(decision="accepted"), lambda fact: False),
        (ReviewQuery(text="CAPITAL windhoek"), lambda fact: fact is not HOSTILE_FACT),
        (ReviewQuery(text="script alert(1)"), lambda fact: fact is HOSTILE_FACT),
        (ReviewQuery(text="capital script"), lambda fact: False),
        (ReviewQuery(id="Q3"), lambda fact: fact is NEW[3]),
        (ReviewQuery(id="T3"), lambda fact: fact is NEW[3]),
        (ReviewQuery(id="<em>doc</em>"), lambda fact: fact is HOSTILE_FACT),
        (ReviewQuery(id="north_land3"), lambda fact: False),
        (ReviewQuery(sentence=0), lambda fact: fact is not HOSTILE_FACT),
        (ReviewQuery(sentence=99), lambda fact: False),
        (ALL, lambda fact: True),
    ],
)
def test_a_filter_keeps_what_fits_and_nothing_else(
    file: ExtractedFile, query: ReviewQuery, fits: Callable[[ExtractedFact], bool]
) -> None:
    assert listed(file, query) == [fact for fact in DEFAULT_ORDER if fits(fact)]


def test_a_group_is_listed_together_where_its_first_fact_is(tmp_path: Path) -> None:
    pairs, sentences = "ababcb", "xyxzyz"
    facts = tuple(
        make_extracted(
            head_id=pair,
            relation=f"r{place}",
            probability=0.9 - place / 100,
            quotes=(Quote("", f"{sentence} is told", "", 1, 1.0), Quote("", "all say so", "", 2, 0.5)),
        )
        for place, (pair, sentence) in enumerate(zip(pairs, sentences, strict=True))
    )
    file = ExtractedFile("groups", facts_file(write_found(tmp_path / "groups", facts)))
    by_pair, by_sentence = ReviewQuery(group="pair"), ReviewQuery(group="sentence", order="up")
    assert [pairs[row] for row in file.index.find_all(by_pair)] == list("aabbbc")
    assert file.index.find_all(by_pair).tolist() == [0, 2, 1, 3, 5, 4]
    assert [sentences[row] for row in file.index.find_all(by_sentence)] == list("zzyyxx")
    assert file.index.position(2, by_pair).number == 2
    assert [row.number for row in file.index.position(2, by_pair).ahead] == [1, 3, 5, 4]
    (first, one), (second, several) = file.index.shared_sentences(0)
    assert (file.index.sentence_text(first), one) == ("x is told", 2)
    assert (file.index.sentence_text(second), several) == ("all say so", 6)


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("probability", lambda fact: fact.probability),
        ("sentences", lambda fact: fact.num_sentences),
        ("relation", lambda fact: fact.relation),
        ("support", lambda fact: fact.support.kind),
        ("head", lambda fact: fact.head_name.lower()),
        ("tail", lambda fact: fact.tail_name.lower()),
    ],
)
def test_ties_come_in_the_order_of_the_file(
    file: ExtractedFile, sort: str, key: Callable[[ExtractedFact], object]
) -> None:
    down = listed(file, ReviewQuery(sort=sort, order="down"))  # type: ignore[arg-type]
    assert down == sorted(FACTS, key=key, reverse=True)  # type: ignore[arg-type]


def test_every_fact_is_read_by_its_offset(file: ExtractedFile) -> None:
    for row, fact in enumerate(FACTS):
        assert file.fact(row) == fact
        assert file.index.find(fact.triple) == row
    assert file.index.find(Triple("Q1", "capital", "nowhere")) is None


def test_the_table_follows_decisions_changes_and_undos(file: ExtractedFile, tmp_path: Path) -> None:
    with writing_to(tmp_path / "marks.db") as connection:
        ada = annotator_named(connection, "Ada")

        def now() -> list[list[ExtractedFact]]:
            file.index.follow(connection)
            return [listed(file, ReviewQuery(decision="accepted")), listed(file, ReviewQuery(decision="rejected"))]

        decided(connection, NEW[0], "accepted", "first key")
        decided(connection, KNOWN, "rejected", "second key")
        assert now() == [[NEW[0]], [KNOWN]]
        decided(connection, KNOWN, "accepted", "third key")
        assert now() == [[NEW[0], KNOWN], []]
        undo(connection, ada, SCOPE, "fourth key")
        assert now() == [[NEW[0]], [KNOWN]]
        withdraw(connection, ada, [NEW[0].triple], "fifth key")
        assert now() == [[], [KNOWN]]
    assert file.index.num_decided == 1
    assert listed(file) == [fact for fact in DEFAULT_ORDER if fact != KNOWN]


def test_what_is_decided_on_the_way_stays_in_the_list_one_goes_through(file: ExtractedFile, tmp_path: Path) -> None:
    with writing_to(tmp_path / "marks.db") as connection:
        decided(connection, KNOWN, "accepted", "first key")
        file.index.follow(connection)
        begun = ReviewQuery(since=file.index.last_event)
        as_it_was = listed(file, begun)
        assert KNOWN not in as_it_was
        decided(connection, NEW[0], "rejected", "second key")
        file.index.follow(connection)
    assert listed(file, begun) == as_it_was
    assert listed(file) == [fact for fact in as_it_was if fact != NEW[0]]
    position = file.index.position(FACTS.index(NEW[1]), begun)
    assert (position.number, position.num) == (2, len(as_it_was))
    assert position.before
    assert position.before.decision == "rejected"


def test_a_fact_that_is_in_the_file_twice_is_decided_in_both_rows(tmp_path: Path) -> None:
    file = ExtractedFile("two", facts_file(write_found(tmp_path / "two", (KNOWN, CONTRADICTING, KNOWN))))
    with writing_to(tmp_path / "marks.db") as connection:
        decided(connection, KNOWN, "accepted", "first key")
        file.index.follow(connection)
    assert [row.decision for row in file.index.page(ALL).rows] == ["", "accepted", "accepted"]


@given(
    q=st.text(max_size=20),
    status=st.sampled_from(["", "new", "known", "contradicts"]),
    decision=st.sampled_from(["open", "any", "accepted"]),
    since=st.none() | st.integers(0, 2**53),
)
def test_a_link_asks_for_the_same_again(q: str, status: str, decision: str, since: int | None) -> None:
    query = ReviewQuery(q=q, status=status, decision=decision, since=since)  # type: ignore[arg-type]
    assert ReviewQuery.model_validate(dict(parse_qsl(query.link(), keep_blank_values=True))) == query
    assert ReviewQuery.within(query.link(q="a")) == query.model_copy(update={"q": "a"})


def test_an_invalid_link_gives_the_default_query() -> None:
    assert ReviewQuery.within("sort=colour") == ReviewQuery()
    assert ReviewQuery.within("page=-7&status=new") == ReviewQuery()
