"""Gradients by automatic differentiation, one backward pass per relation: for aggregators without a closed form.

An aggregator that has none raises NotImplementedError in `influence`. Slow; also what the closed forms are tested
against. Shapes: N sentences of all bags together, D width of a sentence vector, R relations.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.extractor import Extractor
from sayso.model.kernels.bagwise import compiled_if_possible


def influence_of(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Influence | None:
    """Return the closed form of ∂o_k/∂x_n, None where the aggregator has none."""
    try:
        with compiled_if_possible(vector_ND.device):
            return extractor.aggregator.influence(vector_ND, bags, extractor.scorer)
    except NotImplementedError:
        return None


def saliency_from_autograd(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = ‖∂o_k/∂x_n‖₁."""
    return score_gradients(extractor, vector_ND, bags, lambda _, gradient_ND: gradient_ND.abs().sum(1))


def gradient_x_input_from_autograd(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = x_n · ∂o_k/∂x_n."""
    return score_gradients(extractor, vector_ND, bags, lambda input_ND, gradient_ND: (input_ND * gradient_ND).sum(1))


def score_gradients(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, score_of: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Return score_NR, made by `score_of` from the vectors and one relation's gradient with respect to them.

    Where gradients are enabled the scores can be differentiated in turn.
    """
    is_learning = torch.is_grad_enabled()
    with torch.enable_grad():
        if not (is_learning and vector_ND.requires_grad):
            vector_ND = vector_ND.detach().requires_grad_()
        logit_BR = extractor.classify(vector_ND, bags)
        columns = []
        for logit_B in logit_BR.unbind(1):
            (gradient_ND,) = torch.autograd.grad(logit_B.sum(), vector_ND, retain_graph=True, create_graph=is_learning)
            columns.append(score_of(vector_ND, gradient_ND))
        score_NR = torch.stack(columns, 1)
    return score_NR if is_learning else score_NR.detach()
