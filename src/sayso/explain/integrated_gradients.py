"""Integrated gradients: gradient times input, averaged over the path from zero vectors to the actual ones.

Sundararajan, Taly, Yan 2017. The baseline is zero for all sentences of the bag, so a bag's scores sum to
o_k − o_k(zero vectors), up to the error of the integral. Shapes: N sentences in all bags, D width of a
sentence vector, R relations.
"""

import torch
from torch import Tensor

from sayso.explain.base import Explainer
from sayso.explain.gradient_x_input import gradient_x_input
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor

NUM_STEPS = 32


@torch.no_grad()
def integrated_gradients(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, num_steps: int = NUM_STEPS) -> Tensor:
    """Return score_NR = Σ_d x_nd ∫ ∂o_k/∂x_nd(t x) dt for t from 0 to 1, signed, by the midpoint rule."""
    score_NR = vector_ND.new_zeros(len(vector_ND), len(extractor.scorer.relation_RD))
    for step in range(num_steps):
        part = (step + 0.5) / num_steps
        # At the point t x, x · ∂o/∂x is gradient times input divided by t.
        score_NR += gradient_x_input(extractor, part * vector_ND, bags) / (part * num_steps)
    return score_NR


EXPLAINER = Explainer(
    integrated_gradients,
    is_signed=True,
    needs_gradient=True,
    about="gradient × input, averaged from zero to the vector",
)
