"""Compute where +E's ReLU is active, for a mixture of sentences per bag and relation (compiled by numba).

Shapes: B bags, N sentences in all bags, D width of a vector, R relations. No [N, R, D] or [B, R, D] values
are ever written to memory, only whether each one is above zero.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numba import njit
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.kernels.base import Array
from sayso.model.kernels.threads import over_bags

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return the compiled function; sums may be reordered, which allows vector instructions."""
    compiler = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
    return cast(Function, compiler(function))


def mixed_gate(weight_NR: Tensor, text_ND: Tensor, pair_BD: Tensor, bags: BagIndex) -> Tensor:
    """Return whether Σ_n weight_nk text_n + pair_b is above zero, [B, R, D]."""
    is_on_BRD = torch.empty(bags.num_bags, weight_NR.shape[1], text_ND.shape[1], dtype=torch.bool)
    over_bags(_gate, bags, weight_NR, text_ND, pair_BD, is_on_BRD)
    return is_on_BRD


def mixed_score(weight_NR: Tensor, text_ND: Tensor, pair_BD: Tensor, relation_RD: Tensor, bags: BagIndex) -> Tensor:
    """Return relu(Σ_n weight_nk text_n + pair_b) · r_k, [B, R]."""
    score_BR = text_ND.new_empty(bags.num_bags, relation_RD.shape[0])
    over_bags(_score, bags, weight_NR, text_ND, pair_BD, relation_RD, score_BR)
    return score_BR


def gated_match(text_ND: Tensor, is_on_BRD: Tensor, relation_RD: Tensor, bags: BagIndex) -> Tensor:
    """Return text_n · r_k over the dimensions that are active for the sentence's bag and k, [N, R]."""
    match_NR = text_ND.new_empty(text_ND.shape[0], relation_RD.shape[0])
    over_bags(_match, bags, text_ND, is_on_BRD, relation_RD, match_NR)
    return match_NR


@compiled
def add_mixture(sum_D: Array, weight_NR: Array, k: int, text_ND: Array, start: int, stop: int) -> None:
    """Add the sentences from `start` to `stop`, weighted for relation k, to the sum."""
    for n in range(start, stop):
        weight, text_D = weight_NR[n, k], text_ND[n]
        for d in range(len(sum_D)):
            sum_D[d] += weight * text_D[d]


@compiled
def _gate(
    weight_NR: Array, text_ND: Array, pair_BD: Array, is_on_BRD: Array, start_B1: Array, first: int, stop: int
) -> None:
    state_D = np.empty(text_ND.shape[1], text_ND.dtype)
    for b in range(first, stop):
        for k in range(weight_NR.shape[1]):
            state_D[:] = pair_BD[b]
            add_mixture(state_D, weight_NR, k, text_ND, start_B1[b], start_B1[b + 1])
            is_on_D = is_on_BRD[b, k]
            for d in range(len(state_D)):
                is_on_D[d] = state_D[d] > 0


@compiled
def _score(
    weight_NR: Array, text_ND: Array, pair_BD: Array, relation_RD: Array, score_BR: Array, start_B1: Array,
    first: int, stop: int,
) -> None:  # fmt: skip
    state_D = np.empty(text_ND.shape[1], text_ND.dtype)
    zero = text_ND.dtype.type(0)
    for b in range(first, stop):
        for k in range(len(relation_RD)):
            state_D[:] = pair_BD[b]
            add_mixture(state_D, weight_NR, k, text_ND, start_B1[b], start_B1[b + 1])
            relation_D, total = relation_RD[k], zero
            for d in range(len(state_D)):
                # This form of the comparison keeps NaN.
                total += (zero if state_D[d] < zero else state_D[d]) * relation_D[d]
            score_BR[b, k] = total


@compiled
def _match(
    text_ND: Array, is_on_BRD: Array, relation_RD: Array, match_NR: Array, start_B1: Array, first: int, stop: int
) -> None:
    zero = text_ND.dtype.type(0)
    for b in range(first, stop):
        for k in range(len(relation_RD)):
            is_on_D, relation_D = is_on_BRD[b, k], relation_RD[k]
            for n in range(start_B1[b], start_B1[b + 1]):
                text_D, total = text_ND[n], zero
                for d in range(len(text_D)):
                    total += text_D[d] * relation_D[d] if is_on_D[d] else zero
                match_NR[n, k] = total
