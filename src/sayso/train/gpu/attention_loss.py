"""Attention over bags, the logits, their cross-entropy and all gradients, in one pass.

Shapes: B bags, N sentences in all bags, D width of a sentence vector, R relations.

With e_nk = x_n · A q_k, s_nk = x_n · r_k, o_k = Σ_n α_nk s_nk + b_k and weight w of the bag:
∂l/∂o_k = w (σ(o_k) − y_k), ∂l/∂s_nk = α_nk ∂l/∂o_k, ∂l/∂e_nk = α_nk (s_nk − Σ_m α_mk s_mk) ∂l/∂o_k. As separate
operations these are about thirty kernels, each of which takes longer to launch than to run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from sayso.model.kernels.compiler import dot_block, dot_precision, jit, tl

_SENTENCES_AT_ONCE = 16


MOST_VALUES = 2**13
"""The largest table, with both sides rounded up to powers of two, that fits into a multiprocessor's memory."""


class LabelledBags(NamedTuple):
    """The starts of the bags' sentences, the bags' labels and weights."""

    start_B1: Tensor
    label_BR: Tensor
    weight_B: Tensor


def fits_attention_loss(num_relations: int, width: int) -> bool:
    """Return whether `attention_loss` supports this number of relations and this width."""
    return dot_block(num_relations) * dot_block(width) <= MOST_VALUES


def attention_loss(
    vector_ND: Tensor, diagonal_D: Tensor, query_RD: Tensor, relation_RD: Tensor, bias_R: Tensor, bags: LabelledBags
) -> Tensor:
    """Return Σ_b weight_b Σ_k BCE(o_bk, label_bk). A bag of weight 0 has no effect and may be empty.

    The gradient is computed in the forward pass, so this term must be added to the loss unscaled.
    """
    loss: Tensor = _AttentionLoss.apply(vector_ND, diagonal_D, query_RD, relation_RD, bias_R, bags)  # type: ignore[no-untyped-call]
    return loss


