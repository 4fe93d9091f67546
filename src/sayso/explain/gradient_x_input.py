"""Gradient times input: the first-order change of a logit when a sentence's vector is scaled.

Shapes: N sentences in all bags, D width of a sentence vector, R relations.
"""

from torch import Tensor

from sayso.explain.base import Explainer, scores_from_gradient
from sayso.features.batch import BagIndex
from sayso.model.aggregators.base import Influence
from sayso.model.extractor import Extractor


def gradient_x_input(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = Σ_d x_nd ∂o_k/∂x_nd, signed, for every sentence and relation at once.

    The closed form needs no backward pass, so a loss on the scores needs one backward pass instead of two. Its gradient
    equals the one from applying automatic differentiation twice.
    """
    return scores_from_gradient(
        extractor, vector_ND, bags, input_times_gradient, lambda x_ND, slope_ND: (x_ND * slope_ND).sum(1)
    )


def input_times_gradient(parts: Influence, bags: BagIndex) -> Tensor:
    """Return x_n · ∂o_k/∂x_n as [N, R]."""
    del bags
    through_scores = (pull.change_NR * pull.lean_NR for pull in parts.pulls)
    return sum(through_scores, start=parts.weight_NR * parts.match_NR)


EXPLAINER = Explainer(
    gradient_x_input,
    is_signed=True,
    needs_gradient=True,
    about="the vector times its gradient",
    from_influence=input_times_gradient,
)
