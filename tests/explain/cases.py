"""Models and bags for the tests of explainers, and the expected scores, computed bag by bag."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from model.plain import plain_bag_logits, plain_logits
from model.variants import VARIANTS, WIDTH
from sayso.explain.base import empty_bag_logits
from sayso.explain.integrated_gradients import integrated_gradients
from sayso.features.batch import BagIndex
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.noisy_or import NoisyOr
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import make_bags, make_extractor, make_vectors

SIZES = [1, 4, 1, 7, 2]
Case = tuple[Extractor, Tensor, BagIndex]
over_variants = pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
over_gaps = pytest.mark.parametrize("gap", [20.0, 120.0])


def make_case(config: ModelConfig, sizes: Sequence[int] = SIZES, seed: int = 3, ties: bool = True) -> Case:
    """Return a model and sentence vectors; the first two of a bag are equal, so that they tie in every dimension."""
    vector_ND, bags = make_vectors(sum(sizes), WIDTH, seed=seed), make_bags(sizes, seed)
    if ties:
        for n in range(1, len(vector_ND)):
            is_second = bags.bag_N[n] == bags.bag_N[n - 1] and (n < 2 or bags.bag_N[n] != bags.bag_N[n - 2])
            vector_ND[n] = vector_ND[n - 1] if is_second else vector_ND[n]
    return make_extractor(config, seed=2), vector_ND, bags


def gradients(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return ∂o_k/∂x_n as [N, R, D], by automatic differentiation of the plain form."""
    vector_ND = vector_ND.detach().requires_grad_()
    logit_BR = plain_logits(extractor, vector_ND, bags)
    found = [torch.autograd.grad(logit_B.sum(), vector_ND, retain_graph=True)[0] for logit_B in logit_BR.unbind(1)]
    return torch.stack(found, 1)


def plain_value(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, bag: int) -> Tensor:
    """Return logit_R of a bag of these sentences, if any."""
    if not len(vector_LD):
        return empty_bag_logits(extractor, bags)[bag].detach()
    return plain_bag_logits(extractor, vector_LD, bags, bag).detach()


def losses_by_removal(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return o_k − o_k(bag without n), sentence by sentence."""
    rows = []
    for n, bag in enumerate(bags.bag_N.tolist()):
        is_in_N = bags.bag_N == bag
        is_left_N = is_in_N & (torch.arange(len(vector_ND)) != n)
        whole, left = (plain_value(extractor, vector_ND[mask], bags, bag) for mask in (is_in_N, is_left_N))
        rows.append(whole - left)
    return torch.stack(rows)


def widen_gaps(case: Case, gap: float) -> Case:
    """Return the case with the widest gap between attention scores of a bag (or classifier logits) set to `gap`."""
    extractor, vector_ND, bags = case
    aggregator = extractor.aggregator
    with torch.no_grad():
        if isinstance(aggregator, Attention):
            parts = aggregator.own_score(vector_ND, extractor.scorer).split(torch.bincount(bags.bag_N).tolist())
            aggregator.query_RD.mul_(gap / max(float((part.amax(0) - part.amin(0)).max()) for part in parts))
        elif isinstance(aggregator, NoisyOr):
            value_NR = vector_ND @ extractor.scorer.relation_RD.T
            extractor.scorer.relation_RD.mul_(gap / float((value_NR.amax(0) - value_NR.amin(0)).max()))
        else:
            aggregator.classifier.output.weight.mul_(gap)
    return case


def in_float32(case: Case) -> Case:
    """Return the case in float32; the model itself is changed."""
    extractor, vector_ND, bags = case
    return extractor.float(), vector_ND.float(), bags


def gain_over_zero(case: Case) -> Tensor:
    """Return how much higher each logit is than with zero vectors."""
    extractor, vector_ND, bags = case
    return (extractor.classify(vector_ND, bags) - extractor.classify(torch.zeros_like(vector_ND), bags)).detach()


def integration_error(case: Case, **settings: int) -> Tensor:
    """Return how far the sum of each bag's integrated gradients is from the gain over zero vectors, [B, R]."""
    score_NR, bags = integrated_gradients(*case, **settings), case[2]
    return (torch.stack([score_NR[bags.bag_N == b].sum(0) for b in range(bags.num_bags)]) - gain_over_zero(case)).abs()
