import numpy as np
import pytest

from extract.test_new_facts import RELATIONS, drawn
from sayso.extract.missing import LEAST_DECISIONS, assumed, from_decisions
from sayso.extract.new_facts import choose_for_new_facts
from sayso.readers.tables import FactDecision
from sayso.records import Triple
from sayso.train.held_out import HeldOutFacts, pair_key


def named(facts: HeldOutFacts) -> HeldOutFacts:
    """Return the facts with the numbers of pairs called h0 t0, h1 t1 and so on."""
    return facts._replace(pair_Q=np.array([pair_key(f"h{n}", f"t{n}") for n in facts.pair_Q.tolist()]))


def decisions_on(facts: HeldOutFacts, is_right_Q: np.ndarray, num: int, seed: int = 0) -> list[FactDecision]:
    """Return decisions on a random sample of the facts that an extraction at 0.3 would have written as new."""
    rows = np.flatnonzero(~facts.is_known_Q & (facts.probability_Q >= 0.3))
    sample = np.random.default_rng(seed).choice(rows, num, replace=False).tolist()
    return [
        FactDecision(
            Triple(f"h{row}", RELATIONS[facts.relation_Q[row]], f"t{row}"),
            "accepted" if is_right_Q[row] else "rejected",
        )
        for row in sample
    ]


@pytest.mark.parametrize("num_missing", [100, 400, 900])
def test_decisions_on_a_random_sample_give_the_number_of_missing_facts(num_missing: int) -> None:
    facts, is_right_Q = drawn(num_missing=num_missing)
    decided = decisions_on(facts, is_right_Q, 100)
    found = from_decisions(decided, named(facts), RELATIONS, 0.5)
    # There are 400 known facts.
    assert found.missing_per_known == pytest.approx(num_missing / 400, rel=0.45)
    assert "from 100 decisions on new facts" in found.text


def test_with_decisions_the_interval_also_covers_their_sampling() -> None:
    facts, is_right_Q = drawn()
    assumption = from_decisions(decisions_on(facts, is_right_Q, 30), named(facts), RELATIONS, 0.5)
    with_few = choose_for_new_facts(facts, RELATIONS, 0.6, assumption)
    sure = choose_for_new_facts(facts, RELATIONS, 0.6, assumed(1 / (1 + assumption.missing_per_known)))
    assert with_few.interval.high - with_few.interval.low > sure.interval.high - sure.interval.low


def test_too_few_decisions_fall_back_to_the_assumption_and_say_so() -> None:
    facts, is_right_Q = drawn()
    decided = decisions_on(facts, is_right_Q, LEAST_DECISIONS - 1)
    elsewhere = [
        FactDecision(Triple("x", "capital", "y"), "accepted"),
        FactDecision(Triple("h1", "other", "t1"), "rejected"),
    ]
    found = from_decisions([*decided, *elsewhere], named(facts), RELATIONS, 0.8)
    assert found.missing_per_known == pytest.approx(0.25)
    assert found.text.startswith(
        f"only {LEAST_DECISIONS - 1} decisions on new facts of this corpus (at least 20 are needed);"
    )


@pytest.mark.parametrize("decision", ["accepted", "rejected"])
def test_unanimous_decisions_give_a_finite_number(decision: str) -> None:
    facts, is_right_Q = drawn()
    decided = [each._replace(decision=decision) for each in decisions_on(facts, is_right_Q, 40)]
    found = from_decisions(decided, named(facts), RELATIONS, 0.5)
    assert np.isfinite(found.missing_per_known)
    assert (found.missing_per_known > 1) == (decision == "accepted")


def test_half_complete_means_one_missing_fact_per_known_one() -> None:
    assert assumed(0.5).missing_per_known == 1
    assert assumed(0.2).missing_per_known == pytest.approx(4)
    around = list(assumed(0.5).resampled(100))
    assert 0.9 < min(around) < 0.95 < 1.05 < max(around) < 1.11
