import dataclasses
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score

from metrics.marked_facts import fact_lists, marked_facts
from sayso.metrics.rationale import HIGH, LOW, compare_tau, rationale_figures, tau_counts, tau_figures, tie_groups


def expected_over_orders(fact):
    """The definition as a loop: mean of AP, reciprocal rank and P@1 over all orders that the scores allow."""
    marked = [(score, mark) for score, mark in fact if mark >= 0]
    values = []
    for order in permutations(marked):
        if any(a[0] < b[0] for a, b in pairwise(order)):
            continue
        ranks = [rank for rank, (_, mark) in enumerate(order, 1) if mark]
        precision = np.mean([number / rank for number, rank in enumerate(ranks, 1)])
        values.append((precision, 1 / ranks[0], ranks[0] == 1))
    return np.mean(values, axis=0)


@settings(max_examples=60)
@given(fact_lists)
def test_ties_have_their_expected_value_under_random_order(facts) -> None:
    figures = rationale_figures(marked_facts(*facts), num_resamples=2)
    both = [fact for fact in facts if {0, 1} <= {mark for _, mark in fact}]
    assert figures.num_facts == figures.num_bags == len(both)
    values = (figures.average_precision.value, figures.mean_reciprocal_rank.value, figures.precision_at_1.value)
    if both:
        assert values == pytest.approx(np.mean([expected_over_orders(fact) for fact in both], axis=0))
    else:
        assert values == (None, None, None)


def test_without_ties_average_precision_is_that_of_sklearn() -> None:
    rng = np.random.default_rng(0)
    scores, marks = rng.permutation(60).reshape(5, 12).astype(float), rng.integers(0, 2, (5, 12))
    facts = marked_facts(*[list(zip(*row, strict=True)) for row in zip(scores, marks, strict=True)])
    figures = rationale_figures(facts, num_resamples=2)
    expected = np.mean([average_precision_score(mark, score) for mark, score in zip(marks, scores, strict=True)])
    assert figures.average_precision.value == pytest.approx(expected)
    assert figures.average_precision.value == pytest.approx(label_ranking_average_precision_score(marks, scores))


def test_a_perfect_order_is_1_in_every_figure() -> None:
    figures = rationale_figures(marked_facts([(3.0, 1), (2.0, 1), (1.0, 0)], [(1.0, 1), (0.0, 0)]))
    for estimate in (figures.average_precision, figures.mean_reciprocal_rank, figures.precision_at_1):
        assert estimate == (1.0, (1.0, 1.0))


def test_sentences_marked_neither_have_no_rank() -> None:
    figures = rationale_figures(marked_facts([(9.0, -1), (2.0, 1), (1.0, 0)]))
    assert figures.precision_at_1.value == 1
    assert figures.precision_at_1.interval is None


def test_a_large_tie_stays_exact() -> None:
    figures = rationale_figures(marked_facts([(0.0, 1)] + [(0.0, 0)] * 999))
    harmonic = sum(1 / rank for rank in range(1, 1001)) / 1000
    assert figures.mean_reciprocal_rank.value == pytest.approx(harmonic)
    assert figures.average_precision.value == pytest.approx(harmonic)
    assert figures.precision_at_1.value == pytest.approx(0.001)


def test_groups_go_fact_by_fact_from_the_highest_score_down() -> None:
    groups = tie_groups(marked_facts([(1.0, 0), (2.0, 1), (1.0, 1), (9.0, -1)], [], [(3.0, 0)]))
    assert groups.fact_G.tolist() == [0, 0, 2]
    assert groups.num_rationale_G.tolist() == [1, 1, 0]
    assert groups.num_irrelevant_G.tolist() == [0, 1, 1]
    assert groups.rationale_before_G.tolist() == [0, 1, 0]
    assert groups.irrelevant_before_G.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score_N": np.array([1.0])}, "got 1 scores, but"),
        ({"score_N": np.array([1.0, np.nan])}, "a score is NaN"),
        ({"mark_N": np.array([1, 2])}, "a mark must be"),
        ({"start_F1": np.array([0, 1])}, "start_F1 must increase"),
        ({"bag_F": np.array([0, 1])}, "one bag and one probability"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(marked_facts([(1.0, 1), (0.0, 0)]), **change)


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


def test_tau_of_a_perfect_order_is_1_of_its_reverse_minus_1_and_of_a_constant_0() -> None:
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
