"""Precision and recall of scored facts: the curve, areas under it, precision at k, the best F1.

Everything is computed from one sorted pass over all (bag, relation) scores. Tied scores are one step of the curve, so
that no number depends on the order in which ties happen to lie. Where there is nothing to find (no positives), every
measure is not a number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, kw_only=True)
class PrecisionRecallCurve:
    """One step for each distinct score, from the highest down.

    `num_retrieved[i]` of the scores are at least `threshold[i]`, and `num_correct[i]` of those are positive.
    `num_positives` is the denominator of recall, which also counts facts that were never scored.
    """

    threshold: NDArray[np.float64]
    num_retrieved: NDArray[np.int64]
    num_correct: NDArray[np.int64]
    num_positives: int

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of the retrieved that are positive, at each step."""
        return self.num_correct / self.num_retrieved

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of all positives that are retrieved, at each step."""
        if self.num_positives == 0:
            return np.full(len(self.num_correct), np.nan)
        return self.num_correct / self.num_positives


def precision_recall_curve(
    scores: ArrayLike, labels: ArrayLike, num_positives: int | None = None
) -> PrecisionRecallCurve:
    """Return the curve over all scores, flattened, a positive being a label that is not 0.

    `num_positives` is the number of facts there are to find, where that is more than the positives among the scores.

    >>> precision_recall_curve([0.9, 0.5, 0.5], [1, 0, 1]).precision.tolist()
    [1.0, 0.6666666666666666]
    """
    flat_scores = np.asarray(scores, dtype=np.float64).ravel()
    is_positive = np.asarray(labels).ravel() != 0
    if flat_scores.shape != is_positive.shape:
        raise ValueError(f"{flat_scores.size:,} scores do not fit {is_positive.size:,} labels")
    if np.isnan(flat_scores).any():
        raise ValueError("a score is not a number")
    num_found = int(is_positive.sum())
    if num_positives is not None and num_positives < num_found:
        raise ValueError(f"{num_found:,} positives are scored, more than the {num_positives:,} there are said to be")
    # Ties are one step, so the sort need not be stable.
    order = np.argsort(-flat_scores)
    sorted_scores = flat_scores[order]
    is_last_of_tie = np.append(sorted_scores[1:] != sorted_scores[:-1], True)[: sorted_scores.size]
    last_of_tie = np.flatnonzero(is_last_of_tie)
    return PrecisionRecallCurve(
        threshold=sorted_scores[last_of_tie],
        num_retrieved=last_of_tie + 1,
        num_correct=np.cumsum(is_positive[order], dtype=np.int64)[last_of_tie],
        num_positives=num_found if num_positives is None else num_positives,
    )


def area_up_to_recall(curve: PrecisionRecallCurve, max_recall: float) -> float:
    """Return the step sum of precision over recall from 0 to `max_recall`, the last step clipped there.

    It is not divided by `max_recall`, which is therefore the most it can be. The paper's AUC is this at 0.4.

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
    """Return the share of positives among the k highest scores, or among all where there are fewer than k.

    A tie across the k-th place counts with its mean: the value expected when ties are put in random order.

    >>> precision_at(precision_recall_curve([2, 1, 1], [1, 1, 0]), 2)
    0.75
    """
    if k < 1:
        raise ValueError(f"precision at {k}: k is at least 1")
    if curve.num_positives == 0 or not curve.num_retrieved.size:
        return float("nan")
    depth = min(k, int(curve.num_retrieved[-1]))
    num_correct = np.interp(depth, np.append(0, curve.num_retrieved), np.append(0, curve.num_correct))
    return float(num_correct) / depth


def max_f1(curve: PrecisionRecallCurve) -> float:
    """Return the best harmonic mean of precision and recall over all thresholds, 0 where nothing is retrieved."""
    if curve.num_positives == 0:
        return float("nan")
    return float(np.max(2 * curve.num_correct / (curve.num_retrieved + curve.num_positives), initial=0.0))
