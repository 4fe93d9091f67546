"""How well an explanation's scores pick out the sentences that people marked as the rationale of a fact.

Within each fact the marked sentences are ranked by score; unmarked ones have no rank. Ties get their expected value in
random order, so constant scores give exactly the chance level.

Pairwise Kendall τ: does an explanation rank sentences marked rationale above those marked irrelevant? A tuple is (bag,
relation, rationale sentence, irrelevant sentence). τ = (concordant − discordant) / all tuples; a tie is neither (the
paper's expl-eval). Unlike tau-b against binary marks, it is 1 for every perfect order.

Shapes: F facts (bag, relation), N sentences of all facts, concatenated, G groups of tied sentences of one fact, P
positions in the groups, U units (bags).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sayso.metrics.interval import (
    NUM_RESAMPLES,
    Difference,
    Estimate,
    Interval,
    mean_over_units,
    paired_difference,
    ratio_over_units,
    unit_sums,
)

RATIONALE, IRRELEVANT, NEITHER = 1, 0, -1
"""A sentence's mark for a fact; `NEITHER` if nobody marked it, or annotators were unsure."""


@dataclass(frozen=True, kw_only=True)
class MarkedFacts:
    """Facts with marked sentences, and the scores of one explanation.

    Fact i has the sentences from `start_F1[i]` up to `start_F1[i + 1]`, belongs to `bag_F[i]` and has the probability
    `probability_F[i]`.
    """

    score_N: NDArray[np.floating]
    mark_N: NDArray[np.integer]
    start_F1: NDArray[np.integer]
    bag_F: NDArray[Any]
    probability_F: NDArray[np.floating]

    def __post_init__(self) -> None:
        if self.score_N.shape != self.mark_N.shape:
            raise ValueError(f"got {self.score_N.size:,} scores, but {self.mark_N.size:,} marks")
        if not len(self.bag_F) == len(self.probability_F) == self.num_facts:
            raise ValueError(f"expected one bag and one probability for each of {self.num_facts:,} facts")
        if self.start_F1[0] != 0 or self.start_F1[-1] != self.score_N.size or (np.diff(self.start_F1) < 0).any():
            raise ValueError("start_F1 must increase from 0 to the number of sentences")
        if np.isnan(self.score_N).any():
            raise ValueError("a score is NaN")
        if not np.isin(self.mark_N, (RATIONALE, IRRELEVANT, NEITHER)).all():
            raise ValueError("a mark must be 1 (rationale), 0 (irrelevant) or -1 (neither)")

    @property
    def num_facts(self) -> int:
        """F."""
        return len(self.start_F1) - 1

    @property
    def fact_N(self) -> NDArray[np.int64]:
        """The fact each sentence belongs to."""
        return np.repeat(np.arange(self.num_facts), np.diff(self.start_F1))


