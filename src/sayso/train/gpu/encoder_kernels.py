"""Fused kernels of the encoder: its last layer, ReLU(W ReLU(peak + b) + c), and the gradients of distances.

The gradients of distances are matrix products with sides of 5, for which GPU libraries are not made.

Shapes: S sentences, F filters, D width of a sentence vector (of a filter's row in `weight_AD`), 2 mentions, Q
distances, P width of a distance, A columns of a table.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sayso.model.kernels.compiler import dot_block, dot_precision, jit, tl, triton

_BLOCK_S, _BLOCK_D, _BLOCK_F = 16, 32, 64


def projected(peak_SF: Tensor, bias_F: Tensor, weight_DF: Tensor, bias_D: Tensor) -> Tensor:
    """Return vector_SD; a peak of −inf, of a sentence without windows, has no effect."""
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
_COLUMNS, _LONG, _DISTANCES = 64, 512, 16


def distance_gradients(
    head_QA: Tensor, tail_QA: Tensor, table_2QP: Tensor, weight_AD: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return the gradients of table_2QP, and of the last 2 P columns of the filters, once for each mention."""
    num_distances, width = table_2QP.shape[1:]
    if not head_QA.is_cuda or width > _MOST_WIDTH:
        grad_2QA = torch.stack([head_QA, tail_QA])
        part_2AP = weight_AD[:, weight_AD.shape[1] - 2 * width :].view(-1, 2, width).transpose(0, 1)
        head_AP, tail_AP = torch.bmm(grad_2QA.transpose(1, 2), table_2QP)
        return torch.bmm(grad_2QA, part_2AP), (head_AP, tail_AP)
    num_columns, row_width = weight_AD.shape
    grad_2QP = weight_AD.new_empty(2, num_distances, width)
    grad_2AP = weight_AD.new_empty(2, num_columns, width)
    _distance_gradients[num_distances + triton.cdiv(num_columns, _COLUMNS), 2](
        *(head_QA, tail_QA, table_2QP.contiguous(), weight_AD, grad_2QP, grad_2AP), DISTANCES=num_distances,
        COLUMNS=num_columns, ROW=row_width, WIDTH=width, BLOCK_P=triton.next_power_of_2(width), BLOCK_A=_COLUMNS,
        BLOCK_LONG=_LONG, BLOCK_Q=_DISTANCES,
    )  # fmt: skip
    return grad_2QP, (grad_2AP[0], grad_2AP[1])


@jit
def _distance_gradients(  # type: ignore[no-untyped-def]
    head_QA, tail_QA, table_2QP, weight_AD, grad_2QP, grad_2AP, DISTANCES: tl.constexpr, COLUMNS: tl.constexpr,
    ROW: tl.constexpr, WIDTH: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_LONG: tl.constexpr,
    BLOCK_Q: tl.constexpr,
):  # fmt: skip
    """The first Q programs of each mention compute one distance each, the others some columns each."""
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
