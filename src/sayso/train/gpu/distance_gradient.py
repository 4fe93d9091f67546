"""From the gradient of the distances' tables to those of the distances and of the filters' part for them.

Shapes: 2 mentions, Q distances, P width of a distance, A columns of a table, D width of a filter's row.

As matrix products these have sides of 5, for which libraries for GPUs are not made.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sayso.model.kernels.compiler import jit, tl, triton

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
        *(head_QA, tail_QA, table_2QP.contiguous(), weight_AD, grad_2QP, grad_2AP),
        DISTANCES=num_distances,
        COLUMNS=num_columns,
        ROW=row_width,
        WIDTH=width,
        BLOCK_P=triton.next_power_of_2(width),
        BLOCK_A=_COLUMNS,
        BLOCK_LONG=_LONG,
        BLOCK_Q=_DISTANCES,
    )
    return grad_2QP, (grad_2AP[0], grad_2AP[1])


@jit
def _distance_gradients(  # type: ignore[no-untyped-def]
    head_QA,
    tail_QA,
    table_2QP,
    weight_AD,
    grad_2QP,
    grad_2AP,
    DISTANCES: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROW: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_A: tl.constexpr,
    BLOCK_LONG: tl.constexpr,
    BLOCK_Q: tl.constexpr,
):
    """The first Q programs of each mention do a distance each, the others some columns each."""
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
    grad_A,
    part_A,
    out_P,
    COLUMNS: tl.constexpr,
    ROW: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_A: tl.constexpr,
):
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
    grad_QA,
    table_QP,
    out_AP,
    first,
    DISTANCES: tl.constexpr,
    COLUMNS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_P: tl.constexpr,
    BLOCK_A: tl.constexpr,
    BLOCK_Q: tl.constexpr,
):
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
