"""Any figure of any finished run, on the test part and on every resample of its bags.

Shapes: F facts of a set of marks, U their distinct bags, K resamples.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sayso.metrics.interval import resampled_weights
from sayso.metrics.kendall import BANDS
from sayso.reproduce.outcome import Outcome

AREA, PRECISION, TAU = "area_up_to_recall_0_4", "average_precision", "tau"


class Measure(NamedTuple):
    """An area, or pooled τ: by which marks, of which mechanism, on which band of the model's probabilities.

    With a `partner` only facts count that this variant, trained with the same seed, has in the band as well.
    """

    kind: str
    marks: str = ""
    mechanism: str = ""
    band: str = ""
    partner: str = ""


class Value(NamedTuple):
    """A figure, and the same figure of each resample; not a number where there is nothing to count."""

    point: float
    resampled_K: np.ndarray


class Sample:
    """The finished runs of the tables."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes = {(each.variant, each.seed): each for each in outcomes if each.is_finished and not each.label}
        self._values: dict[tuple[str, int, Measure], Value] = {}
        self._weights: dict[str, np.ndarray] = {}

    @cached_property
    def num_resamples(self) -> int:
        """K."""
        return min((len(each.resampled[AREA]) for each in self.outcomes.values()), default=0)

    def seeds(self, variants: Iterable[str]) -> list[int]:
        """Return the seeds with which all of the variants have a finished run."""
        wanted = set(variants)
        seeds = sorted({seed for _, seed in self.outcomes})
        return [seed for seed in seeds if all((name, seed) in self.outcomes for name in wanted)]

    def of_variant(self, variant: str) -> list[Outcome]:
        """Return the runs of a variant by seed."""
        return [self.outcomes[variant, seed] for seed in self.seeds([variant])]

    def value(self, variant: str, seed: int, measure: Measure) -> Value:
        """Return a figure of a run that is there."""
        key = variant, seed, measure
        if key not in self._values:
            self._values[key] = self._tau(*key) if measure.kind == TAU else self._area(*key)
        return self._values[key]

    def _area(self, variant: str, seed: int, measure: Measure) -> Value:
        outcome = self.outcomes[variant, seed]
        resampled = np.array(outcome.resampled[measure.kind][: self.num_resamples], np.float64)
        return Value(float(outcome.test[measure.kind]), resampled)

    def _tau(self, variant: str, seed: int, measure: Measure) -> Value:
        orders = self.outcomes[variant, seed].orders[measure.marks]
        is_in_F = self.holds(variant, seed, measure)
        bags = np.array(orders.bag_F, np.int64)
        unit_F = np.unique(bags, return_inverse=True)[1]
        net_F = np.where(is_in_F, orders.net[measure.mechanism], 0)
        tuples_F = np.where(is_in_F, orders.tuples_F, 0)
        weight_KU = self._weights_of(measure.marks, len(np.unique(bags)))
        net_U, tuples_U = (np.bincount(unit_F, each, minlength=weight_KU.shape[1]) for each in (net_F, tuples_F))
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled_K = (weight_KU @ net_U) / (weight_KU @ tuples_U)
            return Value(float(np.float64(net_F.sum()) / tuples_F.sum()), resampled_K)

    def holds(self, variant: str, seed: int, measure: Measure) -> np.ndarray:
        """Return which facts of a set of marks count for a τ."""
        band = BANDS[measure.band]
        names: Sequence[str] = [variant, measure.partner] if measure.partner else [variant]
        columns = [np.array(self.outcomes[name, seed].orders[measure.marks].probability_F) for name in names]
        is_in_F: np.ndarray = np.all([band.holds(column) for column in columns], axis=0)
        return is_in_F

    def _weights_of(self, marks: str, num_units: int) -> np.ndarray:
        """Return how often each resample draws each bag that has a marked tuple; the same for all runs."""
        if marks not in self._weights:
            drawn = resampled_weights(num_units, self.num_resamples, seed=0) if num_units else iter(())
            rows = [weight.astype(np.float32) for weight in drawn]
            self._weights[marks] = np.array(rows, np.float32).reshape(len(rows), num_units)
        return self._weights[marks]
