"""How well an explanation's scores pick out the sentences that people marked as the rationale of a fact.

Within each fact the marked sentences are ranked by score; sentences marked neither have no rank. A tie has the value
expected when the tied sentences are put in random order, so constant scores give exactly what chance gives.
Shapes: F facts (bag, relation), G groups of tied sentences of one fact, P places in the groups.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sayso.metrics.interval import NUM_RESAMPLES, Estimate, mean_over_units
from sayso.metrics.marked import MarkedFacts, TieGroups, tie_groups


@dataclass(frozen=True, kw_only=True)
class RationaleFigures:
    """Means over the facts that have both rationale and irrelevant sentences, with intervals over bags."""

    average_precision: Estimate
    mean_reciprocal_rank: Estimate
    precision_at_1: Estimate
    num_facts: int
    num_bags: int


def rationale_figures(facts: MarkedFacts, num_resamples: int = NUM_RESAMPLES, seed: int = 0) -> RationaleFigures:
    """Return the three figures of the facts in which there is something to order; None where there is no such fact."""
    groups = tie_groups(facts)
    chosen = _has_both(groups, facts.num_facts)
    bag = facts.bag_F[chosen]

    def mean(value_F: NDArray[np.float64]) -> Estimate:
        return mean_over_units(value_F[chosen], bag, num_resamples, seed)

    return RationaleFigures(
        average_precision=mean(_average_precision(groups, facts.num_facts)),
        mean_reciprocal_rank=mean(_reciprocal_rank(groups, facts.num_facts)),
        precision_at_1=mean(_precision_at_1(groups, facts.num_facts)),
        num_facts=len(bag),
        num_bags=len(np.unique(bag)),
    )


def _has_both(groups: TieGroups, num_facts: int) -> NDArray[np.bool_]:
    num_rationale_F = np.bincount(groups.fact_G, weights=groups.num_rationale_G, minlength=num_facts)
    num_irrelevant_F = np.bincount(groups.fact_G, weights=groups.num_irrelevant_G, minlength=num_facts)
    return (num_rationale_F > 0) & (num_irrelevant_F > 0)


def _average_precision(groups: TieGroups, num_facts: int) -> NDArray[np.float64]:
    """Return the expected mean, over a fact's rationale sentences, of the precision at their ranks."""
    size_G = groups.num_rationale_G + groups.num_irrelevant_G
    group_P = np.repeat(np.arange(len(size_G)), size_G)
    # The place within its group, from 0.
    place_P = np.arange(len(group_P)) - (np.cumsum(size_G) - size_G)[group_P]
    rationale_P, size_P = groups.num_rationale_G[group_P], size_G[group_P]
    before_P = (groups.rationale_before_G + groups.irrelevant_before_G)[group_P]
    # If a place holds a rationale, each earlier place of its group holds one with this probability.
    share_P = (rationale_P - 1) / np.maximum(size_P - 1, 1)
    precision_P = (groups.rationale_before_G[group_P] + 1 + place_P * share_P) / (before_P + place_P + 1)
    gain_P = rationale_P / size_P * precision_P
    gain_F = np.bincount(groups.fact_G[group_P], weights=gain_P, minlength=num_facts)
    num_rationale_F = np.bincount(groups.fact_G, weights=groups.num_rationale_G, minlength=num_facts)
    return np.asarray(gain_F / np.maximum(num_rationale_F, 1), dtype=np.float64)


def _reciprocal_rank(groups: TieGroups, num_facts: int) -> NDArray[np.float64]:
    """Return the expected reciprocal of the rank of each fact's first rationale sentence, 0 where it has none."""
    value_F = np.zeros(num_facts)
    for g in np.flatnonzero((groups.num_rationale_G > 0) & (groups.rationale_before_G == 0)):
        num_rationale, num_irrelevant = groups.num_rationale_G[g], groups.num_irrelevant_G[g]
        # The first rationale comes after j irrelevant ones only if each of those drew an irrelevant place.
        j = np.arange(num_irrelevant + 1)
        left = num_rationale + num_irrelevant - j
        reached = np.cumprod(np.append(1.0, ((num_irrelevant - j) / left)[:-1]))
        rank = groups.irrelevant_before_G[g] + j + 1
        value_F[groups.fact_G[g]] = np.sum(reached * num_rationale / left / rank)
    return value_F


def _precision_at_1(groups: TieGroups, num_facts: int) -> NDArray[np.float64]:
    """Return the share of rationale sentences among those that tie for each fact's highest score."""
    fact_X, first_X = np.unique(groups.fact_G, return_index=True)
    value_F = np.zeros(num_facts)
    num_rationale_X, num_irrelevant_X = groups.num_rationale_G[first_X], groups.num_irrelevant_G[first_X]
    value_F[fact_X] = num_rationale_X / (num_rationale_X + num_irrelevant_X)
    return value_F
