"""Differences between runs with an interval that knows of other seeds and of other test pairs.

A contrast is a weighted sum of figures, such as AUC of one variant minus AUC of another, taken seed by seed: both were
trained with the same seed and judged on the same pairs. Its variance has two parts that add up: that of the mean over
seeds (their sample variance over their number), and that over bags (the bootstrap of the mean). The interval is
Student's with Welch and Satterthwaite's degrees of freedom, the bootstrap's part counting as known.
Shapes: S seeds, C contrasts, K resamples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from sayso.reproduce.sample import Measure, Sample

LEVEL = 0.95


class Term(NamedTuple):
    """A figure of a variant, and how often it counts."""

    weight: float
    variant: str
    measure: Measure


class Contrast(NamedTuple):
    """A weighted sum of figures; `name` says what is compared."""

    name: str
    terms: tuple[Term, ...]

    @property
    def variants(self) -> set[str]:
        """The variants it needs."""
        return {term.variant for term in self.terms}


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """A value with the ends of its interval; the ends are infinite where there is nothing to estimate them from."""

    name: str
    value: float
    low: float
    high: float
    num_seeds: int


def estimate(sample: Sample, contrasts: Sequence[Contrast], name: str, level: float = LEVEL) -> Estimated | None:
    """Return the mean of the contrasts over themselves and the seeds; None where one of them has no figure."""
    seeds = sample.seeds(set().union(*(each.variants for each in contrasts)))
    if not seeds or not contrasts:
        return None
    values = [[_value(sample, each, seed) for each in contrasts] for seed in seeds]
    point_S = np.array([[point for point, _ in row] for row in values]).mean(1)
    if not np.isfinite(point_S).all():
        return None
    resampled_K = np.mean([[resampled for _, resampled in row] for row in values], axis=(0, 1))
    half = _half_width(point_S, resampled_K[np.isfinite(resampled_K)], level)
    value = float(point_S.mean())
    return Estimated(name=name, value=value, low=value - half, high=value + half, num_seeds=len(seeds))


def _value(sample: Sample, contrast: Contrast, seed: int) -> tuple[float, np.ndarray]:
    found = [(term.weight, sample.value(term.variant, seed, term.measure)) for term in contrast.terms]
    point = sum(weight * value.point for weight, value in found)
    return point, np.sum([weight * value.resampled_K for weight, value in found], axis=0)


def _half_width(point_S: np.ndarray, resampled_K: np.ndarray, level: float) -> float:
    """Return half the width of the interval."""
    if len(resampled_K) < 2:
        return math.inf
    over_bags = float(resampled_K.var(ddof=1))
    over_seeds = float(point_S.var(ddof=1)) / len(point_S) if len(point_S) > 1 else 0.0
    both = over_bags + over_seeds
    freedom = both**2 * (len(point_S) - 1) / over_seeds**2 if over_seeds else math.inf
    return float(stats.t.ppf((1 + level) / 2, freedom)) * math.sqrt(both)
