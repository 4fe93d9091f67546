"""Shapley values: what a sentence adds to a logit, averaged over all orders of the sentences.

The players are the sentences of a bag; the value of a set of them is o_k of that sub-bag (the empty one has x̄ = 0).
Small bags are computed exactly, over all subsets; larger ones are estimated from random orders. Either way the scores
of a bag sum to o_k − o_k(empty bag). Along an order, the weighted mean and the maximum of the growing set are running
sums and running maxima, so all prefixes together cost about as much as the whole bag.

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations, L sentences of a bag, Q
subsets of a bag's sentences, P orders.
"""

from collections.abc import Callable
from dataclasses import replace
from math import comb
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sayso.explain.base import SENTENCES_AT_A_TIME, Explainer, empty_bag_logits, sentences_of, sub_bag_logits
from sayso.features.batch import BagIndex
from sayso.memory import slices, slices_by_cost
from sayso.model.aggregators.attention import Attention
from sayso.model.aggregators.base import Aggregator
from sayso.model.aggregators.direct import Direct
from sayso.model.aggregators.noisy_or import NoisyOr, logit_of_surprise
from sayso.model.ensemble import MeanAggregator, mean_logit, members_with
from sayso.model.extractor import Extractor
from sayso.seeding import sub_seed
from sayso.store.rows import Rows, ranges

LARGEST_EXACT = 10
NUM_PAIRS = 32


class ShapleyValues(NamedTuple):
    """The scores and their standard errors, which are 0 for bags that are computed exactly."""

    score_NR: Tensor
    error_NR: Tensor


