"""Fused kernels of the encoder: lookup with dropout, the last layer, and the gradients of distances.

A captured step takes no arguments, so dropout reads a key and a count from the device. The same key and count give the
same draws, so a resumed run repeats them. The last layer is ReLU(W ReLU(peak + b) + c). The gradients of distances are
matrix products with a side of 5, for which GPU libraries are not optimised.

Shapes: S sentences, F filters, D width of a sentence vector (of a filter's row in `weight_AD`), 2 mentions, Q
distances, P width of a distance, A columns of a table, Y rows that are looked up, V rows of the table, W width of a
row, L width with columns of zeros added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from sayso.model.kernels.compiler import dot_block, dot_precision, jit, tl, triton
from sayso.model.layers import LEVELS

_FACTORS_FROM = tl.constexpr(2**30) if tl else 0
_LEVEL_MASK = tl.constexpr(LEVELS - 1) if tl else 0
_LEVEL_BITS = tl.constexpr(LEVELS.bit_length() - 1) if tl else 0
_BLOCK, _ROWS, _COLUMNS = 1024, 16, 64


class Draws(NamedTuple):
    """What a step's random numbers depend on: a key and a count on the device, and how many of `LEVELS` are dropped."""

    key_1: Tensor
    count_1: Tensor
    num_dropped: int

    @property
    def scale(self) -> float:
        """The factor of the kept values, which preserves the expectation."""
        return LEVELS / (LEVELS - self.num_dropped)


def dropped_rows(table_VW: Tensor, index_Y: Tensor, out_YL: Tensor, draws: Draws) -> Tensor:
    """Write the rows with dropout into `out_YL`, padded with zeros, and return it."""
    if not out_YL.is_cuda:
        assert draws.num_dropped == 0, "dropout needs a GPU"
        out_YL.zero_()[:, : table_VW.shape[1]] = table_VW[index_Y]
        return out_YL
    (num_rows, padded), width = out_YL.shape, table_VW.shape[1]
    _dropped_rows[triton.cdiv(num_rows, _ROWS), triton.cdiv(padded, _COLUMNS)](
        *(table_VW, index_Y, out_YL, draws.key_1, draws.count_1, draws.num_dropped, draws.scale, num_rows),
        WIDTH=width,
        PADDED=padded,
        ROWS=_ROWS,
        COLUMNS=_COLUMNS,
    )
    return out_YL


def keep_factors(num: int, draws: Draws) -> Tensor:
    """Return the dropout factor of each value: 0 or the scale."""
    factor = torch.empty(num, dtype=torch.float32, device=draws.key_1.device)
    if not factor.is_cuda:
        assert draws.num_dropped == 0, "dropout needs a GPU"
        return factor.fill_(1.0)
    grid = (triton.cdiv(num, _BLOCK),)
    _keep_factors[grid](factor, draws.key_1, draws.count_1, draws.num_dropped, draws.scale, num, BLOCK=_BLOCK)
    return factor


