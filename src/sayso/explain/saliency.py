"""Saliency: how far a logit can move with a small change of a sentence's vector, in whatever direction.

Shapes: N sentences of all bags together, C of them at a time, D width of a sentence vector, R relations.
"""

import torch
from torch import Tensor

from sayso.explain.base import Explainer
from sayso.explain.from_autograd import influence_of, saliency_from_autograd
from sayso.explain.slices import slices
from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.extractor import Extractor

VALUES_AT_A_TIME = 2**19
"""Values of the [C, R, D] gradient that are held at once: small enough for a processor's cache."""


def saliency(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = ‖∂o_k/∂x_n‖₁ (Shahbazi et al. 2020), from the closed form of the gradient."""
    parts = influence_of(extractor, vector_ND, bags)
    if parts is None:
        return saliency_from_autograd(extractor, vector_ND, bags)
    score_NR = torch.zeros_like(parts.match_NR)
    at_a_time = max(1, VALUES_AT_A_TIME // max(1, score_NR.shape[1] * vector_ND.shape[1]))
    for rows in slices(len(vector_ND), at_a_time):
        # In place: small results kept between large blocks would keep the allocator from using these again.
        score_NR[rows] = _norm(parts, bags.bag_N, rows)
    return score_NR


def _norm(parts: Influence, bag_N: Tensor, rows: slice) -> Tensor:
    slope = parts.slope if parts.slope.ndim == 2 else parts.slope[bag_N[rows]]
    through_CRD = parts.weight_NR[rows][:, :, None] * slope
    if parts.share_ND.shape[0] > 1 or parts.share_ND.shape[1] > 1:
        through_CRD = through_CRD * parts.share_ND[rows][:, None]
    direction_CRD = parts.direction_NRD if parts.direction_NRD.shape[0] == 1 else parts.direction_NRD[rows]
    return through_CRD.addcmul_(parts.pull_NR[rows][:, :, None], direction_CRD).abs_().sum(2)


EXPLAINER = Explainer(saliency, is_signed=False, needs_gradient=True, about="the size of the gradient (L1 norm)")
