"""A run's precision-recall curve, with points that each stand for the facts they add.

Predictions contain every fact above the threshold, but only labels and marked facts below it. The curve ends at the
threshold, because the rest would look better than it is.
"""

from dataclasses import dataclass

import numpy as np

from sayso.metrics.precision_recall import PrecisionRecallCurve, precision_recall_curve
from sayso.serve.fact_table import code
from sayso.serve.predictions.table import PredictionQuery, PredictionTable

MAX_POINTS = 48
MAX_CORNERS = 600
"""The line is drawn with more corners than it has clickable points."""


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A point of the curve; it adds the facts from `first` up to `stop`, counted from the most probable."""

    precision: float
    recall: float
    probability: float
    first: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The curve of a run, or of one relation: its line as (recall, precision), and the points on it."""

    line: list[tuple[float, float]]
    points: list[CurvePoint]
    num_positives: int
    num_retrieved: int


def make_curve(index: PredictionTable, threshold: float, relation: str = "", num_unread: int = 0) -> Curve:
    """Compute the curve; `num_unread` facts that could not be read still count in the denominator of recall."""
    is_asked_F = np.full(index.num_facts, not relation) | (index.relation_F == code(index.relations, relation))
    is_predicted_F = is_asked_F & (index.probability_F >= threshold)
    num_positives = int(index.is_label_F[is_asked_F].sum()) + num_unread
    if not num_positives or not is_predicted_F.any():
        return Curve(line=[], points=[], num_positives=num_positives, num_retrieved=int(is_predicted_F.sum()))
    curve = precision_recall_curve(
        index.probability_F[is_predicted_F], index.is_label_F[is_predicted_F], num_positives=num_positives
    )
    corners = _spread(curve, MAX_CORNERS)
    return Curve(
        line=list(zip(curve.recall[corners].tolist(), curve.precision[corners].tolist(), strict=True)),
        points=_points(curve, _spread(curve, MAX_POINTS)),
        num_positives=num_positives,
        num_retrieved=int(curve.num_retrieved[-1]),
    )


def facts_at(index: PredictionTable, point: CurvePoint, relation: str = "") -> np.ndarray:
    """Return the indices of the facts that a point adds."""
    return index.find_all(PredictionQuery(relation=relation))[point.first : point.stop]


def _spread(curve: PrecisionRecallCurve, num: int) -> np.ndarray:
    """Return at most `num` steps of the curve, spread evenly over the facts, including both ends."""
    wanted = np.linspace(curve.num_retrieved[0], curve.num_retrieved[-1], num)
    steps: np.ndarray = np.unique(np.searchsorted(curve.num_retrieved, wanted))
    return steps


def _points(curve: PrecisionRecallCurve, steps: np.ndarray) -> list[CurvePoint]:
    stops = curve.num_retrieved[steps].tolist()
    return [
        CurvePoint(
            precision=float(curve.precision[step]),
            recall=float(curve.recall[step]),
            probability=float(curve.threshold[step]),
            first=first,
            stop=stop,
        )
        for step, first, stop in zip(steps.tolist(), [0, *stops[:-1]], stops, strict=True)
    ]
