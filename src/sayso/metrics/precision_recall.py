"""Precision and recall of scored facts: the curve, areas under it, precision at k, the best F1, and their bootstrap.

Everything is computed from one sorted pass over all (bag, relation) scores. Tied scores are one step of the curve, so
that no result depends on the order of ties. Without positives, every metric is NaN. The bootstrap sorts the scores
only once: a resample is a weight per bag, and its curve has the same steps with different heights.
Shapes: B bags, R relations, S sorted scores, K kept steps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sayso.metrics.interval import (
    NUM_RESAMPLES,
    Difference,
    Estimate,
    bootstrap,
    paired_difference,
    percentile_interval,
)


@dataclass(frozen=True, kw_only=True)
class PrecisionRecallCurve:
    """One step for each distinct score, from the highest down.

    `num_retrieved[i]` of the scores are at least `threshold[i]`, and `num_correct[i]` of those are positive.
    `num_positives` is the denominator of recall, which includes facts that were never scored.
    """

    threshold: NDArray[np.float64]
    num_retrieved: NDArray[np.int64]
    num_correct: NDArray[np.int64]
    num_positives: int

    @property
    def precision(self) -> NDArray[np.float64]:
        """The fraction of retrieved facts that are positive, at each step."""
        return self.num_correct / self.num_retrieved

    @property
    def recall(self) -> NDArray[np.float64]:
        """The fraction of all positives that are retrieved, at each step."""
        if self.num_positives == 0:
            return np.full(len(self.num_correct), np.nan)
        return self.num_correct / self.num_positives


def precision_recall_curve(
    scores: ArrayLike, labels: ArrayLike, num_positives: int | None = None
) -> PrecisionRecallCurve:
    """Return the curve over all scores, flattened; nonzero labels are positive.

    `num_positives` is the number of facts to find, if it is larger than the number of scored positives.

    >>> precision_recall_curve([0.9, 0.5, 0.5], [1, 0, 1]).precision.tolist()
    [1.0, 0.6666666666666666]
    """
    flat_scores = np.asarray(scores, dtype=np.float64).ravel()
    is_positive = np.asarray(labels).ravel() != 0
    if flat_scores.shape != is_positive.shape:
        raise ValueError(f"got {flat_scores.size:,} scores, but {is_positive.size:,} labels")
    num_found = int(is_positive.sum())
    if num_positives is not None and num_positives < num_found:
        raise ValueError(f"{num_found:,} positives are scored, more than num_positives ({num_positives:,})")
    order, sorted_S, last_of_tie = _steps(flat_scores)
    return PrecisionRecallCurve(
        threshold=sorted_S[last_of_tie],
        num_retrieved=last_of_tie + 1,
        num_correct=np.cumsum(is_positive[order], dtype=np.int64)[last_of_tie],
        num_positives=num_found if num_positives is None else num_positives,
    )


MAX_CORNERS = 600
"""How many corners a drawn curve may have."""


def drawn_curve(curve: PrecisionRecallCurve, max_corners: int = MAX_CORNERS) -> list[tuple[float, float]]:
    """Return the curve as corners (recall, precision), spread evenly along its length, including both ends.

    Reports and the workbench both draw this. It is empty without positives.

    >>> drawn_curve(precision_recall_curve([0.9, 0.5], [1, 0]))
    [(1.0, 1.0), (1.0, 0.5)]
    """
    if not curve.num_positives or not curve.num_retrieved.size:
        return []
    recall, precision = curve.recall, curve.precision
    kept = np.arange(recall.size)
    if recall.size > max_corners:
        length = np.append(0.0, np.cumsum(np.hypot(np.diff(recall), np.diff(precision))))
        kept = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], max_corners)))
        kept[0], kept[-1] = 0, recall.size - 1
    return list(zip(recall[kept].tolist(), precision[kept].tolist(), strict=True))


def _steps(score_S: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.intp]]:
    """Return the descending order, the scores in it, and where in it each distinct score ends."""
    if np.isnan(score_S).any():
        raise ValueError("a score is NaN")
    # Ties are one step, so the sort need not be stable.
    order = np.argsort(-score_S)
    sorted_S = score_S[order]
    return order, sorted_S, np.flatnonzero(np.append(sorted_S[1:] != sorted_S[:-1], True)[: sorted_S.size])


def area_up_to_recall(curve: PrecisionRecallCurve, max_recall: float) -> float:
    """Return the step sum of precision over recall from 0 to `max_recall`, with the last step clipped.

    It is not divided by `max_recall`, so its maximum is `max_recall`. The paper's AUC uses 0.4.

    >>> area_up_to_recall(precision_recall_curve([3, 2, 1], [1, 1, 0]), 0.4)
    0.4
    """
    if curve.num_positives == 0:
        return float("nan")
    recall = np.minimum(curve.recall, max_recall)
    return float(np.sum(curve.precision * np.diff(recall, prepend=0.0)))


def average_precision(curve: PrecisionRecallCurve) -> float:
    """Return the step sum of precision over the whole curve."""
    return area_up_to_recall(curve, 1.0)


def precision_at(curve: PrecisionRecallCurve, k: int) -> float:
    """Return the fraction of positives among the k highest scores, or among all if there are fewer than k.

    Ties across rank k get their expected value in random order.

    >>> precision_at(precision_recall_curve([2, 1, 1], [1, 1, 0]), 2)
    0.75
    """
    if k < 1:
        raise ValueError(f"precision at {k}: k must be at least 1")
    if curve.num_positives == 0 or not curve.num_retrieved.size:
        return float("nan")
    depth = min(k, int(curve.num_retrieved[-1]))
    num_correct = np.interp(depth, np.append(0, curve.num_retrieved), np.append(0, curve.num_correct))
    return float(num_correct) / depth


def max_f1(curve: PrecisionRecallCurve) -> float:
    """Return the best harmonic mean of precision and recall over all thresholds, 0 if nothing is retrieved."""
    if curve.num_positives == 0:
        return float("nan")
    return float(np.max(2 * curve.num_correct / (curve.num_retrieved + curve.num_positives), initial=0.0))


CurveMeasure = Callable[[PrecisionRecallCurve], float]


def area_up_to_recall_0_4(curve: PrecisionRecallCurve) -> float:
    """Return the paper's AUC: the area up to recall 0.4, not divided by 0.4."""
    return area_up_to_recall(curve, 0.4)


