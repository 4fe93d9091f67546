"""Precision-recall curves of resampled bags, fast enough for a thousand of them.

The scores are sorted once. A resample is a weight per bag, so its curve is the same walk with other step heights, and
every measure of `precision_recall` applies to it as it is. Steps that hold no positive only lengthen the walk: they
are joined up to the next one that does. Shapes: B bags, R relations, S sorted scores, K kept steps.
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
from sayso.metrics.precision_recall import PrecisionRecallCurve, area_up_to_recall, average_precision

Measure = Callable[[PrecisionRecallCurve], float]


def area_up_to_recall_0_4(curve: PrecisionRecallCurve) -> float:
    """Return the paper's AUC: the area up to recall 0.4, not divided by 0.4."""
    return area_up_to_recall(curve, 0.4)


MEASURES: Mapping[str, Measure] = {
    "area_up_to_recall_0_4": area_up_to_recall_0_4,
    "average_precision": average_precision,
}


@dataclass(frozen=True, kw_only=True)
class SortedScores:
    """All (bag, relation) scores from the highest down, ready to be walked with any weights of the bags.

    `threshold_K` are the scores of the kept steps, `start_K` the first sorted score of each, `num_positives_K` the
    positives down to its end. `num_unread` facts without any score are in the denominator of recall of every resample.
    """

    bag_S: NDArray[np.int32]
    positive_bag: NDArray[np.int32]
    threshold_K: NDArray[np.float64]
    start_K: NDArray[np.int64]
    num_positives_K: NDArray[np.int64]
    num_bags: int
    num_unread: int

    def curve(self, weight_B: NDArray[np.int64]) -> PrecisionRecallCurve:
        """Return the curve of the data in which bag i stands `weight_B[i]` times.

        Steps without a positive are left out, which changes neither an area, nor precision at k, nor the best F1.
        """
        found = np.append(0, np.cumsum(weight_B[self.positive_bag]))
        if not self.start_K.size:
            num_retrieved = np.zeros(0, dtype=np.int64)
        else:
            num_retrieved = np.cumsum(np.add.reduceat(weight_B[self.bag_S], self.start_K))
        # A step of which no bag was drawn is not there.
        is_there = np.diff(num_retrieved, prepend=0) > 0
        return PrecisionRecallCurve(
            threshold=self.threshold_K[is_there],
            num_retrieved=num_retrieved[is_there],
            num_correct=found[self.num_positives_K][is_there],
            num_positives=int(found[-1]) + self.num_unread,
        )


def sort_scores(score_BR: ArrayLike, label_BR: ArrayLike, num_unread: int = 0) -> SortedScores:
    """Return the scores of B bags and R relations sorted; a label that is not 0 is a positive."""
    scores, is_positive = np.asarray(score_BR, dtype=np.float64), np.asarray(label_BR) != 0
    if scores.shape != is_positive.shape or scores.ndim != 2:
        raise ValueError(f"scores of shape {scores.shape} do not fit labels of shape {is_positive.shape}")
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    order = np.argsort(-scores.ravel())
    sorted_S, is_positive_S = scores.ravel()[order], is_positive.ravel()[order]
    bag_S = (order // max(1, scores.shape[1])).astype(np.int32)
    last_of_tie = np.flatnonzero(np.append(sorted_S[1:] != sorted_S[:-1], True)[: sorted_S.size])
    num_positives = np.append(0, np.cumsum(is_positive_S))[last_of_tie + 1]
    # The step before a positive one is kept too: from its end on the tie is shared out evenly (precision at k).
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
    scores: SortedScores,
    measures: Mapping[str, Measure] = MEASURES,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Return each measure with its interval over bags; None where there is nothing to find."""

    def measure_all(weight_B: NDArray[np.int64]) -> list[float]:
        curve = scores.curve(weight_B)
        return [measure(curve) for measure in measures.values()]

    whole = measure_all(np.ones(scores.num_bags, dtype=np.int64))
    values = bootstrap(scores.num_bags, measure_all, num_resamples, seed)
    return {
        name: Estimate(None if np.isnan(value) else value, percentile_interval(values[:, i]))
        for i, (name, value) in enumerate(zip(measures, whole, strict=True))
    }


def compare_curves(
    first: SortedScores,
    second: SortedScores,
    measure: Measure = area_up_to_recall_0_4,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Return how much the first model's measure exceeds the second's, over the same bags in the same order."""
    if not np.array_equal(np.sort(first.positive_bag), np.sort(second.positive_bag)) or (
        (first.num_bags, first.num_unread) != (second.num_bags, second.num_unread)
    ):
        raise ValueError("the two models are not scored on the same bags")
    return paired_difference(
        first.num_bags,
        lambda weight_B: measure(first.curve(weight_B)),
        lambda weight_B: measure(second.curve(weight_B)),
        num_resamples,
        seed,
    )
