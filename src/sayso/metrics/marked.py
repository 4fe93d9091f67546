"""Facts whose sentences people have marked, with one explanation's scores: what τ and the rationale figures start from.

Shapes: F facts (bag, relation), N sentences of all facts end to end, G groups of tied sentences of one fact.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RATIONALE, IRRELEVANT, NEITHER = 1, 0, -1
"""A sentence's mark for a fact; neither is for sentences that nobody has marked or that people were unsure of."""


@dataclass(frozen=True, kw_only=True)
class MarkedFacts:
    """Fact i has the sentences from `start_F1[i]` up to `start_F1[i + 1]`, belongs to `bag_F[i]` and is held true with
    `probability_F[i]`. Scores of another explanation of the same facts: `dataclasses.replace(facts, score_N=...)`.
    """

    score_N: NDArray[np.floating]
    mark_N: NDArray[np.integer]
    start_F1: NDArray[np.integer]
    bag_F: NDArray[Any]
    probability_F: NDArray[np.floating]

    def __post_init__(self) -> None:
        if self.score_N.shape != self.mark_N.shape:
            raise ValueError(f"{self.score_N.size:,} scores do not fit {self.mark_N.size:,} marks")
        if not len(self.bag_F) == len(self.probability_F) == self.num_facts:
            raise ValueError(f"{self.num_facts:,} facts need as many bags and probabilities")
        if self.start_F1[0] != 0 or self.start_F1[-1] != self.score_N.size or (np.diff(self.start_F1) < 0).any():
            raise ValueError("the facts' starts do not go from 0 up to the number of sentences")
        if np.isnan(self.score_N).any():
            raise ValueError("a score is not a number")
        if not np.isin(self.mark_N, (RATIONALE, IRRELEVANT, NEITHER)).all():
            raise ValueError("a mark is none of 1 (rationale), 0 (irrelevant), -1 (neither)")

    @property
    def num_facts(self) -> int:
        """F."""
        return len(self.start_F1) - 1

    @property
    def fact_N(self) -> NDArray[np.int64]:
        """The fact each sentence belongs to."""
        return np.repeat(np.arange(self.num_facts), np.diff(self.start_F1))


class TieGroups(NamedTuple):
    """Sentences of one fact with one score, fact by fact and from the highest score down.

    `rationale_before_G` and `irrelevant_before_G` count the sentences of the same fact with a higher score.
    """

    fact_G: NDArray[np.int64]
    num_rationale_G: NDArray[np.int64]
    num_irrelevant_G: NDArray[np.int64]
    rationale_before_G: NDArray[np.int64]
    irrelevant_before_G: NDArray[np.int64]


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
    return TieGroups(
        fact_G, rationale_G, irrelevant_G, _sum_before(rationale_G, fact_G), _sum_before(irrelevant_G, fact_G)
    )


def _sum_before(count_G: NDArray[np.int64], fact_G: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum over the earlier groups of the same fact."""
    before_G = np.cumsum(count_G) - count_G
    return before_G - before_G[np.searchsorted(fact_G, fact_G)]
