"""Integrated gradients: gradient times input, averaged over the path from zero vectors to the actual ones.

Sundararajan, Taly, Yan 2017. The baseline is zero for all sentences of the bag, so a bag's scores sum to
o_k − o_k(zero vectors), up to the error of the integral. Shapes: B bags, N sentences of all bags together, D width of a
sentence vector, R relations.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from sayso.explain.base import Explainer
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor
from sayso.model.ragged import bag_sum

NUM_STEPS = 32


class IntegratedGradients(NamedTuple):
    """The scores, and how far their sum over each bag is from o_k − o_k(zero vectors)."""

    score_NR: Tensor
    error_BR: Tensor


def integrated_gradients(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = Σ_d x_nd ∫ ∂o_k/∂x_nd(t x) dt for t from 0 to 1, signed."""
    return integrated_gradients_with_error(extractor, vector_ND, bags).score_NR


@torch.no_grad()
def integrated_gradients_with_error(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, num_steps: int = NUM_STEPS
) -> IntegratedGradients:
    """Return the scores, by the midpoint rule with `num_steps` steps, and the error of their sum over each bag."""
    relation_RD = extractor.scorer.relation_RD
    score_NR = vector_ND.new_zeros(len(vector_ND), len(relation_RD))
    for step in range(num_steps):
        part = (step + 0.5) / num_steps
        # At the point t x, x · ∂o/∂x is gradient times input divided by t.
        score_NR += gradient_x_input(extractor, part * vector_ND, bags) / (part * num_steps)
    gain_BR = extractor.classify(vector_ND, bags) - extractor.classify(torch.zeros_like(vector_ND), bags)
    return IntegratedGradients(score_NR, bag_sum(score_NR, bags.bag_N, bags.num_bags) - gain_BR)


EXPLAINER = Explainer(
    integrated_gradients,
    is_signed=True,
    needs_gradient=True,
    about="gradient × input, averaged from zero to the vector",
)
