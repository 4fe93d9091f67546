"""Leave-one-out by really removing each sentence and running the model again: right for any aggregator, and slow.

Shapes: B bags, N sentences of all bags together, C sentences that are removed in one go, D width of a sentence vector,
R relations, M sentences of all sub-bags together.
"""

import torch
from torch import Tensor

from sayso.explain.slices import slices_by_cost
from sayso.explain.sub_bag import SENTENCES_AT_A_TIME, SubBags, bag_sizes, sub_bag_logits
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor


@torch.no_grad()
def leave_one_out_by_removal(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR = o_k − o_k(bag without n)."""
    logit_BR = extractor.classify(vector_ND, bags)
    size_B = bag_sizes(bags)
    pieces = []
    for removed in slices_by_cost(size_B[bags.bag_N].tolist(), SENTENCES_AT_A_TIME):
        parts = _bags_without(torch.arange(removed.start, removed.stop, device=bags.bag_N.device), bags, size_B)
        pieces.append(logit_BR[parts.bag_C] - sub_bag_logits(extractor, vector_ND, bags, parts))
    return torch.cat(pieces) if pieces else logit_BR.new_zeros(0, logit_BR.shape[1])


def _bags_without(row_C: Tensor, bags: BagIndex, size_B: Tensor) -> SubBags:
    """Return for each of these sentences its bag without it."""
    bag_C = bags.bag_N[row_C]
    size_C = size_B[bag_C]
    sub_M = torch.repeat_interleave(torch.arange(len(row_C), device=row_C.device), size_C)
    offset_M = torch.arange(len(sub_M), device=row_C.device) - (size_C.cumsum(0) - size_C)[sub_M]
    row_M = (size_B.cumsum(0) - size_B)[bag_C][sub_M] + offset_M
    is_left_M = row_M != row_C[sub_M]
    return SubBags(row_M[is_left_M], sub_M[is_left_M], bag_C)
