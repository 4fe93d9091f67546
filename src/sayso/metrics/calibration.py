"""Calibration: are 80 % of the facts with probability 0.8 true?

One temperature, fitted on validation, corrects an over- or underconfident model; it does not change the ranking. An
affine map per relation also corrects how often each relation is predicted; it keeps the ranking within a relation.
Shapes: P probabilities of (bag, relation), B bags, R relations, K bins.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sayso.metrics.interval import NUM_RESAMPLES, Estimate, bootstrap, percentile_interval

_NUM_BINS = 10
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0
# This many halvings narrow the range of log temperature to less than 1e-11 of it.
_NUM_HALVINGS = 40
_POOLED_SPREAD = (1.0, 5.0)
"""Standard deviations of log scale and shift over data sets: the prior of the pooled map, around the identity."""
_RELATION_SPREAD = (0.25, 0.5)
"""The same over the relations of one data set: the prior of a relation's map, around the pooled one."""
_MOST_LOG_SCALE = 4.0


@dataclass(frozen=True, kw_only=True)
class ReliabilityCurve:
    """One point for each non-empty bin, in ascending order."""

    mean_probability: NDArray[np.float64]
    share_positive: NDArray[np.float64]
    num_facts: NDArray[np.int64] | NDArray[np.float64]


def reliability_curve(
    probabilities: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None
) -> ReliabilityCurve:
    """Return the curve over ten bins of equal width; each probability counts `weights` times, by default once.

    A bin includes its lower end and excludes its upper one, except the last.

    >>> reliability_curve([0.11, 0.13, 1.0], [0, 1, 1]).share_positive.tolist()
    [0.5, 1.0]
    """
    probability_P, is_positive_P = _flat(probabilities, labels)
    weight_P = None if weights is None else np.asarray(weights, np.float64).ravel()
    bin_P = _bins(probability_P)
    num_K = np.bincount(bin_P, weight_P)
    filled = np.flatnonzero(num_K)
    weight_P = np.ones(len(bin_P)) if weight_P is None else weight_P
    return ReliabilityCurve(
        mean_probability=np.bincount(bin_P, weight_P * probability_P)[filled] / num_K[filled],
        share_positive=np.bincount(bin_P, weight_P * is_positive_P)[filled] / num_K[filled],
        num_facts=num_K[filled],
    )


def _bins(probability_P: NDArray[np.float64]) -> NDArray[np.int64]:
    if not ((probability_P >= 0) & (probability_P <= 1)).all():
        raise ValueError("a probability is not between 0 and 1")
    return np.searchsorted(np.arange(1, _NUM_BINS) / _NUM_BINS, probability_P, side="right")


def expected_calibration_error(curve: ReliabilityCurve) -> float | None:
    """Return the mean gap between a bin's fraction of positives and its mean probability, weighted by bin size.

    None without probabilities.
    """
    if not curve.num_facts.size:
        return None
    gap_K = np.abs(curve.share_positive - curve.mean_probability)
    return float(np.average(gap_K, weights=curve.num_facts))


def calibration_error_over_bags(
    probability_BR: NDArray[np.float64],
    label_BR: NDArray[np.bool_],
    weight_B: NDArray[np.float64],
    num_resamples: int = NUM_RESAMPLES,
) -> Estimate:
    """Return the expected calibration error of (bag, relation) probabilities with its interval over the bags."""
    num_bags, num_relations = probability_BR.shape
    cell_P = np.repeat(np.arange(num_bags) * _NUM_BINS, num_relations) + _bins(probability_BR.ravel())
    gap_BR = (label_BR - probability_BR) * weight_B[:, None]
    gap_BK = np.bincount(cell_P, gap_BR.ravel(), num_bags * _NUM_BINS).reshape(-1, _NUM_BINS)
    mass_B = weight_B * num_relations

    def error(times_B: NDArray[np.int64]) -> float:
        mass = float(times_B @ mass_B)
        return float(np.abs(times_B @ gap_BK).sum()) / mass if mass else np.nan

    value = error(np.ones(num_bags, np.int64))
    return Estimate(None if np.isnan(value) else value, percentile_interval(bootstrap(num_bags, error, num_resamples)))


class AffineMaps(NamedTuple):
    """One map of the logit per relation: scale · logit + shift, with a positive scale."""

    scale_R: NDArray[np.float64]
    shift_R: NDArray[np.float64]


def fit_affine(logits: ArrayLike, labels: ArrayLike, weight_B: NDArray[np.float64]) -> AffineMaps:
    """Return the map of each relation's logits that makes its labels most probable, shrunk towards a pooled map.

    This is Platt's map (Platt 1999) with a prior. The pooled map maximises the likelihood of all labels, with a weak
    prior around the identity. Each relation's map maximises the likelihood of its own labels, with a prior around the
    pooled map: log scale ~ N(pooled, 0.25²), shift ~ N(pooled, 0.5²). A relation with few positive labels stays close
    to the pooled map. Scales are positive, so the order of a relation's logits is kept.

    `weight_B` is how many bags each bag stands for: 1/s for a bag that was sampled with probability s.
    """
    logit_BR, is_positive_BR = np.asarray(logits, np.float64), np.asarray(labels) != 0
    if logit_BR.shape != is_positive_BR.shape or len(weight_B) != len(logit_BR):
        raise ValueError(f"logits {logit_BR.shape}, labels {is_positive_BR.shape} and {len(weight_B)} weights differ")
    if not np.isfinite(logit_BR).all():
        raise ValueError("a logit is not finite")
    weight_BR = np.broadcast_to(np.asarray(weight_B, np.float64)[:, None], logit_BR.shape)
    pooled = _fit_map(logit_BR.ravel(), is_positive_BR.ravel(), weight_BR.ravel(), np.zeros(2), _POOLED_SPREAD)
    maps = [
        _fit_map(logit_B, is_positive_B, np.asarray(weight_B, np.float64), pooled, _RELATION_SPREAD)
        for logit_B, is_positive_B in zip(logit_BR.T, is_positive_BR.T, strict=True)
    ]
    log_scale_R, shift_R = np.array(maps, np.float64).reshape(-1, 2).T
    return AffineMaps(np.exp(log_scale_R), shift_R)


def _fit_map(
    logit_P: NDArray[np.float64],
    is_positive_P: NDArray[np.bool_],
    weight_P: NDArray[np.float64],
    centre: NDArray[np.float64],
    spread: tuple[float, float],
) -> NDArray[np.float64]:
    """Return log scale and shift with the highest posterior density, under a normal prior with this centre."""

    def loss(map_2: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scale, step_2 = np.exp(map_2[0]), (map_2 - centre) / spread
        mapped_P = scale * logit_P + map_2[1]
        excess_P = weight_P * (tempered_probability(mapped_P, 1.0) - is_positive_P)
        value = weight_P @ (np.logaddexp(0.0, mapped_P) - is_positive_P * mapped_P) + 0.5 * (step_2 @ step_2)
        return float(value), np.array([scale * (excess_P @ logit_P), excess_P.sum()]) + step_2 / spread

    bounds = [(-_MOST_LOG_SCALE, _MOST_LOG_SCALE), (None, None)]
    start = np.clip(centre, (-_MOST_LOG_SCALE, -np.inf), (_MOST_LOG_SCALE, np.inf))
    from scipy.optimize import minimize  # here, because it takes longer to load than most commands run

    found: NDArray[np.float64] = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


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
