"""Noisy-or: each sentence states the relation with its own probability, and one such sentence is enough.

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from sayso.config import Range, check_ranges
from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Aggregator, AggregatorConfig, BagContext, Influence, Pull, num_sentences
from sayso.model.ragged import bag_sum
from sayso.model.relation import RelationScorer, Slope


@dataclass(frozen=True, kw_only=True)
class NoisyOrConfig(AggregatorConfig):
    """`initial_probability` is the probability that an untrained model gives each sentence for each relation.

    The model also has a probability that a pair has the relation although no sentence states it, since distant labels
    need not be stated. With `context`, it depends on the mean vector and the number of the pair's sentences.
    """

    initial_probability: Annotated[float, Range(0, 1, above=True, below=True)] = 0.01
    context: bool = False

    def __post_init__(self) -> None:
        check_ranges(self)


class NoisyOr(Aggregator):
    """p_k = 1 − (1 − λ_k) Π_n (1 − σ(z_nk)) with z_nk = x_n · u_k + c_k.

    u_k is the relation's vector r_k, or W_xᵀ r_k with +E. λ_k is the probability without any stating sentence, from the
    relation's bias, with +E the entities, and with `context` v_k · mean of x_n + w_k log N.
    """

    def __init__(self, config: NoisyOrConfig, num_relations: int, width: int, generator: torch.Generator) -> None:
        super().__init__(config, num_relations, width, generator)
        logit = math.log(config.initial_probability / (1.0 - config.initial_probability))
        self.bias_R = nn.Parameter(torch.full((num_relations,), logit))
        self.context = BagContext(num_relations, width, generator) if config.context else None

    def forward(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return logit_BR."""
        return logit_of_surprise(self._surprise(vector_ND, bags, scorer))

    def weigh(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return weight_NR, each sentence's own probability, which does not depend on the bag."""
        del bags
        return self.own_score(vector_ND, scorer).sigmoid()

    def own_score(self, vector_ND: Tensor, scorer: RelationScorer) -> Tensor:
        """Return z_NR, the logit of each sentence's own probability."""
        return nn.functional.linear(vector_ND, _direction(scorer), self.bias_R)

    def influence(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Influence:
        """Return the terms of ∂o_k/∂x_n = (σ(z_nk) u_k + λ_k v_k / N) / p_k; the second one only with `context`."""
        probability_BR = -torch.expm1(-self._surprise(vector_ND, bags, scorer))
        weight_NR, direction_RD = self.weigh(vector_ND, bags, scorer), _direction(scorer)
        pulls: tuple[Pull, ...] = ()
        if self.context is not None:
            alone_BR = self._logit_alone(vector_ND, bags, scorer).sigmoid()
            change_BR = alone_BR / probability_BR / num_sentences(vector_ND, bags).clamp(min=1.0)
            lean_NR = self.context.score(vector_ND)
            pulls = (Pull(change_BR[bags.bag_N], self.context.direction_RD[None], lean_NR),)
        return Influence(
            weight_NR=weight_NR / probability_BR[bags.bag_N],
            share_ND=vector_ND.new_ones(1, 1),
            slope=Slope(direction_RD, None),
            match_NR=vector_ND @ direction_RD.T,
            pulls=pulls,
        )

    def _surprise(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return −log(1 − p_k)."""
        alone_BR, added_NR = self.surprises(vector_ND, bags, scorer)
        return alone_BR + bag_sum(added_NR, bags.bag_N, bags.num_bags)

    def surprises(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> tuple[Tensor, Tensor]:
        """Return the terms of −log(1 − p_k): −log(1 − λ_k) of each bag, and softplus(z_nk) of each sentence."""
        alone_BR = nn.functional.softplus(self._logit_alone(vector_ND, bags, scorer))
        return alone_BR, nn.functional.softplus(self.own_score(vector_ND, scorer))

    def _logit_alone(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return the logit of λ_k."""
        logit_BR = self.logit_of_pair(vector_ND, bags, scorer)
        return logit_BR if self.context is None else logit_BR + self.context(vector_ND, bags)

    def logit_of_pair(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return the part of the logit of λ_k that does not depend on the sentences, as logit_BR."""
        return scorer.score_pooled(vector_ND.new_zeros(bags.num_bags, vector_ND.shape[1]), bags)


def _direction(scorer: RelationScorer) -> Tensor:
    """Return u_RD, the direction in which a sentence vector counts as evidence."""
    if scorer.entity is None:
        return scorer.relation_RD
    return scorer.relation_RD @ scorer.entity.text_DD


def logit_of_surprise(surprise: Tensor) -> Tensor:
    """Return log(p / (1 − p)) from −log(1 − p)."""
    # log(eˢ − 1) = s + log(1 − e⁻ˢ), which never overflows.
    return surprise + torch.log(-torch.expm1(-surprise))
