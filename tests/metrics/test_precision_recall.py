import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from sklearn.metrics import precision_recall_curve as reference_curve

from sayso.metrics.precision_recall import (
    area_up_to_recall,
    average_precision,
    compare_curves,
    curve_estimates,
    drawn_curve,
    max_f1,
    precision_at,
    precision_recall_curve,
    sort_scores,
)

# Few distinct scores, so that ties are common.
scored = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 3.0]), st.booleans()), min_size=1, max_size=40)


@settings(deadline=None)
@given(scored)
def test_curve_and_average_precision_equal_those_of_sklearn(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = map(np.array, zip(*pairs, strict=True))
    curve = precision_recall_curve(scores, labels)
    if not labels.any():
        assert math.isnan(average_precision(curve))
        return
    precision, recall, threshold = reference_curve(labels, scores, drop_intermediate=False)
    # sklearn goes from the lowest threshold up and adds a last point (1, 0).
    np.testing.assert_allclose(curve.precision, precision[-2::-1])
    np.testing.assert_allclose(curve.recall, recall[-2::-1])
    np.testing.assert_allclose(curve.threshold, threshold[::-1])
    assert average_precision(curve) == pytest.approx(average_precision_score(labels, scores), abs=1e-12)


def test_average_precision_of_many_random_scores_equals_that_of_sklearn() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((500, 20)).round(3)
    labels = rng.random((500, 20)) < 0.02
    expected = average_precision_score(labels.ravel(), scores.ravel())
    assert average_precision(precision_recall_curve(scores, labels)) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(scored, st.integers(0, 5), st.floats(0.05, 1.0))
def test_area_is_the_step_sum(pairs: list[tuple[float, bool]], num_missed: int, limit: float) -> None:
    num_positives = sum(label for _, label in pairs) + num_missed
    area, reached = 0.0, 0.0
    for threshold in sorted({score for score, _ in pairs}, reverse=True):
        taken = [label for score, label in pairs if score >= threshold]
        recall = sum(taken) / num_positives if num_positives else math.nan
        area += sum(taken) / len(taken) * max(0.0, min(recall, limit) - reached)
        reached = max(reached, min(recall, limit))
    curve = precision_recall_curve(*zip(*pairs, strict=True), num_positives)
    if num_positives:
        assert area_up_to_recall(curve, limit) == pytest.approx(area, abs=1e-12)
    else:
        assert math.isnan(area_up_to_recall(curve, limit))


def test_the_last_step_is_clipped_at_the_recall_limit_and_nothing_is_divided() -> None:
    # Recall goes 0.25 (precision 1), then 0.5 (precision 2/3).
    curve = precision_recall_curve([4, 3, 2], [1, 0, 1], num_positives=4)
    assert area_up_to_recall(curve, 0.4) == pytest.approx(0.25 * 1 + 0.15 * 2 / 3)


def test_facts_that_were_never_scored_lower_recall_but_not_precision() -> None:
    curve = precision_recall_curve([2, 1], [1, 1], num_positives=4)
    assert curve.recall.tolist() == [0.25, 0.5]
    assert curve.precision.tolist() == [1.0, 1.0]
    assert average_precision(curve) == 0.5


def test_constant_scores_are_one_step() -> None:
    curve = precision_recall_curve([1, 1, 1, 1], [1, 0, 0, 0])
    assert curve.precision.tolist() == [0.25]
    assert average_precision(curve) == 0.25


def test_without_scores_nothing_is_found_and_without_positives_figures_are_nan() -> None:
    missed = precision_recall_curve([], [], num_positives=3)
    assert (average_precision(missed), max_f1(missed)) == (0.0, 0.0)
    assert math.isnan(precision_at(missed, 1))
    nothing = precision_recall_curve([0.5], [0])
    assert all(math.isnan(x) for x in (average_precision(nothing), max_f1(nothing), precision_at(nothing, 1)))


def test_precision_at_k_gives_a_tie_its_mean() -> None:
    curve = precision_recall_curve([5, 4, 4, 4, 1], [0, 1, 1, 0, 1])
    assert [precision_at(curve, k) for k in (1, 2, 3, 4, 5, 99)] == pytest.approx(
        [0, 1 / 3, 4 / 9, 1 / 2, 3 / 5, 3 / 5]
    )


@settings(deadline=None)
@given(scored)
def test_max_f1_is_the_best_over_all_thresholds(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = map(np.array, zip(*pairs, strict=True))
    if not labels.any():
        return
    precision, recall, _ = reference_curve(labels, scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = np.nanmax(2 * precision * recall / (precision + recall))
    assert max_f1(precision_recall_curve(scores, labels)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "labels", "num_positives"), [([1.0], [1, 0], None), ([math.nan], [1], None), ([1.0, 2.0], [1, 1], 1)]
)
def test_arguments_that_do_not_fit_are_refused(scores, labels, num_positives) -> None:
    with pytest.raises(ValueError):
        precision_recall_curve(scores, labels, num_positives)


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
def test_weighting_bags_equals_repeating_them(table, num_unread) -> None:
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


def test_a_better_model_differs_from_a_worse_one_but_not_from_itself() -> None:
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


@given(scored, st.integers(2, 9))
def test_a_drawn_curve_keeps_its_ends_and_only_has_points_of_the_curve(
    pairs: list[tuple[float, bool]], most: int
) -> None:
    scores, labels = map(np.array, zip(*pairs, strict=True))
    curve = precision_recall_curve(scores, labels)
    points = list(zip(curve.recall.tolist(), curve.precision.tolist(), strict=True))
    drawn = drawn_curve(curve, most)
    if not labels.any():
        assert drawn == []
        return
    assert (drawn[0], drawn[-1]) == (points[0], points[-1])
    assert len(drawn) <= most
    assert set(drawn) <= set(points)
    assert [recall for recall, _ in drawn] == sorted(recall for recall, _ in drawn)
