import dataclasses
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from metrics.marked_facts import fact_lists, marked_facts
from sayso.metrics.kendall import HIGH, LOW, compare_tau, tau_counts, tau_figures

scores = st.lists(st.sampled_from([-2.0, 0.0, 0.25, 1.0]), min_size=1, max_size=8)


def pairwise_tau(rationale: list[float], irrelevant: list[float]) -> float | None:
    """Return τ of a single fact."""
    fact = [(score, 1) for score in rationale] + [(score, 0) for score in irrelevant]
    return tau_figures(marked_facts(fact), num_resamples=0).pooled


@given(scores, scores)
def test_tau_equals_the_rank_sum_statistic_of_scipy(rationale, irrelevant) -> None:
    # U counts concordant pairs and half the ties, so tau = 2 U / (n m) - 1.
    u = mannwhitneyu(rationale, irrelevant, method="asymptotic").statistic
    tau = pairwise_tau(rationale, irrelevant)
    assert tau == pytest.approx(2 * u / (len(rationale) * len(irrelevant)) - 1)
    assert -1 <= tau <= 1
    assert tau == -pairwise_tau(irrelevant, rationale)


def test_a_perfect_order_is_1_its_reverse_minus_1_and_a_constant_0() -> None:
    assert pairwise_tau([3.0, 2.0], [1.0, 0.0, -1.0]) == 1
    assert pairwise_tau([0.0], [1.0, 2.0]) == -1
    assert pairwise_tau([1.0, 1.0], [1.0]) == 0


def test_an_empty_side_has_no_tau() -> None:
    assert pairwise_tau([], [1.0]) is None
    assert pairwise_tau([1.0], []) is None


@given(fact_lists)
def test_counts_are_those_of_a_plain_loop_over_all_tuples(facts) -> None:
    counts = tau_counts(marked_facts(*facts))
    for i, fact in enumerate(facts):
        pairs = list(product([s for s, mark in fact if mark == 1], [s for s, mark in fact if mark == 0]))
        assert counts.concordant[i] == sum(a > b for a, b in pairs)
        assert counts.discordant[i] == sum(a < b for a, b in pairs)
        assert counts.ties[i] == sum(a == b for a, b in pairs)
        assert counts.tuples[i] == len(pairs)


@given(fact_lists)
def test_pooled_tau_counts_tuples_and_the_mean_counts_facts(facts) -> None:
    figures = tau_figures(marked_facts(*facts), num_resamples=5)
    sides = [([s for s, mark in fact if mark == 1], [s for s, mark in fact if mark == 0]) for fact in facts]
    sides = [(rationale, irrelevant) for rationale, irrelevant in sides if rationale and irrelevant]
    assert figures.num_facts == figures.num_bags == len(sides)
    assert figures.num_tuples == sum(len(rationale) * len(irrelevant) for rationale, irrelevant in sides)
    if not sides:
        assert (figures.pooled, figures.per_fact_mean, figures.interval) == (None, None, None)
        return
    net = sum(pairwise_tau(*side) * len(side[0]) * len(side[1]) for side in sides)
    assert figures.pooled == pytest.approx(net / figures.num_tuples)
    assert figures.per_fact_mean == pytest.approx(np.mean([pairwise_tau(*side) for side in sides]))


RIGHT, WRONG, EQUAL = [(2.0, 1), (1.0, 0)], [(1.0, 1), (2.0, 0), (3.0, 0)], [(1.0, 1), (1.0, 0)]


def test_bands_include_both_ends_and_nothing_between_them() -> None:
    facts = marked_facts(RIGHT, WRONG, EQUAL, RIGHT, WRONG, probabilities=[0.76, 1.0, 0.5, 0.25, 0.0])
    assert tau_figures(facts, HIGH).num_tuples == 1 + 2
    assert tau_figures(facts, HIGH).pooled == pytest.approx((1 - 2) / 3)
    assert tau_figures(facts, HIGH).per_fact_mean == 0
    assert tau_figures(facts, LOW).num_facts == 2
    assert tau_figures(facts).num_ties == 1


def test_identical_marks_give_no_tuples_and_no_tau() -> None:
    figures = tau_figures(marked_facts([(1.0, 1), (2.0, 1)], [(1.0, 0), (3.0, -1)]))
    assert figures.num_tuples == figures.num_facts == figures.num_bags == 0
    assert (figures.pooled, figures.per_fact_mean, figures.interval) == (None, None, None)


def test_facts_of_one_bag_are_one_unit() -> None:
    assert tau_figures(marked_facts(RIGHT, WRONG, bags=["a", "a"])).interval is None
    apart = tau_figures(marked_facts(RIGHT, WRONG, bags=["a", "b"]))
    assert apart.num_bags == 2
    assert apart.interval == (-1.0, 1.0)


def test_two_models_are_compared_only_on_facts_in_the_band_of_both() -> None:
    first = marked_facts(RIGHT, RIGHT, RIGHT, WRONG, probabilities=[0.9, 0.9, 0.1, 0.9])
    worse = marked_facts(RIGHT, EQUAL, RIGHT, WRONG, probabilities=[0.8, 0.8, 0.8, 0.3])
    comparison = compare_tau(first, worse)
    assert (comparison.num_tuples, comparison.num_facts, comparison.num_bags) == (2, 2, 2)
    assert (comparison.first, comparison.second) == (1.0, 0.5)
    assert comparison.difference.value == 0.5
    assert comparison.difference.interval == (0.0, 1.0)


def test_a_model_compared_with_itself_shows_no_difference() -> None:
    facts = marked_facts(RIGHT, WRONG, EQUAL)
    difference = compare_tau(facts, facts).difference
    assert (difference.value, difference.interval, difference.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_no_common_fact_in_the_band_gives_no_difference() -> None:
    sure, unsure = (marked_facts(RIGHT, WRONG, probabilities=[p, p]) for p in (0.9, 0.1))
    comparison = compare_tau(sure, unsure)
    assert (comparison.num_tuples, comparison.first, comparison.difference.value) == (0, None, None)


def test_a_comparison_over_other_marks_is_refused() -> None:
    facts = marked_facts(RIGHT)
    with pytest.raises(ValueError, match="the marked facts do not match"):
        compare_tau(facts, dataclasses.replace(facts, mark_N=np.array([0, 1])))
