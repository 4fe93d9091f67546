"""Gradient times input: how far a logit moves, to first order, with the size of a sentence's vector.

Shapes: N sentences of all bags together, D width of a sentence vector, R relations.
"""

from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor


def gradient_x_input(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = Σ_d x_nd ∂o_k/∂x_nd, signed, for every sentence and relation at once.

    From the closed form of the gradient, so that no backward pass is needed and a loss on the scores costs one
    backward pass, not two. Its own gradient is that of automatic differentiation applied twice.
    """
    parts = extractor.aggregator.influence(vector_ND, bags, extractor.scorer)
    return parts.weight_NR * parts.match_NR + parts.pull_NR * parts.lean_NR
