"""The interface of an aggregator, the closed form of its gradients, and the context that several kinds can add.

Shapes: B bags, N sentences in all bags, X any rows, D width of a sentence vector, R relations.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.layers import uniform_parameter
from sayso.model.ragged import bag_sum
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


class BagContext(nn.Module):
    """A term of the logit for the bag as a whole: the topic of its sentences, and how many there are.

    c_k = v_k · (mean of x_n) + w_k log N; a bag without sentences has c_k = 0. A knowledge base has many facts that no
    sentence of a bag states. Without this term, distant labels teach a model that some sentence states each of them,
    which contradicts people's marks.
    """

    def __init__(self, num_relations: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.direction_RD = uniform_parameter(num_relations, width, fan_in=width, generator=generator)
        self.size_R = nn.Parameter(torch.zeros(num_relations))

    def forward(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return c_BR."""
        total_BR = bag_sum(self.score(vector_ND), bags.bag_N, bags.num_bags)
        return self.of_total(total_BR, num_sentences(vector_ND, bags))

    def score(self, vector_ND: Tensor) -> Tensor:
        """Return x_n · v_k as [N, R]."""
        return vector_ND @ self.direction_RD.T

    def of_total(self, total_XR: Tensor, num_X1: Tensor) -> Tensor:
        """Return c_XR of `num_X1` sentences whose scores sum to `total_XR`."""
        num_X1 = num_X1.clamp(min=1.0)
        return total_XR / num_X1 + num_X1.log() * self.size_R

    def without_one(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return c_NR of each sentence's bag without it, in float64."""
        score_NR = self.score(vector_ND).double()
        total_NR = bag_sum(score_NR, bags.bag_N, bags.num_bags)[bags.bag_N] - score_NR
        return self.of_total(total_NR, num_sentences(vector_ND, bags)[bags.bag_N].double() - 1.0)

    def of_prefixes(self, vector_LD: Tensor, order_PL: Tensor) -> Tensor:
        """Return c_PLR of the first l + 1 sentences of each order of one bag's sentences, in float64."""
        total_PLR = self.score(vector_LD).double()[order_PL].cumsum(1)
        num_L1 = torch.arange(1.0, len(vector_LD) + 1, dtype=torch.float64, device=vector_LD.device)[:, None]
        return self.of_total(total_PLR, num_L1)


def num_sentences(vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return each bag's number of sentences as num_B1."""
    return bag_sum(torch.ones_like(vector_ND[:, 0]), bags.bag_N, bags.num_bags)[:, None]
