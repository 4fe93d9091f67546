"""Differences between runs, with an interval over seeds and test pairs.

A contrast is a weighted sum of metrics, such as one variant's AUC minus another's, computed seed by seed: both variants
were trained with the same seed and evaluated on the same pairs. Its variance is the sum of two parts: the sample
variance over seeds divided by the number of seeds, and the bootstrap variance over bags. The interval uses Student's t
with Welch-Satterthwaite degrees of freedom, treating the bootstrap variance as known.
Shapes: F facts in a set of marks, U their distinct bags, S seeds, K resamples.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import stats

from sayso.metrics.interval import resampled_weights
from sayso.metrics.rationale import BANDS
from sayso.reproduce.folder import RunResult

AREA, PRECISION, TAU = "area_up_to_recall_0_4", "average_precision", "tau"
LEVEL = 0.95


class Measure(NamedTuple):
    """An area, or pooled τ for a set of marks, a mechanism and a band of the model's probabilities.

    With a `partner`, only facts that are also in the band of that variant, trained with the same seed, count.
    """

    kind: str
    marks: str = ""
    mechanism: str = ""
    band: str = ""
    partner: str = ""


class Term(NamedTuple):
    """A variant's metric and its weight in a contrast."""

    weight: float
    variant: str
    measure: Measure


class Contrast(NamedTuple):
    """A weighted sum of metrics; `name` says what is compared."""

    name: str
    terms: tuple[Term, ...]


class Value(NamedTuple):
    """A metric, and its value on each resample; NaN if there is nothing to count."""

    point: float
    resampled_K: np.ndarray


@dataclass(frozen=True, kw_only=True)
class ContrastEstimate:
    """A value with its interval, whose ends are infinite if its width is unknown."""

    name: str
    value: float
    low: float
    high: float
    num_seeds: int


class Sample:
    """Metrics of all finished runs in the tables, on the test part and on every resample of its bags."""

    def __init__(self, results: Iterable[RunResult]) -> None:
        self.results = {(each.variant, each.seed): each for each in results if each.is_finished and not each.label}
        self._values: dict[tuple[str, int, Measure], Value] = {}
        self._weights: dict[str, np.ndarray] = {}

    @cached_property
    def num_resamples(self) -> int:
        """K, the number of resamples."""
        return min((len(each.resampled[AREA]) for each in self.results.values()), default=0)

    def seeds(self, variants: Iterable[str]) -> list[int]:
        """Return the seeds for which all of the variants have a finished run."""
        wanted = set(variants)
        seeds = sorted({seed for _, seed in self.results})
        return [seed for seed in seeds if all((name, seed) in self.results for name in wanted)]

    def of_variant(self, variant: str) -> list[RunResult]:
        """Return the runs of a variant in order of seed."""
        return [self.results[variant, seed] for seed in self.seeds([variant])]

    def value(self, variant: str, seed: int, measure: Measure) -> Value:
        """Return a metric of a finished run."""
        key = variant, seed, measure
        if key not in self._values:
            self._values[key] = self._tau(*key) if measure.kind == TAU else self._area(*key)
        return self._values[key]

    def _area(self, variant: str, seed: int, measure: Measure) -> Value:
        result = self.results[variant, seed]
        resampled = np.array(result.resampled[measure.kind][: self.num_resamples], np.float64)
        return Value(float(result.test[measure.kind]), resampled)

    def _tau(self, variant: str, seed: int, measure: Measure) -> Value:
        orders = self.results[variant, seed].orders[measure.marks]
        is_in_F = self.in_band(variant, seed, measure)
        bags, unit_F = np.unique(np.array(orders.bag_F, np.int64), return_inverse=True)
        net_F = np.where(is_in_F, orders.net[measure.mechanism], 0)
        tuples_F = np.where(is_in_F, orders.tuples_F, 0)
        weight_KU = self._weights_of(measure.marks, len(bags))
        net_U, tuples_U = (np.bincount(unit_F, each, minlength=len(bags)) for each in (net_F, tuples_F))
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled_K = (weight_KU @ net_U) / (weight_KU @ tuples_U)
            return Value(float(np.float64(net_F.sum()) / tuples_F.sum()), resampled_K)

    def in_band(self, variant: str, seed: int, measure: Measure) -> np.ndarray:
        """Return which facts in a set of marks count towards τ."""
        names = [variant, measure.partner] if measure.partner else [variant]
        columns = [np.array(self.results[name, seed].orders[measure.marks].probability_F) for name in names]
        is_in_F: np.ndarray = np.all([BANDS[measure.band].holds(column) for column in columns], axis=0)
        return is_in_F

    def _weights_of(self, marks: str, num_units: int) -> np.ndarray:
        """Return how often each resample draws each bag that has a marked tuple; all runs share these weights."""
        if marks not in self._weights:
            drawn = resampled_weights(num_units, self.num_resamples, seed=0) if num_units else iter(())
            rows = [weight.astype(np.float32) for weight in drawn]
            self._weights[marks] = np.array(rows, np.float32).reshape(len(rows), num_units)
        return self._weights[marks]


def estimate(sample: Sample, contrasts: Sequence[Contrast], name: str, level: float = LEVEL) -> ContrastEstimate | None:
    """Return the mean over the contrasts and the seeds, None if one of them has no value."""
    seeds = sample.seeds({term.variant for each in contrasts for term in each.terms})
    if not seeds or not contrasts:
        return None
    values = [[_value(sample, each, seed) for each in contrasts] for seed in seeds]
    point_S = np.array([[point for point, _ in row] for row in values]).mean(1)
    if not np.isfinite(point_S).all():
        return None
    resampled_K = np.mean([[resampled for _, resampled in row] for row in values], axis=(0, 1))
    half = _half_width(point_S, resampled_K[np.isfinite(resampled_K)], level)
    value = float(point_S.mean())
    return ContrastEstimate(name=name, value=value, low=value - half, high=value + half, num_seeds=len(seeds))


def _value(sample: Sample, contrast: Contrast, seed: int) -> tuple[float, np.ndarray]:
    found = [(term.weight, sample.value(term.variant, seed, term.measure)) for term in contrast.terms]
    point = sum(weight * value.point for weight, value in found)
    return point, np.sum([weight * value.resampled_K for weight, value in found], axis=0)


def _half_width(point_S: np.ndarray, resampled_K: np.ndarray, level: float) -> float:
    if len(resampled_K) < 2:
        return math.inf
    over_bags = float(resampled_K.var(ddof=1))
    over_seeds = float(point_S.var(ddof=1)) / len(point_S) if len(point_S) > 1 else 0.0
    both = over_bags + over_seeds
    freedom = both**2 * (len(point_S) - 1) / over_seeds**2 if over_seeds else math.inf
    return float(stats.t.ppf((1 + level) / 2, freedom)) * math.sqrt(both)