def shapley(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return the Shapley values as score_NR, signed."""
    return shapley_with_error(extractor, vector_ND, bags).score_NR


@torch.no_grad()
def shapley_with_error(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, num_pairs: int = NUM_PAIRS, seed: int = 0
) -> ShapleyValues:
    """Return the scores and their standard errors; large bags are sampled in `num_pairs` orders and their reverses.

    The orders depend only on the seed and the bag's size, so that a bag has the same scores alone and in a batch.
    """
    score_NR = vector_ND.new_zeros(len(vector_ND), len(extractor.scorer.relation_RD))
    error_NR = torch.zeros_like(score_NR)
    sentences = sentences_of(bags)
    size_B = sentences.length
    for size in np.unique(size_B[(size_B > 0) & (size_B <= LARGEST_EXACT)]).tolist():
        bag_b = np.flatnonzero(size_B == size)
        for some in slices(len(bag_b), max(1, SENTENCES_AT_A_TIME // (size * 2**size))):
            row_bL = sentences.take(bag_b[some]).value.reshape(-1, size)
            score_NR[row_bL] = _exact(extractor, vector_ND, bags, bag_b[some], row_bL)
    for bag in np.flatnonzero(size_B > LARGEST_EXACT):
        rows = slice(*sentences.start[bag : bag + 2].tolist())
        one = bags.with_sizes(np.array([bag]), size_B[[bag]])
        score_NR[rows], error_NR[rows] = sample_bag(extractor, vector_ND[rows], one, num_pairs, seed)
    return ShapleyValues(score_NR, error_NR)


def _exact(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, bag_b: np.ndarray, row_bL: np.ndarray) -> Tensor:
    """Return score_bLR over all subsets of the sentences `row_bL` of bags of one size.

    A sentence that joins m others has the factor 1 / (L · C(L − 1, m)): positive for the set with it, negative for the
    set without it.
    """
    num_bags, size = row_bL.shape
    is_member_QL = (np.arange(2**size)[:, None] >> np.arange(size)) & 1 == 1
    # All subsets of the first bag, then all of the second, and so on.
    is_member_CL = np.tile(is_member_QL, (num_bags, 1))
    subsets = Rows.of_lengths(row_bL.repeat(2**size, 0)[is_member_CL], is_member_CL.sum(1))
    value_CR = sub_bag_logits(extractor, vector_ND, bags, bag_b.repeat(2**size), subsets)
    share = np.array([1.0 / (size * comb(size - 1, m)) for m in range(size)])
    share_QL = share[is_member_QL.sum(1, keepdims=True) - is_member_QL]
    weight_LQ = torch.from_numpy(np.where(is_member_QL, share_QL, -share_QL).T).to(value_CR)
    return weight_LQ @ value_CR.view(num_bags, 2**size, -1)


EXPLAINER = Explainer(
    shapley, is_signed=True, needs_gradient=False, about="what the sentence adds to the logit, averaged over all orders"
)


def sample_bag(
    extractor: Extractor, vector_LD: Tensor, bags: BagIndex, num_pairs: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Return score_LR and the standard error of each score, from `num_pairs` orders, each with its reverse.

    `bags` contains one bag. In an order, a sentence adds the logit with it minus the logit before it. An order and its
    reverse tend to have opposite errors, so their mean counts as one draw.
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
    """Return what each sentence adds in each order; sentences are in bag order."""
    nothing_PLR = empty_bag_logits(extractor, bags).double().expand(len(order_PL), 1, -1)
    gain_PLR = prefix_logits(extractor, vector_LD, bags, order_PL).diff(dim=1, prepend=nothing_PLR)
    return torch.empty_like(gain_PLR).scatter_(1, order_PL[..., None].expand_as(gain_PLR), gain_PLR)


VALUES_AT_A_TIME = 2**20

PrefixLogits = Callable[[Extractor, Tensor, BagIndex, Tensor], Tensor]
"""Logits of the first l + 1 sentences of each order, before the extractor's calibration."""


def prefix_logits(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return logit_PLR in float64, for the first l + 1 sentences of each order; `bags` contains one bag."""
    scan = SCANS.get(type(extractor.aggregator))
    if scan is None:
        return _by_running(extractor, vector_LD, bags, order_PL).double()
    return extractor.calibrated(scan(extractor, vector_LD, bags, order_PL).double())


def _attended(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits from running sums over the softmax and, with `context`, from running means."""
    aggregator = extractor.aggregator
    assert isinstance(aggregator, Attention)
    logit_PLR = _from_running_mean(extractor, vector_LD, bags, order_PL)
    return logit_PLR if aggregator.context is None else logit_PLR + aggregator.context.of_prefixes(vector_LD, order_PL)


def _from_running_mean(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits of attention without `context`."""
    scorer = extractor.scorer
    # The best sentence may come last; float64 resolves the others down to a gap of 700 between the scores.
    score_LR = extractor.aggregator.own_score(vector_LD, scorer).double()
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
    weighted_LD = extractor.aggregator.weigh(vector_LD, bags, extractor.scorer) * vector_LD
    pooled_CD = weighted_LD[order_PL].cummax(1).values.flatten(0, 1)
    # The scorer reads only the pairs.
    repeated = replace(bags, head_B=bags.head_B.expand(len(pooled_CD)), tail_B=bags.tail_B.expand(len(pooled_CD)))
    return extractor.scorer.score_pooled(pooled_CD, repeated).view(*order_PL.shape, -1)


def _by_running(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits by running the model on every sub-bag, for any aggregator; slow."""
    num_orders, size = order_PL.shape
    order = order_PL.cpu().numpy().reshape(-1)
    first_C = np.repeat(size * np.arange(num_orders), size)
    length_C = np.tile(np.arange(1, size + 1), num_orders)
    logits = []
    for some in slices_by_cost(length_C, SENTENCES_AT_A_TIME):
        prefixes = Rows.of_lengths(order[ranges(first_C[some], length_C[some])], length_C[some])
        logits.append(sub_bag_logits(extractor, vector_LD, bags, np.zeros(len(prefixes), np.int64), prefixes))
    return torch.cat(logits).view(num_orders, size, -1)


def _stated(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits from running sums of −log(1 − p)."""
    aggregator = extractor.aggregator
    assert isinstance(aggregator, NoisyOr)
    scorer = extractor.scorer
    added_LR = aggregator.surprises(vector_LD, bags, scorer)[1].double()
    logit_PLR = aggregator.logit_of_pair(vector_LD, bags, scorer).double()
    if aggregator.context is not None:
        logit_PLR = logit_PLR + aggregator.context.of_prefixes(vector_LD, order_PL)
    return logit_of_surprise(added_LR[order_PL].cumsum(1) + torch.nn.functional.softplus(logit_PLR))


def _averaged(extractor: Extractor, vector_LD: Tensor, bags: BagIndex, order_PL: Tensor) -> Tensor:
    """Return the logits of an ensemble from those of its members."""
    members = members_with(extractor, vector_LD)
    return mean_logit([prefix_logits(member, part_LD, bags, order_PL) for member, part_LD in members])


SCANS: dict[type[Aggregator], PrefixLogits] = {
    Attention: _attended,
    Direct: _pooled,
    NoisyOr: _stated,
    MeanAggregator: _averaged,
}
