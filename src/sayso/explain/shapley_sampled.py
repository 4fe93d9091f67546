"""Shapley values of one large bag, estimated from drawn orders of its sentences.

Shapes: P orders, L sentences of the bag, D width of a sentence vector, R relations.
"""

import torch
from torch import Tensor

from sayso.explain.prefix import VALUES_AT_A_TIME, prefix_logits
from sayso.explain.slices import slices
from sayso.explain.sub_bag import empty_bag_logits
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor
from sayso.seeding import sub_seed


def sample_bag(
    extractor: Extractor, vector_LD: Tensor, bags: BagIndex, num_pairs: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Return score_LR and the standard error of each score, from `num_pairs` orders, each with its reverse.

    `bags` is one bag. In an order a sentence adds the logit of the sentences up to it minus that of those before it.
    An order and its reverse err in opposite ways, so their mean is one draw.
    """
    size, num_relations = len(vector_LD), len(extractor.scorer.relation_RD)
    generator = torch.Generator().manual_seed(sub_seed(seed, f"shapley/{size}"))
    sum_LR = vector_LD.new_zeros(size, num_relations, dtype=torch.float64)
    square_LR = torch.zeros_like(sum_LR)
    at_a_time = max(1, VALUES_AT_A_TIME // (2 * size * max(num_relations, vector_LD.shape[1])))
    for some in slices(num_pairs, at_a_time):
        drawn = [torch.randperm(size, generator=generator) for _ in range(some.start, some.stop)]
        order_PL = torch.stack(drawn).to(vector_LD.device)
        forth_PLR, back_PLR = (_added(extractor, vector_LD, bags, order) for order in (order_PL, order_PL.flip(1)))
        draw_PLR = (forth_PLR + back_PLR) / 2
        sum_LR += draw_PLR.sum(0)
        square_LR += draw_PLR.square().sum(0)
    mean_LR = sum_LR / num_pairs
    variance_LR = (square_LR / num_pairs - mean_LR.square()).clamp(min=0.0) / max(num_pairs - 1, 1)
    return mean_LR.to(vector_LD.dtype), variance_LR.sqrt().to(vector_LD.dtype)


def _added(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return what each sentence adds when it comes in each order, in the places the sentences have in the bag."""
    nothing_PLR = empty_bag_logits(extractor, bags).double().expand(len(order_PL), 1, -1)
    gain_PLR = prefix_logits(extractor, vector_LD, bags, order_PL).diff(dim=1, prepend=nothing_PLR)
    return torch.empty_like(gain_PLR).scatter_(1, order_PL[..., None].expand_as(gain_PLR), gain_PLR)
