"""Gradient times input: how far a logit moves, to first order, with the size of a sentence's vector.

Shapes: N sentences of all bags together, D width of a sentence vector, R relations.
"""

from torch import Tensor

from sayso.explain.base import Explainer
from sayso.explain.from_autograd import gradient_x_input_from_autograd, influence_of
from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.extractor import Extractor


def gradient_x_input(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = Σ_d x_nd ∂o_k/∂x_nd, signed, for every sentence and relation at once.

    From the closed form of the gradient, so that no backward pass is needed and a loss on the scores costs one
    backward pass, not two. Its own gradient is that of automatic differentiation applied twice.
    """
    parts = influence_of(extractor, vector_ND, bags)
    if parts is None:
        return gradient_x_input_from_autograd(extractor, vector_ND, bags)
    return input_times_gradient(parts, bags)


def input_times_gradient(parts: Influence, bags: BagIndex) -> Tensor:
    """Return x_n · ∂o_k/∂x_n as [N, R]."""
    del bags
    return parts.weight_NR * parts.match_NR + parts.pull_NR * parts.lean_NR


EXPLAINER = Explainer(
    gradient_x_input,
    is_signed=True,
    needs_gradient=True,
    about="the vector times its gradient",
    from_influence=input_times_gradient,
)
