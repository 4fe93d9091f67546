"""What the model says about parts of a bag: the base of removal and of Shapley values.

Shapes: B bags, N sentences of all bags together, D width of a sentence vector, R relations, C sub-bags, M sentences of
all sub-bags together.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor

SENTENCES_AT_A_TIME = 2**16
"""Sentences of sub-bags that are classified in one go."""


class SubBags(NamedTuple):
    """Parts of bags: sentence `row_M[i]` stands in sub-bag `sub_M[i]` (never decreasing), a part of `bag_C[sub]`."""

    row_M: Tensor
    sub_M: Tensor
    bag_C: Tensor


def bag_sizes(bags: BagIndex) -> Tensor:
    """Return size_B, the number of sentences of each bag."""
    return torch.bincount(bags.bag_N, minlength=bags.num_bags)


def empty_bag_logits(extractor: Extractor, bags: BagIndex) -> Tensor:
    """Return logit_BR for the pairs of the bags without any sentence: x̄ = 0, the entities' terms kept."""
    relation_RD = extractor.scorer.relation_RD
    return extractor.scorer.score_pooled(relation_RD.new_zeros(bags.num_bags, relation_RD.shape[1]), bags)


def sub_bag_logits(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, parts: SubBags) -> Tensor:
    """Return logit_CR by running the model on the sub-bags; one without sentences is an empty bag."""
    logit_CR = empty_bag_logits(extractor, bags)[parts.bag_C]
    has_sentences_C = torch.bincount(parts.sub_M, minlength=len(parts.bag_C)) > 0
    # Aggregators are not asked about empty bags: the maximum over no sentence is not a number they can use.
    place_C = has_sentences_C.cumsum(0) - 1
    bag_C = parts.bag_C[has_sentences_C]
    index = BagIndex(bag_N=place_C[parts.sub_M], head_B=bags.head_B[bag_C], tail_B=bags.tail_B[bag_C])
    found_CR = extractor.classify(vector_ND[parts.row_M], index)
    return logit_CR.index_copy(0, has_sentences_C.nonzero()[:, 0], found_CR)
