"""CNNs+ATT: attention weights the sentences of a bag separately for each relation (Lin et al. 2016).

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Aggregator, AggregatorConfig, BagContext, Influence, Pull, num_sentences
from sayso.model.layers import uniform_parameter
from sayso.model.ragged import bag_softmax, bag_sum
from sayso.model.relation import RelationScorer


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(AggregatorConfig):
    """Settings of attention; `context` adds a term for the bag as a whole to the logit (see `BagContext`).

    The paper's model has no such term. It can account for facts of the knowledge base that no sentence states, so marks
    can teach the weights which sentences do.
    """

    context: bool = False


class Attention(Aggregator):
    """Scores e_nk = x_n · A q_k with a diagonal A, a softmax over the bag, and the mean vector under it, per relation.

    With `context`, the logit has one more term, c_k (see `BagContext`).
    """

    def __init__(self, config: AttentionConfig, num_relations: int, width: int, generator: torch.Generator) -> None:
        super().__init__(config, num_relations, width, generator)
        self.query_RD = uniform_parameter(num_relations, width, fan_in=width, generator=generator)
        self.diagonal_D = nn.Parameter(torch.ones(width))
        self.context = BagContext(num_relations, width, generator) if config.context else None

    def forward(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return logit_BR."""
        logit_BR = scorer.score_mixed(vector_ND, self.weigh(vector_ND, bags, scorer), bags)
        return logit_BR if self.context is None else logit_BR + self.context(vector_ND, bags)

    def weigh(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return weight_NR; every bag's weights for a relation sum to one."""
        return bag_softmax(self.own_score(vector_ND, scorer), bags.bag_N, bags.num_bags)

    def own_score(self, vector_ND: Tensor, scorer: RelationScorer) -> Tensor:
        """Return e_NR, the scores before the softmax; the difference of two sentences' scores is the log-ratio of their
        weights.
        """
        del scorer
        return vector_ND @ self._direction_RD.T

    def influence(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Influence:
        """Return the terms of ∂o_k/∂x_n = α_nk [ g_k + (s_nk − s̄_k) A q_k ] with s_nk = x_n · g_k.

        With `context`, v_k / N is added.
        """
        score_NR = self.own_score(vector_ND, scorer)
        weight_NR = bag_softmax(score_NR, bags.bag_N, bags.num_bags)
        slope = scorer.slope_mixed(vector_ND, weight_NR, bags)
        match_NR = slope.match(vector_ND, bags)
        mean_BR = bag_sum(weight_NR * match_NR, bags.bag_N, bags.num_bags)
        pulls = [Pull(weight_NR * (match_NR - mean_BR[bags.bag_N]), self._direction_RD[None], score_NR)]
        if self.context is not None:
            share_N1 = (1.0 / num_sentences(vector_ND, bags).clamp(min=1.0))[bags.bag_N]
            share_NR = share_N1.expand_as(match_NR)
            pulls.append(Pull(share_NR, self.context.direction_RD[None], self.context.score(vector_ND)))
        return Influence(
            weight_NR=weight_NR,
            share_ND=vector_ND.new_ones(1, 1),
            slope=slope,
            match_NR=match_NR,
            pulls=tuple(pulls),
        )

    @property
    def _direction_RD(self) -> Tensor:
        return self.diagonal_D * self.query_RD
