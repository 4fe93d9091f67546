"""Calibration: are 80 % of the facts with probability 0.8 true?

One temperature, fitted on validation, corrects an over- or underconfident model; it does not change the ranking.
Shapes: P probabilities of (bag, relation), K bins.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_NUM_BINS = 10
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0
# This many halvings narrow the range of log temperature to less than 1e-11 of it.
_NUM_HALVINGS = 40


@dataclass(frozen=True, kw_only=True)
class ReliabilityCurve:
    """One point for each non-empty bin, in ascending order."""

    mean_probability: NDArray[np.float64]
    share_positive: NDArray[np.float64]
    num_facts: NDArray[np.int64]


def reliability_curve(probabilities: ArrayLike, labels: ArrayLike) -> ReliabilityCurve:
    """Return the curve over ten bins of equal width.

    A bin includes its lower end and excludes its upper one, except the last.

    >>> reliability_curve([0.11, 0.13, 1.0], [0, 1, 1]).share_positive.tolist()
    [0.5, 1.0]
    """
    probability_P, is_positive_P = _flat(probabilities, labels)
    if not ((probability_P >= 0) & (probability_P <= 1)).all():
        raise ValueError("a probability is not between 0 and 1")
    bin_P = np.searchsorted(np.arange(1, _NUM_BINS) / _NUM_BINS, probability_P, side="right")
    num_K = np.bincount(bin_P)
    filled = np.flatnonzero(num_K)
    return ReliabilityCurve(
        mean_probability=np.bincount(bin_P, weights=probability_P)[filled] / num_K[filled],
        share_positive=np.bincount(bin_P, weights=is_positive_P)[filled] / num_K[filled],
        num_facts=num_K[filled],
    )


def expected_calibration_error(curve: ReliabilityCurve) -> float | None:
    """Return the mean gap between a bin's share of positives and its mean probability, weighted by bin size.

    None without probabilities.
    """
    if not curve.num_facts.size:
        return None
    gap_K = np.abs(curve.share_positive - curve.mean_probability)
    return float(np.average(gap_K, weights=curve.num_facts))


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> float:
    """Return the T between 0.01 and 100 for which sigmoid(logit / T) gives the labels the highest likelihood.

    It is found by bisection, since the slope in 1/T never falls. A result at either end means that the data does not
    bound T (for example, every logit has the right sign). Infinite logits are the same at every T and are left out;
    without other logits T is 1.
    """
    logit_P, is_positive_P = _flat(logits, labels)
    if np.isnan(logit_P).any():
        raise ValueError("a logit is NaN")
    is_informative = np.isfinite(logit_P) & (logit_P != 0)
    logit_P, is_positive_P = logit_P[is_informative], is_positive_P[is_informative]
    if not logit_P.size:
        return 1.0
    low, high = np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)
    for _ in range(_NUM_HALVINGS):
        middle = (low + high) / 2
        # The slope of the loss in 1/T: above 0 the logits are scaled up too much, so T must grow.
        slope = np.sum(logit_P * (tempered_probability(logit_P, float(np.exp(middle))) - is_positive_P))
        low, high = (middle, high) if slope > 0 else (low, middle)
    return float(np.exp((low + high) / 2))


def tempered_probability(logits: ArrayLike, temperature: float) -> NDArray[np.float64]:
    """Return sigmoid(logit / temperature), accurate far from 0 and at infinity.

    >>> tempered_probability([0.0, np.inf, -np.inf], 2.0).tolist()
    [0.5, 1.0, 0.0]
    """
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    return np.asarray(np.exp(-np.logaddexp(0.0, -scaled)), dtype=np.float64)


def _flat(values: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    value_P, is_positive_P = np.asarray(values, dtype=np.float64).ravel(), np.asarray(labels).ravel() != 0
    if value_P.shape != is_positive_P.shape:
        raise ValueError(f"got {value_P.size:,} predictions, but {is_positive_P.size:,} labels")
    return value_P, is_positive_P
