"""Thresholds for new facts, on randomly generated held-out facts, whose truth is known."""

import json

import numpy as np
import pytest

from sayso.errors import UserError
from sayso.extract.missing import assumed
from sayso.extract.new_facts import LEAST_FACTS, NEVER, choose_for_new_facts, resampled_facts
from sayso.train.held_out import HeldOutFacts

RELATIONS = ["capital", "born", "rare"]


def drawn(
    num_known: int = 400, num_missing: int = 400, num_wrong: int = 8_000, seed: int = 0, num_rare: int = 6
) -> tuple[HeldOutFacts, np.ndarray]:
    """Return held-out facts, and which of the unlabelled ones are true: their scores are like those of known ones."""
    rng = np.random.default_rng(seed)
    num = num_known + num_missing + num_wrong
    is_true_Q = np.arange(num) < num_known + num_missing
    score_Q = np.where(is_true_Q, rng.normal(1.0, 1.5, num), rng.normal(-3.0, 1.2, num))
    relation_Q = rng.integers(2, size=num)
    relation_Q[:num_rare] = 2
    facts = HeldOutFacts(
        pair_Q=np.arange(num),
        relation_Q=relation_Q,
        fold_Q=1 + rng.integers(5, size=num),
        probability_Q=1 / (1 + np.exp(-score_Q)),
        is_known_Q=np.arange(num) < num_known,
        weight_Q=np.ones(num),
    )
    return facts, is_true_Q & ~facts.is_known_Q


def measured(facts: HeldOutFacts, is_right_Q: np.ndarray, thresholds: dict[str, float]) -> float:
    """Return the precision of the new facts at these thresholds."""
    threshold_R = np.array([thresholds[name] for name in RELATIONS])
    is_new_Q = ~facts.is_known_Q & (facts.probability_Q >= threshold_R[facts.relation_Q])
    return float(is_right_Q[is_new_Q].mean())


@pytest.mark.parametrize("wanted", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_the_interval_covers_the_precision_of_the_new_facts_if_the_assumption_holds(wanted: float, seed: int) -> None:
    facts, is_right_Q = drawn(seed=seed)
    found = choose_for_new_facts(facts, RELATIONS, wanted, assumed(0.5))
    true = measured(facts, is_right_Q, found.thresholds)
    assert found.interval.low - 0.03 <= true <= found.interval.high + 0.03
    assert found.precision == pytest.approx(true, abs=0.13)
    assert true == pytest.approx(wanted, abs=0.12)
    assert found.interval.high - found.interval.low < 0.3


def test_a_more_complete_knowledge_base_leaves_fewer_facts_to_find() -> None:
    facts, is_right_Q = drawn(num_missing=100)
    half, most = (choose_for_new_facts(facts, RELATIONS, 0.7, assumed(share)) for share in (0.5, 0.8))
    assert most.thresholds["born"] > half.thresholds["born"]
    # There are four known facts for each missing one, so the second assumption is the right one.
    assert most.precision == pytest.approx(measured(facts, is_right_Q, most.thresholds), abs=0.12)
    assert half.precision > measured(facts, is_right_Q, half.thresholds) + 0.15


def test_a_relation_with_few_facts_gets_the_common_threshold_and_no_promise() -> None:
    facts, _ = drawn()
    found = choose_for_new_facts(facts, RELATIONS, 0.7, assumed(0.5))
    rare = found.relations[2]
    assert rare.num_facts < LEAST_FACTS
    assert rare.threshold == found.threshold
    assert rare.precision is None
    assert "too few known facts (6)" in rare.text
    assert all("expected precision" in each.text for each in found.relations[:2])


def test_a_relation_that_cannot_be_told_from_noise_gets_no_facts() -> None:
    facts, _ = drawn()
    rng = np.random.default_rng(0)
    is_born_Q = facts.relation_Q == 1
    noise_Q = rng.random(len(is_born_Q)) * 0.5
    facts = facts._replace(probability_Q=np.where(is_born_Q, noise_Q, facts.probability_Q))
    found = choose_for_new_facts(facts, RELATIONS, 0.9, assumed(0.5))
    assert found.relations[1].threshold is None
    assert found.thresholds["born"] == NEVER
    assert "no threshold reaches this precision" in found.relations[1].text
    assert found.relations[0].threshold is not None


def test_a_precision_that_no_threshold_reaches_is_refused_with_the_best_one() -> None:
    facts, _ = drawn(num_known=300, num_wrong=3_000)
    facts = facts._replace(probability_Q=np.random.default_rng(0).random(len(facts.pair_Q)))
    with pytest.raises(
        UserError, match=r"no threshold has an expected precision of 0.9 for new facts; the best is 0\.\d+"
    ):
        choose_for_new_facts(facts, RELATIONS, 0.9, assumed(0.9))


def test_a_fact_that_stands_for_several_counts_as_often() -> None:
    facts, _ = drawn(num_missing=200, num_wrong=2_000)
    is_new_Q = ~facts.is_known_Q
    doubled = HeldOutFacts(*(np.concatenate([column, column[is_new_Q]]) for column in facts))
    weighed = facts._replace(weight_Q=np.where(is_new_Q, 2.0, 1.0))
    one, other = (choose_for_new_facts(each, RELATIONS, 0.6, assumed(0.4)) for each in (doubled, weighed))
    assert one.thresholds == pytest.approx(other.thresholds)
    assert one.num_new == pytest.approx(other.num_new)


def test_facts_of_a_pair_are_resampled_together_and_folds_are_drawn_first() -> None:
    facts, _ = drawn(num_known=20, num_missing=20, num_wrong=60)
    facts = facts._replace(pair_Q=facts.pair_Q // 2, fold_Q=1 + facts.pair_Q // 2 % 5)
    drawn_folds = set()
    for times_Q in resampled_facts(facts, 20):
        assert (times_Q[0::2] == times_Q[1::2]).all()
        drawn_folds.add(tuple(np.unique(facts.fold_Q[times_Q > 0]).tolist()))
    assert any(len(folds) < 5 for folds in drawn_folds)


def test_the_estimate_is_written_with_its_assumption_in_one_line() -> None:
    found = choose_for_new_facts(drawn()[0], RELATIONS, 0.7, assumed(0.5))
    record = json.loads(json.dumps(found.to_dict()))
    assert record["measured_on"] == "withheld facts"
    assert "assuming that the knowledge base has 50% (± 2.5%) of the true facts" in record["assumption"]
    assert [row["relation"] for row in record["relations"]] == RELATIONS
    assert "\n" not in found.text + found.limits
    assert "expect a precision of 0." in found.text
