import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.metrics.precision_recall import precision_recall_curve
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.predictions.table import (
    MAX_POINTS,
    PLOT,
    POINT_GAP,
    PredictionQuery,
    _apart,
    facts_at,
    make_curve,
)
from toy_predictions import THRESHOLD


def test_the_points_together_bring_in_every_predicted_fact_once(run: RunPredictions) -> None:
    curve = make_curve(run.index, THRESHOLD)
    rows = np.concatenate([facts_at(run.index, point) for point in curve.points])
    predicted = run.index.find_all(PredictionQuery(min_probability=THRESHOLD))
    assert rows.tolist() == predicted.tolist()
    assert curve.num_retrieved == len(predicted)
    assert len(curve.points) <= MAX_POINTS


@pytest.mark.parametrize("relation", ["", "capital"])
def test_each_point_says_the_precision_and_recall_of_what_came_in_so_far(run: RunPredictions, relation: str) -> None:
    curve = make_curve(run.index, THRESHOLD, relation)
    rows = run.index.rows(run.index.find_all(PredictionQuery(relation=relation)))
    num_labels = sum(row.is_label for row in rows)
    for point in curve.points:
        so_far = rows[: point.stop]
        num_correct = sum(row.is_label for row in so_far)
        assert point.precision == pytest.approx(num_correct / point.stop)
        assert point.recall == pytest.approx(num_correct / num_labels)
        assert point.probability == so_far[-1].probability


def test_above_the_threshold_it_is_the_curve_of_all_facts(run: RunPredictions) -> None:
    whole = precision_recall_curve(run.index.probability_F, run.index.is_label_F)
    is_above = whole.threshold >= THRESHOLD
    line = list(zip(whole.recall[is_above].tolist(), whole.precision[is_above].tolist(), strict=True))
    assert make_curve(run.index, THRESHOLD).line == line


@given(
    st.lists(st.tuples(st.integers(500, 999), st.booleans()), min_size=1, max_size=400),
    st.integers(1, 3),
)
def test_no_point_covers_another(facts: list[tuple[int, bool]], repeated: int) -> None:
    scores, labels = (np.repeat(each, repeated) for each in zip(*facts, strict=True))
    curve = precision_recall_curve(scores / 1000, labels, int(labels.sum()) + 3)
    steps = _apart(curve)
    assert len(steps) <= MAX_POINTS
    assert steps[-1] == len(curve.recall) - 1
    x, y = curve.recall[steps] * PLOT[0], curve.precision[steps] * PLOT[1]
    distances = np.hypot(x[:, None] - x, y[:, None] - y)[~np.eye(len(steps), dtype=bool)]
    assert (distances >= POINT_GAP).all()


def test_facts_that_could_not_be_read_lower_the_recall(run: RunPredictions) -> None:
    plain, lower = make_curve(run.index, THRESHOLD), make_curve(run.index, THRESHOLD, num_unread=100)
    assert lower.num_positives == plain.num_positives + 100
    assert lower.points[-1].recall < plain.points[-1].recall


def test_a_relation_without_facts_has_no_curve(run: RunPredictions) -> None:
    assert make_curve(run.index, THRESHOLD, "unheard of").points == []
