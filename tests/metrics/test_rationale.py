import dataclasses
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score

from metrics.marked_facts import fact_lists, marked_facts
from sayso.metrics.rationale import rationale_figures, tie_groups


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
