"""What the model says about the first 1, 2, 3, … sentences of a bag, in each of several orders.

The weighted mean and the maximum of a growing set are running sums and running maxima, so all sets of an order cost
about as much as the whole bag. Shapes: P orders, L sentences of the bag, D width of a sentence vector, R relations.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from sayso.explain.slices import slices, slices_by_cost
from sayso.explain.sub_bag import SENTENCES_AT_A_TIME, SubBags, sub_bag_logits
from sayso.features.batch import BagIndex
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.base import Aggregator
from sayso.model.aggregators.direct import Direct
from sayso.model.extractor import Extractor

VALUES_AT_A_TIME = 2**20

PrefixLogits = Callable[[Extractor, Tensor, BagIndex, Tensor], Tensor]


def prefix_logits(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return logit_PLR in float64: of the sub-bag of the first l + 1 sentences of each order; `bags` is one bag."""
    found = SCANS.get(type(extractor.aggregator), _by_running)(extractor, vector_LD, bags, order_PL)
    return found.double()


def _attended(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits from running sums of what the softmax weighs."""
    scorer, aggregator = extractor.scorer, extractor.aggregator
    assert isinstance(aggregator, Attention)
    # The best sentence may come last; float64 holds what comes before it down to a gap of 700 between the scores.
    score_LR = aggregator.attend(vector_LD).double()
    mass_PLR = (score_LR - score_LR.amax(0)).exp().clamp(min=torch.finfo(torch.float64).tiny)[order_PL]
    total_PLR = mass_PLR.cumsum(1)
    bias_R = scorer.bias_R.double()
    if scorer.entity is None:
        match_LR = (vector_LD @ scorer.relation_RD.T).double()
        return (mass_PLR * match_LR[order_PL]).cumsum(1) / total_PLR + bias_R
    text_PLD = scorer.entity.project_text(vector_LD).double()[order_PL]
    pair_D = scorer.entity.project_pair(bags)[0].double()
    relation_RD = scorer.relation_RD.double()
    logit_PLR = torch.empty_like(mass_PLR)
    for some in slices(len(relation_RD), max(1, VALUES_AT_A_TIME // text_PLD.numel())):
        mean_PLRD = (mass_PLR[:, :, some, None] * text_PLD[:, :, None]).cumsum(1) / total_PLR[:, :, some, None]
        logit_PLR[:, :, some] = ((mean_PLRD + pair_D).relu() * relation_RD[some]).sum(3)
    return logit_PLR + bias_R


def _pooled(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits from the running maximum."""
    weighted_LD = extractor.aggregator.weigh(vector_LD, bags) * vector_LD
    pooled_CD = weighted_LD[order_PL].cummax(1).values.flatten(0, 1)
    repeated = BagIndex(
        bag_N=bags.bag_N, head_B=bags.head_B.expand(len(pooled_CD)), tail_B=bags.tail_B.expand(len(pooled_CD))
    )
    return extractor.scorer.score_pooled(pooled_CD, repeated).view(*order_PL.shape, -1)


def _by_running(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits by running the model on every sub-bag: right for any aggregator, and slow."""
    return torch.stack([_of_order(extractor, vector_LD, bags, order_L) for order_L in order_PL])


def _of_order(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_L: Tensor) -> Tensor:
    logits = []
    for some in slices_by_cost(range(1, len(order_L) + 1), SENTENCES_AT_A_TIME):
        length_C = torch.arange(some.start + 1, some.stop + 1, device=order_L.device)
        sub_M = torch.repeat_interleave(torch.arange(len(length_C), device=order_L.device), length_C)
        place_M = torch.arange(len(sub_M), device=order_L.device) - (length_C.cumsum(0) - length_C)[sub_M]
        parts = SubBags(order_L[place_M], sub_M, torch.zeros_like(length_C))
        logits.append(sub_bag_logits(extractor, vector_LD, bags, parts))
    return torch.cat(logits)


SCANS: dict[type[Aggregator], PrefixLogits] = {Attention: _attended, Direct: _pooled}
