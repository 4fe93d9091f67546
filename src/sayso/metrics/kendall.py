"""Pairwise Kendall τ: does an explanation rank sentences marked rationale above those marked irrelevant?

A tuple is (bag, relation, rationale sentence, irrelevant sentence). τ = (concordant − discordant) / all tuples; a tie
is neither (the paper's expl-eval). Unlike tau-b against binary marks, it is 1 for every perfect order.
Shapes: F facts (bag, relation).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sayso.metrics.interval import (
    NUM_RESAMPLES,
    Difference,
    Interval,
    mean_over_units,
    paired_difference,
    ratio_over_units,
    unit_sums,
)
from sayso.metrics.rationale import MarkedFacts, tie_groups


class Band(NamedTuple):
    """A range of model probabilities that selects facts, both ends included."""

    low: float
    high: float

    def holds(self, probability_F: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which probabilities are in the band."""
        return (probability_F >= self.low) & (probability_F <= self.high)


HIGH = Band(0.76, 1.0)
LOW = Band(0.0, 0.25)
EVERY = Band(0.0, 1.0)
BANDS = {"H": HIGH, "L": LOW, "all": EVERY}
"""The paper's bands by name, and one for all facts."""


@dataclass(frozen=True, kw_only=True)
class TauCounts:
    """Concordant, discordant and tied tuples per fact; `tuples` is their sum."""

    concordant: NDArray[np.int64]
    discordant: NDArray[np.int64]
    ties: NDArray[np.int64]
    tuples: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TauFigures:
    """τ over a set of facts; only facts with tuples count. Values are None if there are no tuples.

    `pooled` counts every tuple once, `per_fact_mean` every fact once. `interval` is for `pooled`, over bags, and is
    None for fewer than two bags.
    """

    pooled: float | None
    per_fact_mean: float | None
    interval: Interval | None
    num_tuples: int
    num_ties: int
    num_facts: int
    num_bags: int


@dataclass(frozen=True, kw_only=True)
class TauComparison:
    """Pooled τ of two explanations on the tuples that both have in the band, and their paired difference."""

    first: float | None
    second: float | None
    difference: Difference
    num_tuples: int
    num_facts: int
    num_bags: int


def tau_counts(facts: MarkedFacts) -> TauCounts:
    """Return the counts of every fact; a fact without rationales or without irrelevant sentences has no tuples."""
    groups = tie_groups(facts)
    tuples = groups.per_fact(groups.num_rationale_G) * groups.per_fact(groups.num_irrelevant_G)
    discordant = groups.per_fact(groups.num_rationale_G * groups.irrelevant_before_G)
    ties = groups.per_fact(groups.num_rationale_G * groups.num_irrelevant_G)
    return TauCounts(concordant=tuples - discordant - ties, discordant=discordant, ties=ties, tuples=tuples)


def tau_figures(facts: MarkedFacts, band: Band = EVERY, num_resamples: int = NUM_RESAMPLES) -> TauFigures:
    """Return τ over the facts whose probability is in the band."""
    counts = tau_counts(facts)
    chosen = band.holds(facts.probability_F) & (counts.tuples > 0)
    net, tuples, bag = (counts.concordant - counts.discordant)[chosen], counts.tuples[chosen], facts.bag_F[chosen]
    pooled = ratio_over_units(net, tuples, bag, num_resamples)
    return TauFigures(
        pooled=pooled.value,
        per_fact_mean=mean_over_units(net / tuples, bag, num_resamples=0).value,
        interval=pooled.interval,
        num_tuples=int(tuples.sum()),
        num_ties=int(counts.ties[chosen].sum()),
        num_facts=len(tuples),
        num_bags=len(np.unique(bag)),
    )


def compare_tau(
    first: MarkedFacts, second: MarkedFacts, band: Band = HIGH, num_resamples: int = NUM_RESAMPLES
) -> TauComparison:
    """Compare the τ of two models (or mechanisms) on the facts that both have in the band.

    Both must have the same facts and sentences in the same order.
    """
    for name in ("mark_N", "start_F1", "bag_F"):
        if not np.array_equal(getattr(first, name), getattr(second, name)):
            raise ValueError(f"the marked facts do not match: {name} differs")
    counts = [tau_counts(first), tau_counts(second)]
    chosen = band.holds(first.probability_F) & band.holds(second.probability_F) & (counts[0].tuples > 0)
    tuples, bag = counts[0].tuples[chosen], first.bag_F[chosen]
    tuples_U = unit_sums(tuples, bag)
    net_U = [unit_sums((count.concordant - count.discordant)[chosen], bag) for count in counts]
    difference = paired_difference(
        len(tuples_U),
        lambda weight_U: (weight_U @ net_U[0]) / (weight_U @ tuples_U),
        lambda weight_U: (weight_U @ net_U[1]) / (weight_U @ tuples_U),
        num_resamples,
    )
    pooled = [float(net.sum() / tuples_U.sum()) if len(tuples) else None for net in net_U]
    return TauComparison(
        first=pooled[0],
        second=pooled[1],
        difference=difference,
        num_tuples=int(tuples.sum()),
        num_facts=len(tuples),
        num_bags=len(tuples_U),
    )
