"""A term of the logit for the bag as a whole: the topic of its sentences, and how many there are.

A knowledge base has many facts that no sentence of a bag states. Without this term, distant labels teach a model that
some sentence states each of them, which contradicts people's marks.
Shapes: B bags, N sentences in all bags, X any rows, D width of a sentence vector, R relations.
"""

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.layers import uniform_parameter
from sayso.model.ragged import bag_sum


class BagContext(nn.Module):
    """c_k = v_k · (mean of x_n) + w_k log N; a bag without sentences has c_k = 0."""

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
