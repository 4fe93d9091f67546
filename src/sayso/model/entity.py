"""+E: what is known about the two entities joins what the bag says (Shahbazi et al. 2020).

Shapes: B bags, D width of a bag's representation, E entities, V width of an entity vector.
"""

import torch
from torch import Tensor, nn

from sayso.features.batch import BagIndex
from sayso.model.initial import uniform_parameter


class EntityProjection(nn.Module):
    """ReLU(W [x̄ ; v_i − v_j ; v_i ∘ v_j] + c), of the width of x̄.

    W is kept as the part for x̄ (`text_DD`) and the part for the entities, because the first is applied to sentences
    before they are mixed and the second once per bag. The entity vectors are frozen; row 0 is zeros.
    """

    entity_EV: Tensor

    def __init__(self, entity_EV: Tensor, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("entity_EV", entity_EV.detach().clone())
        # Each part is drawn for its own number of inputs, so that neither text nor entities drown the other at first.
        entity_width = 2 * entity_EV.shape[1]
        self.text_DD = uniform_parameter(width, width, fan_in=width, generator=generator)
        self.pair_DV = uniform_parameter(width, entity_width, fan_in=max(entity_width, 1), generator=generator)
        self.bias_D = nn.Parameter(torch.zeros(width))

    def project_text(self, vector_ND: Tensor) -> Tensor:
        """Return W's part for x̄ applied to each vector."""
        return vector_ND @ self.text_DD.T

    def project_pair(self, bags: BagIndex) -> Tensor:
        """Return W's part for the entities applied to each bag's pair, and c."""
        head_BV = nn.functional.embedding(bags.head_B, self.entity_EV)
        tail_BV = nn.functional.embedding(bags.tail_B, self.entity_EV)
        pair_BV = torch.cat([head_BV - tail_BV, head_BV * tail_BV], 1)
        return nn.functional.linear(pair_BV, self.pair_DV, self.bias_D)
