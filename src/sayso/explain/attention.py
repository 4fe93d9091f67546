"""Attention: the weight that the model gives a sentence.

Shapes: N sentences in all bags, D width of a sentence vector, R relations.
"""

from torch import Tensor

from sayso.explain.base import Explainer
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor


def attention(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = α_nk, equal for all relations if the aggregator has one weight per sentence (DirectSup)."""
    weight_NR = extractor.aggregator.weigh(vector_ND, bags, extractor.scorer)
    return weight_NR.expand(-1, extractor.scorer.bias_R.shape[0]).contiguous()


EXPLAINER = Explainer(
    attention, is_signed=False, needs_gradient=False, about="the weight that the model gives the sentence"
)
