"""Saliency: how much a logit can change when a sentence's vector moves slightly in any direction.

Shapes: N sentences in all bags, C of them at a time, D width of a sentence vector, R relations.
"""

import torch
from torch import Tensor

from sayso.explain.base import Explainer, scores_from_gradient
from sayso.features.batch import BagIndex
from sayso.memory import slices
from sayso.model.aggregators.base import Influence
from sayso.model.extractor import Extractor
from sayso.model.kernels.threads import is_compiled

VALUES_AT_A_TIME = 2**19
"""Maximum number of values in a [C, R, D] block of the gradient, chosen to fit the cache."""


def saliency(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = ‖∂o_k/∂x_n‖₁ (Shahbazi et al. 2020), from the closed form of the gradient."""
    return scores_from_gradient(extractor, vector_ND, bags, norms_of, lambda _, slope_ND: slope_ND.abs().sum(1))


def norms_of(parts: Influence, bags: BagIndex) -> Tensor:
    """Return ‖∂o_k/∂x_n‖₁ as [N, R]."""
    if len(parts.pulls) <= 1 and is_compiled(parts.match_NR.device):
        from sayso.explain.compiled import gradient_norms

        return gradient_norms(parts, bags)
    return plain_gradient_norms(parts, bags)


def plain_gradient_norms(parts: Influence, bags: BagIndex) -> Tensor:
    """Return ‖∂o_k/∂x_n‖₁ as [N, R] in plain torch, which can be differentiated."""
    score_NR, slope = torch.zeros_like(parts.match_NR), parts.slope.of_bags()
    at_a_time = max(1, VALUES_AT_A_TIME // max(1, slope[:1].numel()))
    for rows in slices(len(score_NR), at_a_time):
        change_CRD = parts.weight_NR[rows][:, :, None] * (slope if len(slope) == 1 else slope[bags.bag_N[rows]])
        if parts.share_ND.shape != (1, 1):
            change_CRD = change_CRD * parts.share_ND[rows][:, None]
        for pull in parts.pulls:
            direction_CRD = pull.direction_NRD if pull.direction_NRD.shape[0] == 1 else pull.direction_NRD[rows]
            change_CRD.addcmul_(pull.change_NR[rows][:, :, None], direction_CRD)
        # In place: small results between large blocks would stop the allocator from reusing the blocks.
        score_NR[rows] = change_CRD.abs_().sum(2)
    return score_NR


EXPLAINER = Explainer(
    saliency,
    is_signed=False,
    needs_gradient=True,
    about="the size of the gradient (L1 norm)",
    from_influence=norms_of,
)
