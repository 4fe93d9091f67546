"""Sums over [N, R, D] values for explanations, compiled by numba so that the full array is never held in memory.

Shapes: B bags, C of them at a time, N sentences in all bags, D width of a sentence vector, R relations.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sayso.explain.leave_one_out import Removal
from sayso.features.batch import BagIndex
from sayso.memory import slices
from sayso.model.aggregators.base import Influence, Pull
from sayso.model.kernels.base import Array
from sayso.model.kernels.gate import add_mixture, compiled
from sayso.model.kernels.threads import compiled_only, over_bags

VALUES_AT_A_TIME = 2**18
"""Maximum number of values in a thread's [C, R, D] block of slopes, chosen to fit the cache."""


def gradient_norms(parts: Influence, bags: BagIndex) -> Tensor:
    """Return ‖∂o_k/∂x_n‖₁ as [N, R], for an influence with at most one pull."""
    norm_NR, width = torch.empty_like(parts.match_NR), parts.slope.relation_RD.shape[1]
    no_change_NR, no_direction_NRD = torch.zeros_like(norm_NR), norm_NR.new_zeros(1, 1, width)
    (pull,) = parts.pulls or (Pull(no_change_NR, no_direction_NRD, no_change_NR),)
    at_a_time = max(1, VALUES_AT_A_TIME // max(1, norm_NR.shape[1] * width))

    def in_pieces(*arguments: Any) -> None:
        *arrays, first, stop = arguments
        for some in slices(stop - first, at_a_time):
            bags_C = slice(first + some.start, first + some.stop)
            # Gradients are enabled or disabled per thread.
            with torch.no_grad():
                slope_CRD = parts.slope.of_bags(bags_C).numpy()
            _norms(*(slope_CRD, *arrays, bags_C.start, bags_C.stop))

    share_ND = parts.share_ND.expand(-1, width)
    with compiled_only():
        over_bags(in_pieces, bags, parts.weight_NR, share_ND, pull.change_NR, pull.direction_NRD, norm_NR)
    return norm_NR


def removal_losses(removal: Removal, text_ND: Tensor, pair_BD: Tensor, relation_RD: Tensor, bags: BagIndex) -> Tensor:
    """Return how much each logit drops without each sentence, [N, R], with +E's ReLU after the mixture."""
    loss_NR = torch.empty_like(removal.weight_NR)
    over_bags(_losses, bags, *removal, text_ND, pair_BD, relation_RD, loss_NR)
    return loss_NR


@compiled
def _norms(
    slope_CRD: Array, weight_NR: Array, share_ND: Array, pull_NR: Array, direction_NRD: Array, norm_NR: Array,
    start_B1: Array, first: int, stop: int,
) -> None:  # fmt: skip
    # A dimension that does not vary has size 1.
    last_c, last_share, last_weight = len(slope_CRD) - 1, len(share_ND) - 1, weight_NR.shape[1] - 1
    last_n, last_k = direction_NRD.shape[0] - 1, direction_NRD.shape[1] - 1
    for b in range(first, stop):
        for n in range(start_B1[b], start_B1[b + 1]):
            share_D = share_ND[min(n, last_share)]
            for k in range(norm_NR.shape[1]):
                slope_D, weight = slope_CRD[min(b - first, last_c), k], weight_NR[n, min(k, last_weight)]
                direction_D, pull = direction_NRD[min(n, last_n), min(k, last_k)], pull_NR[n, k]
                total = slope_CRD.dtype.type(0)
                for d in range(len(slope_D)):
                    total += abs(weight * share_D[d] * slope_D[d] + pull * direction_D[d])
                norm_NR[n, k] = total


@compiled
def _losses(
    weight_NR: Array, rest_NR: Array, ratio_NR: Array, is_best_NR: Array, text_ND: Array, pair_BD: Array,
    relation_RD: Array, loss_NR: Array, start_B1: Array, first: int, stop: int,
) -> None:  # fmt: skip
    mean_D, step_D = np.empty(text_ND.shape[1], text_ND.dtype), np.empty(text_ND.shape[1], text_ND.dtype)
    for b in range(first, stop):
        for k in range(len(relation_RD)):
            mean_D[:] = 0
            add_mixture(mean_D, weight_NR, k, text_ND, start_B1[b], start_B1[b + 1])
            for n in range(start_B1[b], start_B1[b + 1]):
                for d in range(len(step_D)):
                    step_D[d] = -mean_D[d] if is_best_NR[n, k] else ratio_NR[n, k] * (mean_D[d] - text_ND[n, d])
                if is_best_NR[n, k]:
                    add_mixture(step_D, rest_NR, k, text_ND, start_B1[b], start_B1[b + 1])
                loss_NR[n, k] = -_relu_change(mean_D, pair_BD[b], step_D, relation_RD[k])


@compiled
def _relu_change(mean_D: Array, pair_D: Array, step_D: Array, relation_D: Array) -> float:
    """Return (relu(value + step) − relu(value)) · r without cancellation error, where value = mean + pair."""
    zero = mean_D.dtype.type(0)
    total: float = zero
    for d in range(len(mean_D)):
        value = mean_D[d] + pair_D[d]
        # This form of the comparison keeps NaN.
        least = zero if value < zero else -value
        change = step_D[d] + (zero if value > zero else value)
        total += (least if change < least else change) * relation_D[d]
    return total
