"""Faithfulness of an explanation to the model: the effect of its top sentences on the prediction, and rank agreement.

Comprehensiveness and sufficiency follow DeYoung et al. 2020 (ERASER), with sentences as the units that are removed or
kept. Shapes: F facts (bag, relation), N sentences of all facts, concatenated.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sayso.metrics.interval import NUM_RESAMPLES, Estimate, mean_over_units

# Pairs are compared in blocks of rows, to limit the memory of bags with thousands of sentences.
_BLOCK = 256


@dataclass(frozen=True, kw_only=True)
class FaithfulnessFigures:
    """Means over facts, with intervals over bags.

    Comprehensiveness is how much the probability drops without the top sentences (higher is better), sufficiency how
    much it drops with them alone (lower is better; below 0, they are more convincing than the whole bag).
    """

    comprehensiveness: Estimate
    sufficiency: Estimate
    num_facts: int
    num_bags: int


@dataclass(frozen=True, kw_only=True)
class RankAgreement:
    """Mean rank correlation of two mechanisms within facts that have at least two sentences; None without such facts.

    `num_constant` facts are left out because one mechanism gives all their sentences the same score.
    """

    kendall_tau_b: float | None
    spearman: float | None
    num_facts: int
    num_constant: int


def comprehensiveness(full_F: ArrayLike, without_top_F: ArrayLike) -> NDArray[np.float64]:
    """Return for each fact the probability on the whole bag minus that on the bag without its top sentences.

    With the top sentences alone as the second argument, this is the sufficiency.
    """
    return np.asarray(full_F, dtype=np.float64) - np.asarray(without_top_F, dtype=np.float64)


def faithfulness_figures(
    full_F: ArrayLike,
    without_top_F: ArrayLike,
    only_top_F: ArrayLike,
    bag_F: NDArray[Any],
    num_resamples: int = NUM_RESAMPLES,
) -> FaithfulnessFigures:
    """Return mean comprehensiveness and sufficiency for one mechanism and one number of top sentences."""
    return FaithfulnessFigures(
        comprehensiveness=mean_over_units(comprehensiveness(full_F, without_top_F), bag_F, num_resamples),
        sufficiency=mean_over_units(comprehensiveness(full_F, only_top_F), bag_F, num_resamples),
        num_facts=len(bag_F),
        num_bags=len(np.unique(bag_F)),
    )


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's τ-b of two lists of scores, NaN if one is constant or there is only one score.

    >>> kendall_tau_b([1, 2, 3], [1, 3, 2]) == 1 / 3
    True
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    net = num_apart_first = num_apart_second = 0
    for start in range(0, len(a), _BLOCK):
        sign_a, sign_b = _order(a[start : start + _BLOCK], a), _order(b[start : start + _BLOCK], b)
        net += int(np.sum(sign_a * sign_b, dtype=np.int64))
        num_apart_first += int(np.count_nonzero(sign_a))
        num_apart_second += int(np.count_nonzero(sign_b))
    if not num_apart_first or not num_apart_second:
        return float("nan")
    return float(net / np.sqrt(float(num_apart_first * num_apart_second)))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's ρ with mean ranks for ties, NaN if one list is constant or there is only one score.

    >>> spearman([1, 2, 3], [1, 3, 2])
    0.5
    """
    a, b = _centred_ranks(first), _centred_ranks(second)
    spread = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / spread) if spread else float("nan")


def rank_agreement(first_N: ArrayLike, second_N: ArrayLike, start_F1: NDArray[np.integer]) -> RankAgreement:
    """Return the rank correlation of two mechanisms within facts; fact i has the sentences from `start_F1[i]` on."""
    first, second = np.asarray(first_N, dtype=np.float64), np.asarray(second_N, dtype=np.float64)
    if np.isnan(first).any() or np.isnan(second).any():
        raise ValueError("a score is NaN")
    if not len(first) == len(second) == start_F1[-1]:
        raise ValueError(f"got {len(first):,} and {len(second):,} scores for {start_F1[-1]:,} sentences")
    spans = [slice(start, stop) for start, stop in pairwise(start_F1) if stop - start >= 2]
    spans_apart = [span for span in spans if not _is_constant(first[span]) and not _is_constant(second[span])]
    if not spans_apart:
        return RankAgreement(kendall_tau_b=None, spearman=None, num_facts=0, num_constant=len(spans))
    return RankAgreement(
        kendall_tau_b=float(np.mean([kendall_tau_b(first[span], second[span]) for span in spans_apart])),
        spearman=float(np.mean([spearman(first[span], second[span]) for span in spans_apart])),
        num_facts=len(spans_apart),
        num_constant=len(spans) - len(spans_apart),
    )


def _is_constant(scores: NDArray[np.float64]) -> bool:
    return bool((scores == scores[0]).all())


def _order(row: NDArray[np.float64], column: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return 1, 0 or -1 for each pair; subtraction could overflow or lose small differences."""
    return (row[:, None] > column).astype(np.int8) - (row[:, None] < column).astype(np.int8)


def _centred_ranks(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the ranks minus their mean, with mean ranks for ties; importing scipy.stats for this takes a second."""
    _, group, count = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[group]
    return np.asarray(rank - (len(group) + 1) / 2, dtype=np.float64)