MEASURES: Mapping[str, CurveMeasure] = {
    "area_up_to_recall_0_4": area_up_to_recall_0_4,
    "average_precision": average_precision,
}


@dataclass(frozen=True, kw_only=True)
class SortedScores:
    """All (bag, relation) scores in descending order, for curves with any weights of the bags.

    Only steps with a positive, and the steps before them, are kept. `threshold_K` are their scores, `start_K` the first
    sorted score of each, `num_positives_K` the positives down to its end. `num_unread` facts without a score count in
    the denominator of recall in every resample.
    """

    bag_S: NDArray[np.intp]
    positive_bag: NDArray[np.intp]
    threshold_K: NDArray[np.float64]
    start_K: NDArray[np.int64]
    num_positives_K: NDArray[np.int64]
    num_bags: int
    num_unread: int

    def curve(self, weight_B: NDArray[np.int64]) -> PrecisionRecallCurve:
        """Return the curve for the data with bag i repeated `weight_B[i]` times.

        Steps without a positive are left out, which does not change areas, precision at k or the best F1.
        """
        found = np.append(0, np.cumsum(weight_B[self.positive_bag]))
        if not self.start_K.size:
            num_retrieved = np.zeros(0, dtype=np.int64)
        else:
            num_retrieved = np.cumsum(np.add.reduceat(weight_B.take(self.bag_S), self.start_K))
        # A step exists only if one of its bags was drawn.
        is_there = np.diff(num_retrieved, prepend=0) > 0
        return PrecisionRecallCurve(
            threshold=self.threshold_K[is_there],
            num_retrieved=num_retrieved[is_there],
            num_correct=found[self.num_positives_K][is_there],
            num_positives=int(found[-1]) + self.num_unread,
        )

    def resample(self, measures: Mapping[str, CurveMeasure], num_resamples: int) -> NDArray[np.float64]:
        """Return the measures for every resample of the bags, one row per resample."""
        return bootstrap(self.num_bags, lambda weight_B: self.measure(measures, weight_B), num_resamples)

    def measure(self, measures: Mapping[str, CurveMeasure], weight_B: NDArray[np.int64]) -> list[float]:
        """Return the measures for the curve with these bag weights."""
        curve = self.curve(weight_B)
        return [measure(curve) for measure in measures.values()]


def sort_scores(score_BR: ArrayLike, label_BR: ArrayLike, num_unread: int = 0) -> SortedScores:
    """Sort the scores; nonzero labels are positive."""
    scores, is_positive = np.asarray(score_BR, dtype=np.float64), np.asarray(label_BR) != 0
    if scores.shape != is_positive.shape or scores.ndim != 2:
        raise ValueError(f"scores have shape {scores.shape}, but labels have shape {is_positive.shape}")
    order, sorted_S, last_of_tie = _steps(scores.ravel())
    is_positive_S = is_positive.ravel()[order]
    # With any other dtype, numpy would convert the indices in every resample.
    bag_S = (order // max(1, scores.shape[1])).astype(np.intp)
    num_positives = np.append(0, np.cumsum(is_positive_S))[last_of_tie + 1]
    # The step before a positive one is kept too: precision at k interpolates from its end.
    has_positive = np.diff(num_positives, prepend=0) > 0
    kept = has_positive | np.append(has_positive[1:], True)[: has_positive.size]
    last_K = last_of_tie[kept]
    return SortedScores(
        bag_S=bag_S,
        positive_bag=bag_S[is_positive_S],
        threshold_K=sorted_S[last_K],
        start_K=np.append(0, last_K + 1)[: last_K.size],
        num_positives_K=num_positives[kept],
        num_bags=len(scores),
        num_unread=num_unread,
    )


def curve_estimates(
    scores: SortedScores, measures: Mapping[str, CurveMeasure] = MEASURES, num_resamples: int = NUM_RESAMPLES
) -> dict[str, Estimate]:
    """Return each measure with its interval over bags, None without positives."""
    whole = scores.measure(measures, np.ones(scores.num_bags, dtype=np.int64))
    values = scores.resample(measures, num_resamples)
    return {
        name: Estimate(None if np.isnan(value) else value, percentile_interval(values[:, i]))
        for i, (name, value) in enumerate(zip(measures, whole, strict=True))
    }


def compare_curves(
    first: SortedScores,
    second: SortedScores,
    measure: CurveMeasure = area_up_to_recall_0_4,
    num_resamples: int = NUM_RESAMPLES,
) -> Difference:
    """Return the first model's measure minus the second's, over the same bags in the same order."""
    if not np.array_equal(np.sort(first.positive_bag), np.sort(second.positive_bag)) or (
        (first.num_bags, first.num_unread) != (second.num_bags, second.num_unread)
    ):
        raise ValueError("the two models were not scored on the same bags")
    return paired_difference(
        first.num_bags,
        lambda weight_B: measure(first.curve(weight_B)),
        lambda weight_B: measure(second.curve(weight_B)),
        num_resamples,
    )
