import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.annotate import marking as work
from sayso.annotate.assignment import claim, hold, is_held, next_fact
from sayso.annotate.marks import each_mark, save_marks
from sayso.annotate.people import annotator_named
from sayso.annotate.pilot import (
    choose_pilot,
    facts_in_work,
    known_answers_of_store,
    pilot_change,
    pilot_facts,
    pilot_result,
    set_pilot,
)
from sayso.annotate.store import AnnotationDatabase, Connection
from sayso.records import Mark, Triple
from toy_workbench import NUM_PAIRS, make_store

FACTS = [Triple(f"h{number}", relation, "t") for relation in ("a", "b") for number in range(3)]
BOTH = {"yes": "rationale", "no": "irrelevant"}
ANSWERS = dict.fromkeys(FACTS, BOTH)


def test_the_round_takes_relations_in_turn() -> None:
    assert [fact.relation for fact in choose_pilot(ANSWERS, 4)] == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    "marks", [{"yes": "rationale"}, {"a": "rationale", "b": "rationale"}, {str(n): "irrelevant" for n in range(13)}]
)
def test_facts_that_teach_nothing_are_left_out(marks: dict[str, str]) -> None:
    assert choose_pilot({FACTS[0]: marks}, 5) == []


def test_the_store_knows_the_answers_of_its_marks(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    answers = known_answers_of_store(store, store.part("test"), "test")
    assert len(answers) == NUM_PAIRS
    assert answers[Triple("l1", "capital", "t1")] == {
        "port_town1 is the capital of north_land1 .": "rationale",
        "north_land1 beat port_town1 in the final .": "irrelevant",
        "he left north_land1 for port_town1 .": "irrelevant",
    }
    assert known_answers_of_store(store, store.part("train"), "train") == {}


def do(connection: Connection, name: str, fact: Triple, **labels: str) -> None:
    person = annotator_named(connection, name)
    hold(connection, person, fact)
    work.mark(connection, person, fact, labels, f"mark {fact}")
    work.submit(connection, person, fact, list(labels), f"submit {fact}")


def test_agreement_is_shown_when_the_whole_round_is_done(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    set_pilot(connection, ada, FACTS[:2], ANSWERS, "key")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    early = pilot_result(connection, ada)
    assert (early.num_done, early.is_done, early.percent, early.differences) == (1, False, None, ())
    do(connection, "Ada", FACTS[1], yes="irrelevant", no="irrelevant")
    result = pilot_result(connection, ada)
    assert (result.is_done, result.percent, result.kappa) == (True, 0.75, 0.5)
    assert result.differences == ((FACTS[1], "yes", "irrelevant", "rationale"),)


def test_everyone_gets_the_pilot_round_first_and_then_the_queue(connection: Connection) -> None:
    ada, ben = annotator_named(connection, "Ada"), annotator_named(connection, "Ben")
    set_pilot(connection, ada, [FACTS[2]], ANSWERS, "key")
    assert pilot_facts(connection) == [FACTS[2]]
    assert [next_fact(connection, person, FACTS, None) for person in (ada, ben)] == [FACTS[2], FACTS[2]]
    hold(connection, annotator_named(connection, "Cleo"), FACTS[2])
    for name in ("Ada", "Ben"):
        do(connection, name, FACTS[2], yes="rationale", no="irrelevant")
    assert next_fact(connection, ada, FACTS, FACTS[2]) == FACTS[0]


def test_the_round_is_not_in_what_goes_out(connection: Connection) -> None:
    set_pilot(connection, annotator_named(connection, "Ada"), [FACTS[0]], ANSWERS, "key")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    do(connection, "Ada", FACTS[1], yes="rationale", no="irrelevant")
    assert {each.head_id for each in each_mark(connection)} == {FACTS[1].head_id}


def test_a_round_that_is_over_stays_out_of_the_real_work(connection: Connection) -> None:
    ada, ben = annotator_named(connection, "Ada"), annotator_named(connection, "Ben")
    set_pilot(connection, ada, FACTS[:2], ANSWERS, "key 1")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    set_pilot(connection, ada, [], ANSWERS, "key 2")
    assert pilot_facts(connection) == []
    assert list(each_mark(connection)) == []
    assert next_fact(connection, ben, FACTS, None) == FACTS[1]
    set_pilot(connection, ada, FACTS[:1], ANSWERS, "key 3")
    assert pilot_facts(connection) == FACTS[:1]


def test_finished_work_still_counts_when_the_round_changes(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    assert facts_in_work(connection) == {FACTS[0]}
    for number, facts in enumerate((FACTS, FACTS[:1], [])):
        set_pilot(connection, ada, facts, ANSWERS, f"round {number}")
        assert len(list(each_mark(connection))) == 2
    assert next_fact(connection, annotator_named(connection, "Ben"), FACTS, None) == FACTS[0]


_STEPS = st.one_of(
    st.tuples(st.just("round"), st.integers(0, len(FACTS)), st.just("")),
    st.tuples(st.sampled_from(["finish", "open", "import"]), st.integers(0, len(FACTS) - 1), st.sampled_from("AB")),
)


@given(st.lists(_STEPS, max_size=14))
def test_finished_work_counts_whatever_round_follows(steps: list[tuple[str, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = AnnotationDatabase(Path(folder) / "marks.db")
        with database.writing() as connection:
            counted: set[tuple[str, Triple]] = set()
            for number, (what, place, name) in enumerate(steps):
                take_step(connection, what, place, name or "A", number)
                now = {(each.annotator, each.fact) for each in each_mark(connection)}
                assert counted <= now, f"{what} made finished work vanish"
                counted = now
        database.close()


def take_step(connection: Connection, what: str, place: int, name: str, number: int) -> None:
    """Start another pilot round, or let someone open, finish or import a fact."""
    person, fact = annotator_named(connection, name), FACTS[place % len(FACTS)]
    if what == "round":
        taken = facts_in_work(connection)
        set_pilot(connection, person, [each for each in FACTS if each not in taken][:place], ANSWERS, f"{number}")
    elif what == "open":
        next_fact(connection, person, FACTS, None)
    elif what == "import":
        save_marks(connection, [Mark(fact.head_id, fact.tail_id, fact.relation, "yes", "rationale", name)])
    elif not work.work_of(connection, person.id, fact).is_submitted:
        hold(connection, person, fact)
        work.mark(connection, person, fact, BOTH, f"mark {number}")
        work.submit(connection, person, fact, list(BOTH), f"submit {number}")


def test_work_begun_in_a_round_that_ends_counts_once_it_is_finished(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    set_pilot(connection, ada, FACTS[:1], ANSWERS, "key 1")
    hold(connection, ada, FACTS[0])
    work.mark(connection, ada, FACTS[0], {"yes": "rationale"}, "key 2")
    set_pilot(connection, ada, [], ANSWERS, "key 3")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    assert len(list(each_mark(connection))) == 2


def test_work_begun_in_a_round_counts_also_where_others_have_submitted_the_fact_in_it(connection: Connection) -> None:
    ada, ben = annotator_named(connection, "Ada"), annotator_named(connection, "Ben")
    set_pilot(connection, ada, FACTS[:1], ANSWERS, "key 1")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    hold(connection, ben, FACTS[0])
    work.mark(connection, ben, FACTS[0], {"yes": "rationale"}, "key 2")
    change = pilot_change(connection, [], 0)
    assert (change.num_back_in_queue, change.num_practised) == (1, 0)
    set_pilot(connection, ada, [], ANSWERS, "key 3")
    assert [is_held(connection, person, FACTS[0], as_practice=True) for person in (ada, ben)] == [True, False]
    given = [next_fact(connection, annotator_named(connection, name), FACTS, None) for name in ("Cleo", "Ada")]
    assert given == [FACTS[0], FACTS[1]], "others complete what Ben has begun, but not who knows the answers"
    do(connection, "Ben", FACTS[0], yes="rationale", no="irrelevant")
    assert {each.annotator for each in each_mark(connection)} == {"Ben"}


def test_a_fact_opened_before_it_joined_the_round_is_practice(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    claim(connection, ada, FACTS[0], 2)
    assert facts_in_work(connection) == set()
    set_pilot(connection, ada, FACTS[:1], ANSWERS, "key")
    do(connection, "Ada", FACTS[0], yes="rationale", no="irrelevant")
    assert list(each_mark(connection)) == []


def test_skipped_facts_come_last(connection: Connection) -> None:
    ada = annotator_named(connection, "Ada")
    for fact in FACTS[:2]:
        claim(connection, ada, fact, 2)
    assert next_fact(connection, ada, FACTS[:2], FACTS[1]) == FACTS[0]
    do(connection, "Ada", FACTS[0], yes="rationale")
    do(connection, "Ada", FACTS[1], yes="rationale")
    assert next_fact(connection, ada, FACTS[:2], FACTS[1]) is None
