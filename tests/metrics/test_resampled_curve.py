import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from sayso.metrics.precision_recall import (
    area_up_to_recall,
    average_precision,
    max_f1,
    precision_at,
    precision_recall_curve,
)
from sayso.metrics.resampled_curve import compare_curves, curve_estimates, sort_scores

EVERY_MEASURE = {
    "area": lambda curve: area_up_to_recall(curve, 0.4),
    "average_precision": average_precision,
    "max_f1": max_f1,
    **{f"p@{k}": lambda curve, k=k: precision_at(curve, k) for k in (1, 2, 3, 7)},
}


@st.composite
def tables(draw):
    """Scores and labels of a few bags, with few distinct scores, and how often each bag is drawn."""
    num_relations = draw(st.integers(1, 3))
    cell = st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans())
    rows = draw(st.lists(st.lists(cell, min_size=num_relations, max_size=num_relations), min_size=1, max_size=8))
    weight = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    table = np.array(rows)
    return table[..., 0], table[..., 1] != 0, np.array(weight)


@given(tables(), st.integers(0, 2))
def test_weighing_bags_is_the_same_as_writing_them_several_times(table, num_unread) -> None:
    scores, labels, weight = table
    copied = precision_recall_curve(
        np.repeat(scores, weight, axis=0),
        np.repeat(labels, weight, axis=0),
        int(np.repeat(labels, weight, axis=0).sum()) + num_unread,
    )
    weighed = sort_scores(scores, labels, num_unread).curve(weight)
    for name, measure in EVERY_MEASURE.items():
        assert measure(weighed) == pytest.approx(measure(copied), nan_ok=True), name


@given(tables())
def test_weights_of_one_give_the_plain_figures(table) -> None:
    scores, labels, _ = table
    estimates = curve_estimates(sort_scores(scores, labels), EVERY_MEASURE, num_resamples=3)
    curve = precision_recall_curve(scores, labels)
    for name, measure in EVERY_MEASURE.items():
        expected = measure(curve)
        assert estimates[name].value == (None if math.isnan(expected) else pytest.approx(expected))


def test_the_interval_is_the_spread_of_sklearns_figure_over_copied_bags() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((80, 4)).round(2)
    labels = rng.random((80, 4)) < scores / 2
    low, high = curve_estimates(sort_scores(scores, labels), num_resamples=400)["average_precision"].interval
    drawn = [rng.integers(80, size=80) for _ in range(400)]
    values = [average_precision_score(labels[i].ravel(), scores[i].ravel()) for i in drawn]
    reference = np.quantile(values, [0.025, 0.975])
    assert (low, high) == pytest.approx(reference, abs=0.25 * np.diff(reference)[0])


def test_no_positives_give_no_figure_and_no_interval() -> None:
    estimates = curve_estimates(sort_scores(np.ones((3, 2)), np.zeros((3, 2))), num_resamples=5)
    assert estimates["average_precision"] == (None, None)


def test_no_bags_find_nothing() -> None:
    estimates = curve_estimates(sort_scores(np.ones((0, 2)), np.zeros((0, 2)), num_unread=3), num_resamples=5)
    assert estimates["average_precision"] == (0.0, None)


def test_a_better_model_is_told_from_a_worse_one_and_not_from_itself() -> None:
    rng = np.random.default_rng(0)
    labels = rng.random((200, 3)) < 0.2
    good, poor = labels + rng.normal(scale=0.3, size=labels.shape), rng.random(labels.shape)
    better = compare_curves(sort_scores(good, labels), sort_scores(poor, labels), num_resamples=200)
    assert better.interval.low > 0
    assert better.p_value == pytest.approx(2 / 201)
    same = compare_curves(sort_scores(good, labels), sort_scores(good, labels), num_resamples=20)
    assert (same.value, same.interval, same.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_models_scored_on_other_bags_are_refused() -> None:
    scores, labels = np.array([[0.5], [0.4]]), np.array([[1], [0]])
    with pytest.raises(ValueError, match="same bags"):
        compare_curves(sort_scores(scores, labels), sort_scores(scores, 1 - labels))


@pytest.mark.parametrize("scores", [np.ones((2, 2)), np.ones(2), np.array([[np.nan], [1.0]])])
def test_scores_that_do_not_fit_the_labels_are_refused(scores) -> None:
    with pytest.raises(ValueError):
        sort_scores(scores, np.ones((2, 1)))
