"""Shapley values: what a sentence adds to a logit, averaged over all orders in which the sentences could come.

The players are the sentences of a bag, the value of a set of them is o_k of that sub-bag (the empty one has x̄ = 0).
Small bags are computed exactly, over all subsets; larger ones from drawn orders (`shapley_sampled`). Either way the
scores of a bag sum to o_k − o_k(empty bag). Shapes: B bags, N sentences of all bags together, D width of a sentence
vector, R relations, L sentences of a bag, Q subsets of a bag's sentences.
"""

from math import comb
from typing import NamedTuple

import torch
from torch import Tensor

from sayso.explain.base import Explainer
from sayso.explain.shapley_sampled import sample_bag
from sayso.explain.slices import slices
from sayso.explain.sub_bag import SENTENCES_AT_A_TIME, SubBags, bag_sizes, sub_bag_logits
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor

LARGEST_EXACT = 10
NUM_PAIRS = 32


class ShapleyValues(NamedTuple):
    """The scores and their standard errors, 0 in bags that were computed exactly."""

    score_NR: Tensor
    error_NR: Tensor


def shapley(extractor: Extractor, vector_ND: Tensor, bags: BagIndex) -> Tensor:
    """Return score_NR, signed."""
    return shapley_with_error(extractor, vector_ND, bags).score_NR


@torch.no_grad()
def shapley_with_error(
    extractor: Extractor, vector_ND: Tensor, bags: BagIndex, num_pairs: int = NUM_PAIRS, seed: int = 0
) -> ShapleyValues:
    """Return the scores and their standard errors; a larger bag is sampled in `num_pairs` orders and their reverses.

    The orders depend on the seed and the bag's size alone, so that a bag alone has the scores it has in a batch.
    """
    score_NR = vector_ND.new_zeros(len(vector_ND), len(extractor.scorer.relation_RD))
    error_NR = torch.zeros_like(score_NR)
    size_B = bag_sizes(bags)
    start_B = size_B.cumsum(0) - size_B
    for size in sorted(set(size_B[(size_B > 0) & (size_B <= LARGEST_EXACT)].tolist())):
        bag_b = (size_B == size).nonzero()[:, 0]
        for some in slices(len(bag_b), max(1, SENTENCES_AT_A_TIME // (size * 2**size))):
            row_bL = start_B[bag_b[some], None] + torch.arange(size, device=bag_b.device)
            score_NR[row_bL] = _exact(extractor, vector_ND, bags, row_bL)
    for bag in (size_B > LARGEST_EXACT).nonzero()[:, 0].tolist():
        first, size = int(start_B[bag]), int(size_B[bag])
        rows = slice(first, first + size)
        one = BagIndex(bag_N=bags.bag_N[rows] - bag, head_B=bags.head_B[[bag]], tail_B=bags.tail_B[[bag]])
        score_NR[rows], error_NR[rows] = sample_bag(extractor, vector_ND[rows], one, num_pairs, seed)
    return ShapleyValues(score_NR, error_NR)


def _exact(extractor: Extractor, vector_ND: Tensor, bags: BagIndex, row_bL: Tensor) -> Tensor:
    """Return score_bLR of bags of one size, whose sentences are the rows of `row_bL`, over all subsets."""
    num_bags, size = row_bL.shape
    is_member_QL = _subsets(size).to(row_bL.device)
    num_subsets = len(is_member_QL)
    # All subsets of the first bag, then all of the second, and so on.
    is_member_CL = is_member_QL.repeat(num_bags, 1)
    sub_M = is_member_CL.nonzero()[:, 0]
    row_M = row_bL.repeat_interleave(num_subsets, 0)[is_member_CL]
    bag_C = bags.bag_N[row_bL[:, 0]].repeat_interleave(num_subsets)
    value_CR = sub_bag_logits(extractor, vector_ND, bags, SubBags(row_M, sub_M, bag_C))
    weight_LQ = _subset_weights(is_member_QL).to(value_CR)
    return weight_LQ @ value_CR.view(num_bags, num_subsets, -1)


def _subsets(size: int) -> Tensor:
    """Return is_member_QL, one row for each of the 2^L subsets, the empty one first."""
    return (torch.arange(2**size)[:, None] >> torch.arange(size)) & 1 == 1


def _subset_weights(is_member_QL: Tensor) -> Tensor:
    """Return the factor of each subset's value in each member's score.

    A sentence that joins a set of m others counts 1 / (L · C(L − 1, m)): plus for the set with it, minus without.
    """
    size = is_member_QL.shape[1]
    share = torch.tensor([1.0 / (size * comb(size - 1, m)) for m in range(size)], dtype=torch.float64)
    num_others_QL = is_member_QL.sum(1, keepdim=True).cpu() - is_member_QL.cpu().long()
    weight_QL = share[num_others_QL]
    return torch.where(is_member_QL.cpu(), weight_QL, -weight_QL).T


EXPLAINER = Explainer(
    shapley, is_signed=True, needs_gradient=False, about="what the sentence adds, averaged over all orders"
)
