"""The encoder's last layer in one pass, and backward in another: ReLU(W ReLU(peak + b) + c).

Shapes: S sentences, F filters, D width of a sentence vector.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sayso.model.kernels.compiler import dot_block, dot_precision, jit, tl, triton

_BLOCK_S, _BLOCK_D, _BLOCK_F = 16, 32, 64


def projected(peak_SF: Tensor, bias_F: Tensor, weight_DF: Tensor, bias_D: Tensor) -> Tensor:
    """Return vector_SD; a peak of −inf, that of a sentence without windows, counts as nothing."""
    vector_SD: Tensor = _Projected.apply(peak_SF, bias_F, weight_DF, bias_D)  # type: ignore[no-untyped-call]
    return vector_SD


class _Projected(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, peak_SF: Tensor, bias_F: Tensor, weight_DF: Tensor, bias_D: Tensor) -> Tensor:
        (num_sentences, num_filters), width = peak_SF.shape, bias_D.shape[0]
        active_SF, vector_SD = torch.empty_like(peak_SF), peak_SF.new_empty(num_sentences, width)
        _project[triton.cdiv(num_sentences, _BLOCK_S), triton.cdiv(width, _BLOCK_D)](
            *(peak_SF, bias_F, weight_DF, bias_D, active_SF, vector_SD, num_sentences),
            FILTERS=num_filters,
            WIDTH=width,
            PRECISION=dot_precision(),
            BLOCK_S=_BLOCK_S,
            BLOCK_D=_BLOCK_D,
            BLOCK_F=_BLOCK_F,
        )
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
            *(inner_SD, grad_SF, grad_F, grad_D, num_sentences),
            FILTERS=num_filters,
            WIDTH=width,
            PRECISION=dot_precision(),
            BLOCK_S=_BLOCK_S,
            BLOCK_D=dot_block(width),
            BLOCK_F=_BLOCK_F,
        )
        return grad_SF, grad_F, inner_SD.T @ active_SF, grad_D


@jit
def _project(  # type: ignore[no-untyped-def]
    peak_SF,
    bias_F,
    weight_DF,
    bias_D,
    active_SF,
    vector_SD,
    num_sentences,
    FILTERS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_F: tl.constexpr,
):
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
    """Return the positive part; NaN stays, which `tl.maximum` would turn into 0."""
    return tl.where(value < 0.0, 0.0, value)


@jit
def _project_back(  # type: ignore[no-untyped-def]
    grad_SD,
    active_SF,
    weight_DF,
    vector_SD,
    inner_SD,
    grad_SF,
    grad_F,
    grad_D,
    num_sentences,
    FILTERS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_F: tl.constexpr,
):
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