@jit
def _is_kept(key_1, count_1, num_dropped, first, NUM: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return which of NUM values from `first` on are kept (both multiples of 8: one 128-bit draw serves eight)."""
    # Seven rounds are the fewest that pass the usual tests of randomness (Salmon et al. 2011).
    key = tl.load(key_1) + tl.load(count_1)
    a, b, c, d = tl.randint4x(key, first // 8 + tl.arange(0, NUM // 8), n_rounds=7)
    draw = tl.interleave(tl.interleave(a, b), tl.interleave(c, d))
    level = tl.interleave(draw & _LEVEL_MASK, draw >> _LEVEL_BITS)
    return level >= num_dropped


@jit
def _dropped_rows(  # type: ignore[no-untyped-def]
    table_VW, index_Y, out_YL, key_1, count_1, num_dropped, scale, num_rows, WIDTH: tl.constexpr,
    PADDED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    y = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.load(index_Y + y, mask=y < num_rows, other=0).to(tl.int64)
    is_value = (y < num_rows)[:, None] & (column < WIDTH)[None, :]
    value = tl.load(table_VW + row[:, None] * WIDTH + column[None, :], mask=is_value, other=0.0)
    if num_dropped > 0:
        program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
        is_kept = _is_kept(key_1, count_1, num_dropped, program * (ROWS * COLUMNS), ROWS * COLUMNS)
        value = tl.where(tl.reshape(is_kept, (ROWS, COLUMNS)), value * scale, 0.0)
    is_place = (y < num_rows)[:, None] & (column < PADDED)[None, :]
    at = y.to(tl.int64)[:, None] * PADDED + column[None, :]
    tl.store(out_YL + at, value.to(out_YL.dtype.element_ty), mask=is_place)


@jit
def _keep_factors(  # type: ignore[no-untyped-def]
    factor, key_1, count_1, num_dropped, scale, num, BLOCK: tl.constexpr
):
    first = tl.program_id(0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    # Separate from the draws of the rows.
    is_kept = _is_kept(key_1, count_1, num_dropped, first + _FACTORS_FROM, BLOCK)
    tl.store(factor + at, tl.where(is_kept, scale, 0.0), mask=at < num)


_BLOCK_S, _BLOCK_D, _BLOCK_F = 16, 32, 64


def projected(peak_SF: Tensor, bias_F: Tensor, weight_DF: Tensor, bias_D: Tensor) -> Tensor:
    """Return vector_SD; a peak of −inf (a sentence without windows) has no effect."""
    vector_SD: Tensor = _Projected.apply(peak_SF, bias_F, weight_DF, bias_D)  # type: ignore[no-untyped-call]
    return vector_SD


class _Projected(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, peak_SF: Tensor, bias_F: Tensor, weight_DF: Tensor, bias_D: Tensor) -> Tensor:
        (num_sentences, num_filters), width = peak_SF.shape, bias_D.shape[0]
        active_SF, vector_SD = torch.empty_like(peak_SF), peak_SF.new_empty(num_sentences, width)
        _project[triton.cdiv(num_sentences, _BLOCK_S), triton.cdiv(width, _BLOCK_D)](
            *(peak_SF, bias_F, weight_DF, bias_D, active_SF, vector_SD, num_sentences), FILTERS=num_filters,
            WIDTH=width, PRECISION=dot_precision(), BLOCK_S=_BLOCK_S, BLOCK_D=_BLOCK_D, BLOCK_F=_BLOCK_F,
        )  # fmt: skip
        ctx.save_for_backward(active_SF, weight_DF, vector_SD)
        return vector_SD

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        active_SF, weight_DF, vector_SD = ctx.saved_tensors
        num_sentences, num_filters = active_SF.shape
        width = vector_SD.shape[1]
        inner_SD, grad_SF = torch.empty_like(vector_SD), torch.empty_like(active_SF)
        grad_F, grad_D = torch.split(active_SF.new_zeros(num_filters + width), [num_filters, width])
        _project_back[triton.cdiv(num_sentences, _BLOCK_S), triton.cdiv(num_filters, _BLOCK_F)](
            *(gradients[0].contiguous(), active_SF, weight_DF, vector_SD),
            *(inner_SD, grad_SF, grad_F, grad_D, num_sentences), FILTERS=num_filters, WIDTH=width,
            PRECISION=dot_precision(), BLOCK_S=_BLOCK_S, BLOCK_D=dot_block(width), BLOCK_F=_BLOCK_F,
        )  # fmt: skip
        return grad_SF, grad_F, inner_SD.T @ active_SF, grad_D


@jit
def _project(  # type: ignore[no-untyped-def]
    peak_SF, bias_F, weight_DF, bias_D, active_SF, vector_SD, num_sentences, FILTERS: tl.constexpr,
    WIDTH: tl.constexpr, PRECISION: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_F: tl.constexpr,
):  # fmt: skip
    row_S = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    column_D = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    sum_SD = tl.zeros((BLOCK_S, BLOCK_D), tl.float32)
    for base in range(0, FILTERS, BLOCK_F):
        filter_F = base + tl.arange(0, BLOCK_F)
        is_in_SF = (row_S < num_sentences)[:, None] & (filter_F < FILTERS)[None, :]
        at_SF = row_S[:, None] * FILTERS + filter_F[None, :]
        active = tl.load(peak_SF + at_SF, mask=is_in_SF, other=0.0)
        active += tl.load(bias_F + filter_F, mask=filter_F < FILTERS, other=0.0)[None, :]
        active = _relu(active)
        if tl.program_id(1) == 0:
            tl.store(active_SF + at_SF, active, mask=is_in_SF)
        is_in_FD = (filter_F < FILTERS)[:, None] & (column_D < WIDTH)[None, :]
        weight_FD = tl.load(weight_DF + column_D[None, :] * FILTERS + filter_F[:, None], mask=is_in_FD, other=0.0)
        sum_SD = tl.dot(active, weight_FD, sum_SD, input_precision=PRECISION)
    sum_SD += tl.load(bias_D + column_D, mask=column_D < WIDTH, other=0.0)[None, :]
    is_in_SD = (row_S < num_sentences)[:, None] & (column_D < WIDTH)[None, :]
    tl.store(vector_SD + row_S[:, None] * WIDTH + column_D[None, :], _relu(sum_SD), mask=is_in_SD)


@jit
def _relu(value):  # type: ignore[no-untyped-def]
    """Return the positive part; keeps NaN, unlike `tl.maximum`."""
    return tl.where(value < 0.0, 0.0, value)


@jit
def _project_back(  # type: ignore[no-untyped-def]
    grad_SD, active_SF, weight_DF, vector_SD, inner_SD, grad_SF, grad_F, grad_D, num_sentences,
    FILTERS: tl.constexpr, WIDTH: tl.constexpr, PRECISION: tl.constexpr, BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    row_S = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    filter_F = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
    column_D = tl.arange(0, BLOCK_D)
    is_in_SD = (row_S < num_sentences)[:, None] & (column_D < WIDTH)[None, :]
    at_SD = row_S[:, None] * WIDTH + column_D[None, :]
    inner = tl.load(grad_SD + at_SD, mask=is_in_SD, other=0.0)
    inner = tl.where(tl.load(vector_SD + at_SD, mask=is_in_SD, other=0.0) > 0.0, inner, 0.0)
    if tl.program_id(1) == 0:
        tl.store(inner_SD + at_SD, inner, mask=is_in_SD)
        tl.atomic_add(grad_D + column_D, tl.sum(inner, 0), mask=column_D < WIDTH, sem="relaxed")
    is_in_DF = (column_D < WIDTH)[:, None] & (filter_F < FILTERS)[None, :]
    weight = tl.load(weight_DF + column_D[:, None] * FILTERS + filter_F[None, :], mask=is_in_DF, other=0.0)
    is_in_SF = (row_S < num_sentences)[:, None] & (filter_F < FILTERS)[None, :]
    at_SF = row_S[:, None] * FILTERS + filter_F[None, :]
    grad = tl.dot(inner, weight, input_precision=PRECISION)
    grad = tl.where(tl.load(active_SF + at_SF, mask=is_in_SF, other=0.0) > 0.0, grad, 0.0)
    tl.store(grad_SF + at_SF, grad, mask=is_in_SF)
    tl.atomic_add(grad_F + filter_F, tl.sum(grad, 0), mask=filter_F < FILTERS, sem="relaxed")


_MOST_WIDTH = 16
_LONG, _DISTANCES = 512, 16


def distance_gradients(head_QA: Tensor, tail_QA: Tensor, table_2QP: Tensor, weight_AD: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of table_2QP and of the last 2 P columns of the filters, [2, A, P]."""
    num_distances, width = table_2QP.shape[1:]
    if not head_QA.is_cuda or width > _MOST_WIDTH:
        grad_2QA = torch.stack([head_QA, tail_QA])
        part_2AP = weight_AD[:, weight_AD.shape[1] - 2 * width :].view(-1, 2, width).transpose(0, 1)
        return torch.bmm(grad_2QA, part_2AP), torch.bmm(grad_2QA.transpose(1, 2), table_2QP)
    num_columns, row_width = weight_AD.shape
    grad_2QP = weight_AD.new_empty(2, num_distances, width)
    grad_2AP = weight_AD.new_empty(2, num_columns, width)
    _distance_gradients[num_distances + triton.cdiv(num_columns, _COLUMNS), 2](
        *(head_QA, tail_QA, table_2QP.contiguous(), weight_AD, grad_2QP, grad_2AP), DISTANCES=num_distances,
        COLUMNS=num_columns, ROW=row_width, WIDTH=width, BLOCK_P=triton.next_power_of_2(width), BLOCK_A=_COLUMNS,
        BLOCK_LONG=_LONG, BLOCK_Q=_DISTANCES,
    )  # fmt: skip
    return grad_2QP, grad_2AP


@jit
def _distance_gradients(  # type: ignore[no-untyped-def]
    head_QA, tail_QA, table_2QP, weight_AD, grad_2QP, grad_2AP, DISTANCES: tl.constexpr, COLUMNS: tl.constexpr,
    ROW: tl.constexpr, WIDTH: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_LONG: tl.constexpr,
    BLOCK_Q: tl.constexpr,
):  # fmt: skip
    """For each mention, the first Q programs compute one distance each, the others a block of columns each."""
    mention, number = tl.program_id(1), tl.program_id(0)
    grad_QA = tail_QA if mention else head_QA
    if number < DISTANCES:
        part_A = weight_AD + (ROW - 2 * WIDTH + mention * WIDTH)
        out_P = grad_2QP + (mention * DISTANCES + number) * WIDTH
        _sum_over_columns(grad_QA + number * COLUMNS, part_A, out_P, COLUMNS, ROW, WIDTH, BLOCK_P, BLOCK_LONG)
    else:
        table_QP, out_AP = table_2QP + mention * DISTANCES * WIDTH, grad_2AP + mention * COLUMNS * WIDTH
        first = (number - DISTANCES) * BLOCK_A
        _sum_over_distances(grad_QA, table_QP, out_AP, first, DISTANCES, COLUMNS, WIDTH, BLOCK_P, BLOCK_A, BLOCK_Q)


@jit
def _sum_over_columns(  # type: ignore[no-untyped-def]
    grad_A, part_A, out_P, COLUMNS: tl.constexpr, ROW: tl.constexpr, WIDTH: tl.constexpr, BLOCK_P: tl.constexpr,
    BLOCK_A: tl.constexpr,
):  # fmt: skip
    p = tl.arange(0, BLOCK_P)
    sum_AP = tl.zeros((BLOCK_A, BLOCK_P), tl.float32)
    for base in range(0, COLUMNS, BLOCK_A):
        a = base + tl.arange(0, BLOCK_A)
        is_in_AP = (a < COLUMNS)[:, None] & (p < WIDTH)[None, :]
        part = tl.load(part_A + a[:, None] * ROW + p[None, :], mask=is_in_AP, other=0.0)
        sum_AP += tl.load(grad_A + a, mask=a < COLUMNS, other=0.0)[:, None] * part
    tl.store(out_P + p, tl.sum(sum_AP, 0), mask=p < WIDTH)


@jit
def _sum_over_distances(  # type: ignore[no-untyped-def]
    grad_QA, table_QP, out_AP, first, DISTANCES: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK_P: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_Q: tl.constexpr,
):  # fmt: skip
    a, p = first + tl.arange(0, BLOCK_A), tl.arange(0, BLOCK_P)
    sum_AP = tl.zeros((BLOCK_A, BLOCK_P), tl.float32)
    for base in range(0, DISTANCES, BLOCK_Q):
        q = base + tl.arange(0, BLOCK_Q)
        is_in_QA = (q < DISTANCES)[:, None] & (a < COLUMNS)[None, :]
        grad = tl.load(grad_QA + q[:, None] * COLUMNS + a[None, :], mask=is_in_QA, other=0.0)
        is_in_QP = (q < DISTANCES)[:, None] & (p < WIDTH)[None, :]
        table = tl.load(table_QP + q[:, None] * WIDTH + p[None, :], mask=is_in_QP, other=0.0)
        sum_AP += tl.sum(grad[:, :, None] * table[:, None, :], 0)
    is_in_AP = (a < COLUMNS)[:, None] & (p < WIDTH)[None, :]
    tl.store(out_AP + a[:, None] * WIDTH + p[None, :], sum_AP, mask=is_in_AP)
