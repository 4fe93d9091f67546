"""Map a bag's representation to one logit per relation, with or without the entity vectors (+E, Shahbazi et al. 2020).

Shapes: B bags, N sentences in all bags, D width of a vector, R relations, E entities, V width of an entity
vector.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.kernels.threads import is_compiled
from sayso.model.layers import uniform_parameter
from sayso.model.ragged import bag_match, bag_mix, bag_sum


class EntityProjection(nn.Module):
    """ReLU(W [x̄ ; v_i − v_j ; v_i ∘ v_j] + c), as wide as x̄.

    W is stored as two blocks, `text_DD` for x̄ and `pair_DV` for the entities, because the first is applied to
    sentences before they are mixed and the second once per bag. The entity vectors are frozen; row 0 is zeros.
    """

    entity_EV: Tensor

    def __init__(self, entity_EV: Tensor, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("entity_EV", entity_EV.detach().clone())
        # Each block is scaled for its own number of inputs, so that neither text nor entities dominate at first.
        entity_width = 2 * entity_EV.shape[1]
        self.text_DD = uniform_parameter(width, width, fan_in=width, generator=generator)
        self.pair_DV = uniform_parameter(width, entity_width, fan_in=max(entity_width, 1), generator=generator)
        self.bias_D = nn.Parameter(torch.zeros(width))

    def project_text(self, vector_ND: Tensor) -> Tensor:
        """Apply W's block for x̄ to each vector."""
        return vector_ND @ self.text_DD.T

    def project_pair(self, bags: BagIndex) -> Tensor:
        """Apply W's block for the entities to each bag's pair, and add c."""
        head_BV = nn.functional.embedding(bags.head_B, self.entity_EV)
        tail_BV = nn.functional.embedding(bags.tail_B, self.entity_EV)
        pair_BV = torch.cat([head_BV - tail_BV, head_BV * tail_BV], 1)
        return nn.functional.linear(pair_BV, self.pair_DV, self.bias_D)

    def before_relu(self, pooled_BD: Tensor, bags: BagIndex) -> Tensor:
        """Return W [x̄ ; …] + c for bags with one representation each."""
        return self.project_text(pooled_BD) + self.project_pair(bags)


class Slope(NamedTuple):
    """g_k = ∂o_k/∂x̄_k: r_k without +E and W_xᵀ(1[pre-activation > 0] ∘ r_k) with it, kept as factors.

    The indicator is treated as a constant, as in automatic differentiation.
    """

    relation_RD: Tensor
    gate: tuple[Tensor, Tensor] | None
    """Where the ReLU of +E is active, [B, R, D] (or [B, 1, D] with one representation for all relations), and W_x."""

    def of_bags(self, some: slice = slice(None)) -> Tensor:
        """Return g for some bags, [C, R, D]; [1, R, D] if it is the same for all."""
        if self.gate is None:
            return self.relation_RD[None]
        is_on, text_DD = self.gate
        return (_factor(is_on[some]) * self.relation_RD) @ text_DD

    def match(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return x_n · g_k for each sentence and relation."""
        if self.gate is None:
            return vector_ND @ self.relation_RD.T
        is_on, text_DD = self.gate
        # Projecting N vectors is less work than projecting B x R relations back.
        text_ND = vector_ND @ text_DD.T
        if is_on.shape[1] == 1:
            return (_factor(is_on)[bags.bag_N, 0] * text_ND) @ self.relation_RD.T
        if is_compiled(vector_ND.device):
            from sayso.model.kernels.gate import gated_match

            return gated_match(text_ND, is_on, self.relation_RD, bags)
        return bag_match(text_ND, _factor(is_on) * self.relation_RD, bags.bag_N)


def _factor(is_on: Tensor) -> Tensor:
    """Return 1 or 0: torch multiplies by bytes several times faster than by booleans."""
    return is_on.view(torch.uint8)


class RelationScorer(nn.Module):
    """o_k = x̄_k · r_k + b_k; with +E, x̄_k goes through the entity projection first.

    A bag has either one representation for all relations (`pooled_BD`) or one per relation, a mixture of its
    sentences by `weight_NR`.
    """

    def __init__(
        self,
        num_relations: int,
        width: int,
        entity: EntityProjection | None,
        initial_probability: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.relation_RD = uniform_parameter(num_relations, width, fan_in=width, generator=generator)
        # Facts are rare: starting at their frequency spares the first epochs pushing every logit down.
        logit = math.log(initial_probability / (1.0 - initial_probability))
        self.bias_R = nn.Parameter(torch.full((num_relations,), logit))
        self.entity = entity

    def score_pooled(self, pooled_BD: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR for bags with one representation each."""
        if self.entity is not None:
            pooled_BD = self.entity.before_relu(pooled_BD, bags).relu()
        return nn.functional.linear(pooled_BD, self.relation_RD, self.bias_R)

    def score_mixed(self, vector_ND: Tensor, weight_NR: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR for bags whose representation for relation k is the sum of the vectors weighted for k."""
        if self.entity is None:
            # The sum of weighted scores is the score of the weighted sum, and much smaller.
            match_NR = vector_ND @ self.relation_RD.T
            return bag_sum(weight_NR * match_NR, bags.bag_N, bags.num_bags) + self.bias_R
        # Projecting N sentences before mixing them is less work than projecting B x R mixtures.
        text_ND, pair_BD = self.entity.project_text(vector_ND), self.entity.project_pair(bags)
        if is_compiled(vector_ND.device):
            from sayso.model.kernels.gate import mixed_score

            return mixed_score(weight_NR, text_ND, pair_BD, self.relation_RD, bags) + self.bias_R
        state_BRD = bag_mix(weight_NR, text_ND, bags.bag_N, bags.num_bags) + pair_BD[:, None]
        return (state_BRD.relu() * self.relation_RD).sum(2) + self.bias_R

    def slope_pooled(self, pooled_BD: Tensor, bags: BagIndex) -> Slope:
        """Return g at these representations."""
        if self.entity is None:
            return Slope(self.relation_RD, None)
        with torch.no_grad():
            is_on_BD = self.entity.before_relu(pooled_BD, bags) > 0
        return Slope(self.relation_RD, (is_on_BD[:, None], self.entity.text_DD))

    def slope_mixed(self, vector_ND: Tensor, weight_NR: Tensor, bags: BagIndex) -> Slope:
        """Return g at the mixtures of the vectors."""
        if self.entity is None:
            return Slope(self.relation_RD, None)
        with torch.no_grad():
            text_ND, pair_BD = self.entity.project_text(vector_ND), self.entity.project_pair(bags)
            if is_compiled(vector_ND.device):
                from sayso.model.kernels.gate import mixed_gate

                is_on_BRD = mixed_gate(weight_NR, text_ND, pair_BD, bags)
            else:
                is_on_BRD = bag_mix(weight_NR, text_ND, bags.bag_N, bags.num_bags) + pair_BD[:, None] > 0
        return Slope(self.relation_RD, (is_on_BRD, self.entity.text_DD))
