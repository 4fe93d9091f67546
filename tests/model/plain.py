"""The bag models, bag by bag, as in the paper: slow, and the reference for the batched forms."""

import math

import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.direct import Direct
from sayso.model.aggregators.noisy_or import NoisyOr
from sayso.model.extractor import Extractor


def plain_logits(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return logit_BR."""
    rows = [plain_bag_logits(extractor, vector_ND[bags.bag_N == b], bags, b) for b in range(bags.num_bags)]
    return torch.stack(rows)


def plain_bag_logits(extractor: Extractor, vector_nD: Tensor, bags: BagIndex, bag: int) -> Tensor:
    """Return logit_R of one bag from its sentences."""
    scorer, entity = extractor.scorer, extractor.scorer.entity
    mean_RD = plain_representation(extractor, vector_nD)
    if entity is not None:
        head_V, tail_V = entity.entity_EV[bags.head_B[bag]], entity.entity_EV[bags.tail_B[bag]]
        pair_V = torch.cat([head_V - tail_V, head_V * tail_V]).expand(len(mean_RD), -1)
        whole = torch.cat([entity.text_DD, entity.pair_DV], 1)
        mean_RD = (torch.cat([mean_RD, pair_V], 1) @ whole.T + entity.bias_D).relu()
    logit_R = (mean_RD * scorer.relation_RD).sum(1) + scorer.bias_R
    context = getattr(extractor.aggregator, "context", None)
    if context is not None:
        logit_R = logit_R + vector_nD.mean(0) @ context.direction_RD.T + math.log(len(vector_nD)) * context.size_R
    if not isinstance(extractor.aggregator, NoisyOr):
        return logit_R
    # The logit so far is that of the pair alone.
    text_nD = vector_nD if entity is None else vector_nD @ entity.text_DD.T
    own_nR = text_nD @ scorer.relation_RD.T + extractor.aggregator.bias_R
    log_none_R = torch.nn.functional.logsigmoid(-torch.cat([own_nR, logit_R[None]])).sum(0)
    return torch.log(torch.expm1(-log_none_R))


def plain_representation(extractor: Extractor, vector_nD: Tensor) -> Tensor:
    """Return x̄_k of one bag, [R, D], or [1, D] where all relations share it."""
    aggregator = extractor.aggregator
    if isinstance(aggregator, Attention):
        score_nR = vector_nD @ torch.diag(aggregator.diagonal_D) @ aggregator.query_RD.T
        return score_nR.softmax(0).T @ vector_nD
    if isinstance(aggregator, NoisyOr):
        return torch.zeros_like(vector_nD[:1])
    assert isinstance(aggregator, Direct)
    logit_n1 = aggregator.classifier.output(aggregator.classifier.hidden(vector_nD).relu())
    if aggregator.second_map is not None:
        logit_n1 = aggregator.second_map.output(aggregator.second_map.hidden(logit_n1).relu())
    return (logit_n1.sigmoid() * vector_nD).amax(0, keepdim=True)
