import itertools

import pytest

from sayso.annotate import assignment as claim
from sayso.annotate import marking as work
from sayso.annotate.agreement import closed_facts
from sayso.annotate.assignment import hold, next_fact
from sayso.annotate.people import Annotator, annotator_named
from sayso.annotate.queue import QueueSettings, write_settings
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.records import Triple

QUEUE = [Triple(f"h{number}", "capital", f"t{number}") for number in range(3)]


def people(connection: Connection, *names: str):
    return [annotator_named(connection, name) for name in names]


def test_everyone_gets_the_first_free_fact(connection: Connection) -> None:
    ada, ben, cleo = people(connection, "Ada", "Ben", "Cleo")
    given = [claim.claim_next(connection, person, QUEUE, 2) for person in (ada, ben, cleo, ada, cleo)]
    assert given == [QUEUE[0], QUEUE[0], QUEUE[1], QUEUE[1], QUEUE[2]]


def test_nobody_gets_a_fact_twice(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    given = [claim.claim_next(connection, ada, QUEUE, 2) for _ in range(4)]
    assert given == [*QUEUE, None]


def test_a_fact_that_was_opened_but_not_marked_is_released_later(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, ben = people(connection, "Ada", "Ben")
    claim.claim_next(connection, ada, QUEUE, 1)
    claim.claim_next(connection, ada, QUEUE, 1)
    work.mark(connection, ada, QUEUE[1], {"one": "rationale"}, "key")
    monkeypatch.setattr(claim, "_HELD_SECONDS", -1.0)
    assert claim.claim_next(connection, ben, QUEUE, 1) == QUEUE[0]
    assert claim.claim_next(connection, ben, QUEUE, 1) == QUEUE[2]


def test_a_fact_with_enough_people_is_refused_to_others(connection: Connection) -> None:
    ada, ben = people(connection, "Ada", "Ben")
    claim.claim(connection, ada, QUEUE[0], 1)
    claim.claim(connection, ada, QUEUE[0], 1)
    with pytest.raises(UserError, match="enough annotators"):
        claim.claim(connection, ben, QUEUE[0], 1)
    claim.claim(connection, ben, QUEUE[0], None)
    assert claim.is_held(connection, ben, QUEUE[0])
    assert not claim.is_held(connection, ben, QUEUE[1])


def test_a_persons_row_is_walked_both_ways(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    for _ in QUEUE:
        claim.claim_next(connection, ada, QUEUE, 2)
    assert claim.neighbour(connection, ada, QUEUE[0], 1) == QUEUE[1]
    assert claim.neighbour(connection, ada, QUEUE[1], -1) == QUEUE[0]
    assert claim.neighbour(connection, ada, QUEUE[0], -1) is None
    assert claim.neighbour(connection, ada, QUEUE[2], 1) is None


def test_facts_of_another_part_are_passed_over(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    for _ in QUEUE:
        claim.claim_next(connection, ada, QUEUE, 2)

    def is_open(fact: Triple) -> bool:
        return fact != QUEUE[1]

    assert claim.neighbour(connection, ada, QUEUE[0], 1, is_open) == QUEUE[2]
    assert claim.neighbour(connection, ada, QUEUE[2], -1, is_open) == QUEUE[0]


def test_after_a_skipped_fact_comes_the_next_open_one(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    facts = [Triple(f"h{number}", "capital", f"t{number}") for number in range(5)]
    assert next_fact(connection, ada, facts, None) == facts[0]
    for skipped, following in itertools.pairwise(facts[:3]):
        assert next_fact(connection, ada, facts, skipped) == following
    for fact in facts[1:3]:
        finish(connection, ada, fact, per_fact=2)
    assert next_fact(connection, ada, facts, facts[2]) == facts[3]
    finish(connection, ada, facts[0], per_fact=2)
    assert next_fact(connection, ada, facts, facts[0]) == facts[3], "not through the finished ones"
    finish(connection, ada, facts[3], per_fact=2)
    assert next_fact(connection, ada, facts, facts[0]) == facts[4]


def test_passed_over_facts_are_found_again(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    for _ in QUEUE:
        claim.claim_next(connection, ada, QUEUE, 2)
    work.mark(connection, ada, QUEUE[0], {"one": "rationale"}, "key 1")
    work.submit(connection, ada, QUEUE[0], ["one"], "key 2")
    assert claim.open_facts(connection, ada) == QUEUE[1:]


def test_the_place_is_kept(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    assert claim.place_of(connection, ada) is None
    claim.keep_place(connection, ada, QUEUE[0], 3)
    claim.keep_place(connection, ada, QUEUE[1], 7)
    assert claim.place_of(connection, ada) == (QUEUE[1], 7)


def finish(connection: Connection, person: Annotator, fact: Triple, per_fact: int) -> None:
    claim.claim(connection, person, fact, per_fact)
    work.mark(connection, person, fact, {"one": "rationale"}, f"mark {fact}")
    work.submit(connection, person, fact, ["one"], f"submit {fact}")


def test_the_first_assignment_fixes_how_many_people_mark_a_fact(connection: Connection) -> None:
    ada, ben, cleo = people(connection, "Ada", "Ben", "Cleo")
    finish(connection, ada, QUEUE[0], per_fact=2)
    write_settings(connection, QueueSettings(annotators_per_fact=1))
    assert closed_facts(connection) == set(), "a lower number would show Ada's marks to who is still to mark the fact"
    assert claim.claim_next(connection, ben, QUEUE, 1) == QUEUE[0]
    finish(connection, ben, QUEUE[0], per_fact=1)
    write_settings(connection, QueueSettings(annotators_per_fact=5))
    assert closed_facts(connection) == {QUEUE[0]}
    assert claim.claim_next(connection, cleo, QUEUE, 5) == QUEUE[1], "a higher one would let them mark what is shown"
    with pytest.raises(UserError, match="enough annotators"):
        claim.claim(connection, cleo, QUEUE[0], 5)


def test_a_fact_opened_and_left_is_refused_once_enough_others_have_it(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, ben, cleo = people(connection, "Ada", "Ben", "Cleo")
    assert claim.claim_next(connection, cleo, QUEUE, 2) == QUEUE[0]
    monkeypatch.setattr(claim, "_HELD_SECONDS", -1.0)
    for person in (ada, ben):
        finish(connection, person, QUEUE[0], per_fact=2)
    with pytest.raises(UserError, match="enough annotators"):
        hold(connection, cleo, QUEUE[0])
    assert next_fact(connection, cleo, [], None) is None
    hold(connection, ada, QUEUE[0])


def submitted(connection: Connection, person: Annotator, fact: Triple) -> None:
    claim.claim(connection, person, fact, 2)
    work.mark(connection, person, fact, {"one": "rationale"}, f"mark {fact}")
    work.submit(connection, person, fact, ["one"], f"submit {fact}")


def test_the_queue_counts_what_is_complete_and_what_is_missing(connection: Connection) -> None:
    ada, ben = people(connection, "Ada", "Ben")
    assert claim.queue_progress(connection, QUEUE) == claim.QueueProgress(
        num_facts=3, num_complete=0, num_needed=6, per_day=None, seconds_per_fact=None
    )
    for person, fact in ((ada, QUEUE[0]), (ben, QUEUE[0]), (ada, QUEUE[1])):
        submitted(connection, person, fact)
    found = claim.queue_progress(connection, QUEUE)
    assert (found.num_complete, found.num_needed, found.per_day, found.days_left) == (1, 3, 3.0, 1.0)
    write_settings(connection, QueueSettings(annotators_per_fact=3))
    # A fact keeps its quota; only the third one needs three.
    assert claim.queue_progress(connection, QUEUE).num_needed == 1 + 3
    assert claim.queue_progress(connection, QUEUE[:1]).num_needed == 0


def test_the_rate_covers_seven_days_and_the_time_per_fact_no_breaks(connection: Connection) -> None:
    (ada,) = people(connection, "Ada")
    facts = [Triple(f"h{number}", "capital", f"t{number}") for number in range(20)]
    for fact in facts[:10]:
        submitted(connection, ada, fact)
    steps = [row[0] for row in connection.execute("SELECT step FROM entry WHERE kind = 'submitted' ORDER BY fact")]
    # Two long ago, then eight a minute apart, with a break of an hour in between.
    minutes = [20_000, 19_999, 1_000, 999, 998, 997, 937, 936, 935, 934]
    for step, ago in zip(steps, minutes, strict=True):
        connection.execute(
            "UPDATE step SET time = strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now', ?) WHERE id = ?",
            (f"-{ago} minutes", step),
        )
    found = claim.queue_progress(connection, facts)
    assert found.per_day == pytest.approx(8 / 7)
    assert found.seconds_per_fact == pytest.approx(60, abs=0.5)
    assert found.num_needed == 10 + 20
    assert found.hours_left == pytest.approx(0.5, abs=0.01)
