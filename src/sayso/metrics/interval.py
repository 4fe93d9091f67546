"""Confidence intervals: the bootstrap over whole units, and Wilson's interval for a proportion.

The unit is the bag (one entity pair), because the facts and sentences of one bag are not independent. A resample is a
weight per unit (how often it was drawn), so a metric made of sums is computed as a product, without copying data.
The same seed and number of units give the same resamples, so that comparisons of two models are paired.
Shapes: U units, F values (such as facts) that belong to units, K resamples.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sayso.seeding import sub_seed

NUM_RESAMPLES = 1_000
LEVEL = 0.95

Statistic = Callable[[NDArray[np.int64]], ArrayLike]
"""One or several metrics of the data with unit i repeated `weight_U[i]` times, NaN if undefined."""


class Interval(NamedTuple):
    """A 95 % confidence interval, from bootstrap percentiles or Wilson's formula."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A value and its interval, None if undefined."""

    value: float | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """First minus second value on the same units, with interval and p-value.

    `p_value` is two-sided: twice the smaller fraction of resamples on either side of 0 (those at 0 count on both), with
    one resample added to each count, so that it is never 0. All are None if there is nothing to compare.
    """

    value: float | None
    interval: Interval | None
    p_value: float | None


def resampled_weights(num_units: int, num_resamples: int, seed: int = 0) -> Iterator[NDArray[np.int64]]:
    """Yield, for each resample, how often each unit is drawn; each resample draws as many units as there are."""
    rng = np.random.default_rng(sub_seed(seed, "bootstrap"))
    for _ in range(num_resamples):
        yield np.bincount(rng.integers(num_units, size=num_units), minlength=num_units)


def bootstrap(num_units: int, statistic: Statistic, num_resamples: int = NUM_RESAMPLES) -> NDArray[np.float64]:
    """Return the statistic of every resample, one row each.

    With fewer than two units every row is NaN. Without resamples there are no rows.

    >>> bool(bootstrap(3, lambda weight_U: weight_U.sum()).std() == 0)
    True
    """
    if num_units < 2 or not num_resamples:
        whole = np.asarray(statistic(np.ones(num_units, dtype=np.int64)))
        return np.full((num_resamples, *whole.shape), np.nan)
    return np.array([statistic(weight) for weight in resampled_weights(num_units, num_resamples)], np.float64)


def percentile_interval(value_K: NDArray[np.float64]) -> Interval | None:
    """Return the middle 95 % of the resampled values, ignoring NaNs; None if all are NaN."""
    known = value_K[~np.isnan(value_K)]
    if not known.size:
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))


def wilson_interval(num_right: float, num: int) -> Interval | None:
    """Return Wilson's score interval of the proportion `num_right / num`, None if `num` is 0.

    It assumes independent trials and, unlike a bootstrap, has a width even if all or none are right.

    With p the proportion and z = 1.96: (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n) (Wilson 1927).

    >>> [round(end, 2) for end in wilson_interval(10, 10)]
    [0.72, 1.0]
    """
    if not num:
        return None
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = num_right / num
    centre = share + z * z / (2 * num)
    half = z * math.sqrt(share * (1 - share) / num + (z / (2 * num)) ** 2)
    low, high = ((centre + side * half) / (1 + z * z / num) for side in (-1, 1))
    return Interval(max(low, 0.0), min(high, 1.0))


def ratio_over_units(
    numerator_F: ArrayLike, denominator_F: ArrayLike, unit_F: NDArray[Any], num_resamples: int = NUM_RESAMPLES
) -> Estimate:
    """Return the sum of the numerators over the sum of the denominators, and its interval over the units."""
    numerator_U, denominator_U = unit_sums(numerator_F, unit_F), unit_sums(denominator_F, unit_F)
    if not denominator_U.sum():
        return Estimate(None, None)

    def ratio(weight_U: NDArray[np.int64]) -> float:
        total = float(weight_U @ denominator_U)
        return float(weight_U @ numerator_U) / total if total else np.nan

    values = bootstrap(len(numerator_U), ratio, num_resamples)
    return Estimate(float(numerator_U.sum() / denominator_U.sum()), percentile_interval(values))


def mean_over_units(value_F: ArrayLike, unit_F: NDArray[Any], num_resamples: int = NUM_RESAMPLES) -> Estimate:
    """Return the mean of the values, each counting once, and its interval over the units they belong to.

    >>> mean_over_units([1.0, 0.0, 0.5], np.array([4, 4, 7])).value
    0.5
    """
    return ratio_over_units(value_F, np.ones(len(unit_F)), unit_F, num_resamples)


def unit_sums(value_F: ArrayLike, unit_F: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of the values of each distinct unit, in the units' order."""
    _, index_F = np.unique(unit_F, return_inverse=True)
    return np.bincount(index_F, weights=np.asarray(value_F, dtype=np.float64)).astype(np.float64)


def paired_difference(
    num_units: int, first: Statistic, second: Statistic, num_resamples: int = NUM_RESAMPLES
) -> Difference:
    """Return the first metric minus the second, both on the same resamples."""

    def excess(weight_U: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(first(weight_U), dtype=np.float64) - np.asarray(second(weight_U), dtype=np.float64)

    value = float(excess(np.ones(num_units, dtype=np.int64))) if num_units else np.nan
    if np.isnan(value):
        return Difference(value=None, interval=None, p_value=None)
    return difference(value, bootstrap(num_units, excess, num_resamples))


def difference(value: float, value_K: NDArray[np.float64]) -> Difference:
    """Return a difference with its interval and p-value, given its resampled values; all None if it is NaN."""
    if np.isnan(value):
        return Difference(value=None, interval=None, p_value=None)
    return Difference(value=value, interval=percentile_interval(value_K), p_value=_two_sided(value_K))


def _two_sided(value_K: NDArray[np.float64]) -> float | None:
    known = value_K[~np.isnan(value_K)]
    if not known.size:
        return None
    smaller = min(int((known <= 0).sum()), int((known >= 0).sum()))
    return min(1.0, 2 * (smaller + 1) / (known.size + 1))
