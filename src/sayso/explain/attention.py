"""Attention: the model's own weight of a sentence.

Shapes: N sentences of all bags together, D width of a sentence vector, R relations.
"""

from torch import Tensor

from sayso.explain.base import Explainer
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor


def attention(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = α_nk; the same for all relations if the aggregator's weights are (DirectSup)."""
    weight_NR = extractor.aggregator.weigh(vector_ND, bags, extractor.scorer)
    return weight_NR.expand(-1, extractor.scorer.bias_R.shape[0]).contiguous()


EXPLAINER = Explainer(attention, is_signed=False, needs_gradient=False, about="the model's own weight of the sentence")