class _AttentionLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        vector_ND: Tensor,
        diagonal_D: Tensor,
        query_RD: Tensor,
        relation_RD: Tensor,
        bias_R: Tensor,
        bags: LabelledBags,
    ) -> Tensor:
        num_relations, width = query_RD.shape
        grad_ND = torch.empty_like(vector_ND)
        grad_N2R = vector_ND.new_empty(vector_ND.shape[0], 2 * num_relations)
        # The bias's gradient, and the loss.
        sum_R1 = vector_ND.new_zeros(num_relations + 1)
        blocks = {"BLOCK_R": dot_block(num_relations), "BLOCK_D": dot_block(width)}
        _attention_loss[(bags.weight_B.shape[0],)](
            *(vector_ND, diagonal_D, query_RD, relation_RD, bias_R, *bags, grad_ND, grad_N2R, sum_R1),
            RELATIONS=num_relations, WIDTH=width, PRECISION=dot_precision(), BLOCK_N=_SENTENCES_AT_ONCE, **blocks,
            num_warps=8, num_stages=1,
        )  # fmt: skip
        both_2RD = grad_N2R.T @ vector_ND
        grad_query_RD, grad_D = torch.empty_like(query_RD), torch.empty_like(diagonal_D)
        _part[(1,)](
            both_2RD, diagonal_D, query_RD, grad_query_RD, grad_D, RELATIONS=num_relations, WIDTH=width, **blocks
        )
        ctx.save_for_backward(grad_ND, grad_D, grad_query_RD, both_2RD[num_relations:], sum_R1[:-1])
        return sum_R1[-1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        del gradients
        return (*ctx.saved_tensors, None)


@jit
def _part(  # type: ignore[no-untyped-def]
    both_2RD, diagonal_D, query_RD, grad_query_RD, grad_D, RELATIONS: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Split the gradient of A q into those of A and q."""
    relation_R, column_D = tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_D)
    is_in_RD = (relation_R < RELATIONS)[:, None] & (column_D < WIDTH)[None, :]
    at_RD = relation_R[:, None] * WIDTH + column_D[None, :]
    both = _table(both_2RD, RELATIONS, WIDTH, BLOCK_R, BLOCK_D)
    query = _table(query_RD, RELATIONS, WIDTH, BLOCK_R, BLOCK_D)
    diagonal = tl.load(diagonal_D + column_D, mask=column_D < WIDTH, other=0.0)
    tl.store(grad_query_RD + at_RD, both * diagonal[None, :], mask=is_in_RD)
    tl.store(grad_D + column_D, tl.sum(both * query, 0), mask=column_D < WIDTH)


@jit
def _attention_loss(  # type: ignore[no-untyped-def]
    vector_ND, diagonal_D, query_RD, relation_RD, bias_R, start_B1, label_BR, weight_B, grad_ND, grad_N2R, sum_R1,
    RELATIONS: tl.constexpr, WIDTH: tl.constexpr, PRECISION: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    bag = tl.program_id(0)
    first, stop, weight = tl.load(start_B1 + bag), tl.load(start_B1 + bag + 1), tl.load(weight_B + bag)
    # A bag without weight has zero gradients: nothing to compute.
    last = tl.where(weight == 0.0, first, stop)
    relation_R, column_D = tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_D)
    is_relation_R = relation_R < RELATIONS
    peak_R, total_R, mean_R = _attend(
        vector_ND, first, last, diagonal_D, query_RD, relation_RD, RELATIONS, WIDTH, PRECISION, BLOCK_N, BLOCK_R,
        BLOCK_D,
    )  # fmt: skip
    label = tl.load(label_BR + bag * RELATIONS + relation_R, mask=is_relation_R, other=0.0)
    logit_R = mean_R + tl.load(bias_R + relation_R, mask=is_relation_R, other=0.0)
    loss_R, slope_R = _cross_entropy(logit_R, label)
    grad_R = tl.where(is_relation_R, weight * slope_R, 0.0)
    if weight != 0.0:
        tl.atomic_add(sum_R1 + relation_R, grad_R, mask=is_relation_R, sem="relaxed")
        tl.atomic_add(sum_R1 + RELATIONS, tl.sum(tl.where(is_relation_R, loss_R, 0.0), 0) * weight, sem="relaxed")
    for base in range(first, stop, BLOCK_N):
        n = base + tl.arange(0, BLOCK_N)
        share_NR, pull_NR = tl.zeros((BLOCK_N, BLOCK_R), tl.float32), tl.zeros((BLOCK_N, BLOCK_R), tl.float32)
        grad = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
        if base < last:
            score_NR, match_NR = _scores(
                vector_ND, n, stop, diagonal_D, query_RD, relation_RD, RELATIONS, WIDTH, PRECISION, BLOCK_R, BLOCK_D
            )
            share_NR = tl.exp(score_NR - peak_R[None, :]) / total_R[None, :] * grad_R[None, :]
            pull_NR = share_NR * (match_NR - mean_R[None, :])
            query = _queries(query_RD, diagonal_D, RELATIONS, WIDTH, BLOCK_R, BLOCK_D)
            grad = tl.dot(pull_NR, query, grad, input_precision=PRECISION)
            relation = _table(relation_RD, RELATIONS, WIDTH, BLOCK_R, BLOCK_D)
            grad = tl.dot(share_NR, relation, grad, input_precision=PRECISION)
        at_NR = n[:, None] * (2 * RELATIONS) + relation_R[None, :]
        is_in_NR = (n < stop)[:, None] & is_relation_R[None, :]
        tl.store(grad_N2R + at_NR, pull_NR, mask=is_in_NR)
        tl.store(grad_N2R + at_NR + RELATIONS, share_NR, mask=is_in_NR)
        is_in_ND = (n < stop)[:, None] & (column_D < WIDTH)[None, :]
        tl.store(grad_ND + n[:, None] * WIDTH + column_D[None, :], grad, mask=is_in_ND)


@jit
def _attend(  # type: ignore[no-untyped-def]
    vector_ND, first, stop, diagonal_D, query_RD, relation_RD, RELATIONS: tl.constexpr, WIDTH: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Return each relation's highest e, softmax denominator, and mean of s."""
    peak_R = tl.full((BLOCK_R,), float("-inf"), tl.float32)
    total_R = tl.zeros((BLOCK_R,), tl.float32)
    sum_R = tl.zeros((BLOCK_R,), tl.float32)
    for base in range(first, stop, BLOCK_N):
        n = base + tl.arange(0, BLOCK_N)
        score_NR, match_NR = _scores(
            vector_ND, n, stop, diagonal_D, query_RD, relation_RD, RELATIONS, WIDTH, PRECISION, BLOCK_R, BLOCK_D
        )
        higher_R = tl.maximum(peak_R, tl.max(score_NR, 0))
        mass_NR = tl.exp(score_NR - higher_R[None, :])
        # Rescale earlier sums to the new peak.
        shrink_R = tl.exp(peak_R - higher_R)
        total_R = total_R * shrink_R + tl.sum(mass_NR, 0)
        sum_R = sum_R * shrink_R + tl.sum(mass_NR * match_NR, 0)
        peak_R = higher_R
    return peak_R, total_R, sum_R / tl.maximum(total_R, 1e-30)


@jit
def _scores(  # type: ignore[no-untyped-def]
    vector_ND, n, stop, diagonal_D, query_RD, relation_RD, RELATIONS: tl.constexpr, WIDTH: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    """Return e (−inf beyond the bag) and s of sentences n."""
    column_D = tl.arange(0, BLOCK_D)
    is_in_ND = (n < stop)[:, None] & (column_D < WIDTH)[None, :]
    vector = tl.load(vector_ND + n[:, None] * WIDTH + column_D[None, :], mask=is_in_ND, other=0.0)
    # Loaded when needed: kept throughout, the tables would fill a multiprocessor's memory.
    query = _queries(query_RD, diagonal_D, RELATIONS, WIDTH, BLOCK_R, BLOCK_D)
    score_NR = tl.dot(vector, tl.trans(query), input_precision=PRECISION)
    relation = _table(relation_RD, RELATIONS, WIDTH, BLOCK_R, BLOCK_D)
    match_NR = tl.dot(vector, tl.trans(relation), input_precision=PRECISION)
    return tl.where((n < stop)[:, None], score_NR, float("-inf")), match_NR


@jit
def _queries(  # type: ignore[no-untyped-def]
    query_RD, diagonal_D, RELATIONS: tl.constexpr, WIDTH: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Return A q for each relation."""
    column_D = tl.arange(0, BLOCK_D)
    diagonal = tl.load(diagonal_D + column_D, mask=column_D < WIDTH, other=0.0)
    return _table(query_RD, RELATIONS, WIDTH, BLOCK_R, BLOCK_D) * diagonal[None, :]


@jit
def _table(  # type: ignore[no-untyped-def]
    table_RD, RELATIONS: tl.constexpr, WIDTH: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Return a vector per relation, padded with zeros."""
    relation_R, column_D = tl.arange(0, BLOCK_R), tl.arange(0, BLOCK_D)
    is_in_RD = (relation_R < RELATIONS)[:, None] & (column_D < WIDTH)[None, :]
    return tl.load(table_RD + relation_R[:, None] * WIDTH + column_D[None, :], mask=is_in_RD, other=0.0)


@jit
def _cross_entropy(logit_R, label_R):  # type: ignore[no-untyped-def]
    """Return the binary cross-entropy and its derivative."""
    small_R = tl.exp(-tl.abs(logit_R))
    probability_R = tl.where(logit_R >= 0.0, 1.0, small_R) / (1.0 + small_R)
    return tl.maximum(logit_R, 0.0) - logit_R * label_R + tl.log(1.0 + small_R), probability_R - label_R