class TieGroups(NamedTuple):
    """Sentences of one fact with equal scores, fact by fact and in descending order of score.

    `rationale_before_G` and `irrelevant_before_G` count the sentences of the same fact with a higher score.
    """

    num_facts: int
    fact_G: NDArray[np.int64]
    num_rationale_G: NDArray[np.int64]
    num_irrelevant_G: NDArray[np.int64]
    rationale_before_G: NDArray[np.int64]
    irrelevant_before_G: NDArray[np.int64]

    def per_fact(self, count_G: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the counts of each fact's groups."""
        return np.bincount(self.fact_G, weights=count_G, minlength=self.num_facts).astype(np.int64)


def tie_groups(facts: MarkedFacts) -> TieGroups:
    """Return the groups of tied sentences; sentences marked neither are left out."""
    is_marked = facts.mark_N != NEITHER
    fact, score, mark = facts.fact_N[is_marked], facts.score_N[is_marked], facts.mark_N[is_marked]
    order = np.lexsort((-score, fact))
    fact, score, mark = fact[order], score[order], mark[order]
    is_first = np.append(True, (fact[1:] != fact[:-1]) | (score[1:] != score[:-1]))[: len(fact)]
    first_G = np.flatnonzero(is_first)
    fact_G = fact[first_G]
    num_G = np.diff(first_G, append=len(fact))
    rationale_G = np.diff(np.append(0, np.cumsum(mark == RATIONALE))[np.append(first_G, len(fact))])
    irrelevant_G = num_G - rationale_G
    before = _sum_before(rationale_G, fact_G), _sum_before(irrelevant_G, fact_G)
    return TieGroups(facts.num_facts, fact_G, rationale_G, irrelevant_G, *before)


def _sum_before(count_G: NDArray[np.int64], fact_G: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum over the earlier groups of the same fact."""
    before_G = np.cumsum(count_G) - count_G
    return before_G - before_G[np.searchsorted(fact_G, fact_G)]


@dataclass(frozen=True, kw_only=True)
class RationaleFigures:
    """Means over the facts that have both rationale and irrelevant sentences, with intervals over bags."""

    average_precision: Estimate
    mean_reciprocal_rank: Estimate
    precision_at_1: Estimate
    num_facts: int
    num_bags: int


def rationale_figures(facts: MarkedFacts, num_resamples: int = NUM_RESAMPLES) -> RationaleFigures:
    """Return the three metrics over facts with both kinds of sentences, None if there are no such facts."""
    groups = tie_groups(facts)
    chosen = (groups.per_fact(groups.num_rationale_G) > 0) & (groups.per_fact(groups.num_irrelevant_G) > 0)
    bag = facts.bag_F[chosen]

    def mean(value_F: NDArray[np.float64]) -> Estimate:
        return mean_over_units(value_F[chosen], bag, num_resamples)

    return RationaleFigures(
        average_precision=mean(_average_precision(groups)),
        mean_reciprocal_rank=mean(_reciprocal_rank(groups)),
        precision_at_1=mean(_precision_at_1(groups)),
        num_facts=len(bag),
        num_bags=len(np.unique(bag)),
    )


def _average_precision(groups: TieGroups) -> NDArray[np.float64]:
    """Return the expected mean, over a fact's rationale sentences, of the precision at their ranks."""
    size_G = groups.num_rationale_G + groups.num_irrelevant_G
    group_P = np.repeat(np.arange(len(size_G)), size_G)
    # The position within its group, from 0.
    place_P = np.arange(len(group_P)) - (np.cumsum(size_G) - size_G)[group_P]
    rationale_P, size_P = groups.num_rationale_G[group_P], size_G[group_P]
    before_P = (groups.rationale_before_G + groups.irrelevant_before_G)[group_P]
    # Given a rationale at a position, each earlier position of its group is a rationale with this probability.
    share_P = (rationale_P - 1) / np.maximum(size_P - 1, 1)
    precision_P = (groups.rationale_before_G[group_P] + 1 + place_P * share_P) / (before_P + place_P + 1)
    gain_P = rationale_P / size_P * precision_P
    gain_F = np.bincount(groups.fact_G[group_P], weights=gain_P, minlength=groups.num_facts)
    return np.asarray(gain_F / np.maximum(groups.per_fact(groups.num_rationale_G), 1), dtype=np.float64)


def _reciprocal_rank(groups: TieGroups) -> NDArray[np.float64]:
    """Return the expected reciprocal rank of each fact's first rationale sentence, 0 if it has none."""
    value_F = np.zeros(groups.num_facts)
    for g in np.flatnonzero((groups.num_rationale_G > 0) & (groups.rationale_before_G == 0)):
        num_rationale, num_irrelevant = groups.num_rationale_G[g], groups.num_irrelevant_G[g]
        # The first rationale comes after j irrelevant ones if the first j positions are all irrelevant.
        j = np.arange(num_irrelevant + 1)
        left = num_rationale + num_irrelevant - j
        reached = np.cumprod(np.append(1.0, ((num_irrelevant - j) / left)[:-1]))
        rank = groups.irrelevant_before_G[g] + j + 1
        value_F[groups.fact_G[g]] = np.sum(reached * num_rationale / left / rank)
    return value_F


def _precision_at_1(groups: TieGroups) -> NDArray[np.float64]:
    """Return the fraction of rationale sentences among those that tie for each fact's highest score."""
    fact_X, first_X = np.unique(groups.fact_G, return_index=True)
    value_F = np.zeros(groups.num_facts)
    num_rationale_X, num_irrelevant_X = groups.num_rationale_G[first_X], groups.num_irrelevant_G[first_X]
    value_F[fact_X] = num_rationale_X / (num_rationale_X + num_irrelevant_X)
    return value_F


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
