"""Per-bag reductions and products over sentences stored end to end.

Shapes: B bags, N sentences in all bags, D width of a vector, R relations. `bag_N[i]` is the bag of sentence i;
it never decreases. `value_N` may have further dimensions ([N, R], [N, D], ...), each of which is reduced on its own.
Nothing here loops over bags, and everything is differentiable.
"""

from typing import NamedTuple

import torch
from torch import Tensor


def bag_starts(bag_N: Tensor, num_bags: int) -> Tensor:
    """Return start_B1: bag b has the sentences from start_B1[b] up to start_B1[b + 1]."""
    return torch.searchsorted(bag_N, torch.arange(num_bags + 1, device=bag_N.device))


def bag_sum(value_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return each bag's sum; 0 for a bag without sentences."""
    return value_N.new_zeros(num_bags, *value_N.shape[1:]).index_add(0, bag_N, value_N)


def bag_max(value_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return each bag's maximum; −inf for a bag without sentences. Ties share the gradient equally."""
    lowest_B = value_N.new_full((num_bags, *value_N.shape[1:]), -torch.inf)
    index_N = bag_N.view(-1, *(1,) * (value_N.ndim - 1)).expand_as(value_N)
    return lowest_B.scatter_reduce(0, index_N, value_N, reduce="amax")


def is_unique_max(value_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return whether each sentence alone has its bag's maximum."""
    return max_share(value_N, bag_N, num_bags) == 1


@torch.no_grad()
def max_share(value_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return each sentence's share of its bag's maximum: 1 over the number of ties, else 0. No gradient."""
    is_max_N = (value_N == bag_max(value_N, bag_N, num_bags)[bag_N]).to(value_N.dtype)
    return is_max_N / bag_sum(is_max_N, bag_N, num_bags)[bag_N]


def max_of_others(value_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return, for each sentence, the maximum over the other sentences of its bag; −inf if there are none."""
    stands_alone_N = is_unique_max(value_N, bag_N, num_bags)
    best_B = bag_max(value_N, bag_N, num_bags)
    second_B = bag_max(value_N.masked_fill(stands_alone_N, -torch.inf), bag_N, num_bags)
    return torch.where(stands_alone_N, second_B[bag_N], best_B[bag_N])


def bag_softmax(score_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Normalise scores within each bag, so that every bag's weights sum to one."""
    # Shifting by the bag's maximum changes nothing but keeps exp() finite.
    peak_B = bag_max(score_N.detach(), bag_N, num_bags)
    mass_N = (score_N - peak_B[bag_N]).exp()
    return mass_N / bag_sum(mass_N, bag_N, num_bags)[bag_N]


def mean_of_others(score_N: Tensor, value_N: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return, for each sentence, the mean value of the *other* sentences of its bag, weighted by softmax.

    Scores and values have the same shape. 0 if there are no others. Never divides by 1 − weight, which float32
    rounds to 0 when one sentence dominates.
    """
    peak_B = bag_max(score_N.detach(), bag_N, num_bags)
    # Unless the bag's unique best is removed, the best remains with mass 1, so the total is at least 1.
    mass_N = (score_N - peak_B[bag_N]).exp()
    rest_N = (bag_sum(mass_N, bag_N, num_bags)[bag_N] - mass_N).clamp(min=torch.finfo(score_N.dtype).tiny)
    mean_N = (bag_sum(mass_N * value_N, bag_N, num_bags)[bag_N] - mass_N * value_N) / rest_N
    is_best_N = is_unique_max(score_N, bag_N, num_bags)
    mass_N, total_B = mass_without(is_best_N, score_N, bag_N, num_bags)
    mean_B = bag_sum(mass_N * value_N, bag_N, num_bags) / total_B
    return torch.where(is_best_N, mean_B[bag_N], mean_N)


def mass_without(is_best_N: Tensor, score_N: Tensor, bag_N: Tensor, num_bags: int) -> tuple[Tensor, Tensor]:
    """Return the numerators and denominators of the softmax without each bag's unique maximum, which gets 0.

    They are computed from the maximum of the others, which may be far below it. No denominator is 0.
    """
    rest_N = score_N.masked_fill(is_best_N, -torch.inf)
    peak_B = bag_max(rest_N.detach(), bag_N, num_bags)
    mass_N = (rest_N - peak_B.masked_fill(peak_B == -torch.inf, 0.0)[bag_N]).exp()
    return mass_N, bag_sum(mass_N, bag_N, num_bags).clamp(min=torch.finfo(score_N.dtype).tiny)


class SizeBucket(NamedTuple):
    """Bags b of similar size as rows of a table: `row_bL` are their sentences, padded where `is_in_bL` is false."""

    bag_b: Tensor
    row_bL: Tensor
    is_in_bL: Tensor


def size_buckets(bag_N: Tensor, num_bags: int) -> list[SizeBucket]:
    """Group the non-empty bags by size rounded up to a power of two, so that at most half of a table is padding.

    Matrix products per bag then become a few batched products. There is at least one group, which may be empty.
    """
    start_B1 = bag_starts(bag_N, num_bags)
    start_B, size_B = start_B1[:-1], start_B1.diff()
    ceiling_B = 2 ** size_B.clamp(min=1).double().log2().ceil().long()
    buckets = []
    for num_rows in sorted({1, *ceiling_B.tolist()}):
        bag_b = ((ceiling_B == num_rows) & (size_B > 0)).nonzero()[:, 0]
        offset_L = torch.arange(num_rows, device=bag_N.device)
        is_in_bL = offset_L < size_B[bag_b, None]
        buckets.append(SizeBucket(bag_b, start_B[bag_b, None] + offset_L * is_in_bL, is_in_bL))
    return buckets


def bag_mix(weight_NR: Tensor, value_ND: Tensor, bag_N: Tensor, num_bags: int) -> Tensor:
    """Return Σ_n weight_nr value_n for each bag and relation, [B, R, D]; on CPU without ever holding [N, R, D]."""
    if value_ND.is_cuda:
        # Buckets need sizes from the device, and waiting for them costs more than the larger product.
        return bag_sum(weight_NR[:, :, None] * value_ND[:, None], bag_N, num_bags)
    buckets = size_buckets(bag_N, num_bags)
    mixed_BRD = value_ND.new_zeros(num_bags, weight_NR.shape[1], value_ND.shape[1])
    mixed = [
        torch.bmm((weight_NR[b.row_bL] * b.is_in_bL[..., None]).transpose(1, 2), value_ND[b.row_bL]) for b in buckets
    ]
    return mixed_BRD.index_copy(0, torch.cat([b.bag_b for b in buckets]), torch.cat(mixed))


def bag_match(value_ND: Tensor, slope_BRD: Tensor, bag_N: Tensor) -> Tensor:
    """Return value_n · slope_br for each sentence and relation of its bag, [N, R]; on CPU without holding [N, R, D]."""
    if value_ND.is_cuda:
        return torch.bmm(slope_BRD[bag_N], value_ND[:, :, None])[..., 0]
    buckets = size_buckets(bag_N, slope_BRD.shape[0])
    match_NR = value_ND.new_zeros(value_ND.shape[0], slope_BRD.shape[1])
    match = [torch.bmm(value_ND[b.row_bL], slope_BRD[b.bag_b].transpose(1, 2))[b.is_in_bL] for b in buckets]
    return match_NR.index_copy(0, torch.cat([b.row_bL[b.is_in_bL] for b in buckets]), torch.cat(match))
