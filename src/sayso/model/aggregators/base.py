"""The interface of an aggregator, and the closed form of its gradients.

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.relation import RelationScorer, Slope


@dataclass(frozen=True, kw_only=True)
class AggregatorConfig:
    """The settings of an aggregator; each kind has its own."""


class Pull(NamedTuple):
    """The effect of a sentence on the logits through a score, x_n · direction, such as the score behind its weight."""

    change_NR: Tensor
    """The effect of a change in the score; [N, 1] if it is the same for all relations."""
    direction_NRD: Tensor
    """The gradient of the score: [1, R, D] or [N, 1, D]."""
    lean_NR: Tensor
    """x_n · direction; [N, 1] if it is the same for all relations."""


@dataclass(frozen=True, kw_only=True)
class Influence:
    """How each logit o_k of a bag depends on each of its sentence vectors x_n, in closed form.

    ∂o_k/∂x_n = weight · (share ∘ g_k) + Σ change · direction: through the representation, and through the scores in
    `pulls`. g_k is `slope`; a dimension that does not vary has size 1. The fields can be differentiated with respect to
    the vectors and the parameters; shares and ReLU indicators are treated as constants.
    """

    weight_NR: Tensor
    """The sentence's weight; [N, 1] if it is the same for all relations."""
    share_ND: Tensor
    """The share of each dimension that comes from this sentence; [1, 1] with a 1 if dimensions do not compete."""
    slope: Slope
    match_NR: Tensor
    """(share ∘ x_n) · g_k."""
    pulls: tuple[Pull, ...] = ()


class Aggregator(nn.Module, ABC):
    """Turns the sentence vectors of each bag into one logit per relation, with a weight for each sentence.

    The result depends neither on the order of the sentences nor on the other bags.
    """

    @abstractmethod
    def __init__(self, config: AggregatorConfig, num_relations: int, width: int, generator: torch.Generator) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return logit_BR."""

    @abstractmethod
    def weigh(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Tensor:
        """Return weight_NR, each sentence's weight for each relation; [N, 1] if all relations share it."""

    @abstractmethod
    def own_score(self, vector_ND: Tensor, scorer: RelationScorer) -> Tensor:
        """Return score_NR, a logit of how clearly each sentence alone states each relation; marks train these scores.

        A sentence's score depends on no other sentence, and within a bag the weights have the order of the scores.
        """

    @abstractmethod
    def influence(self, vector_ND: Tensor, bags: BagIndex, scorer: RelationScorer) -> Influence:
        """Return the closed form of ∂o_k/∂x_n for all sentences and relations.

        A kind without one raises `NotImplementedError`; explanations then use automatic differentiation.
        """

    def sentence_logit(self, vector_ND: Tensor) -> Tensor | None:
        """Return the logit that each sentence expresses some relation; None if the kind does not classify sentences."""
        del vector_ND
        return None
