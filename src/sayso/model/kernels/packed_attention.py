"""Attention within each of many short sentences, concatenated without padding, for GPUs (compiled by Triton).

PyTorch's attention is tuned for thousands of tokens: for sentences of 50, its blocks are mostly empty, and its backward
pass accumulates in memory. Here, one program computes a block of at most 64 subwords of one sentence and head.

Shapes: Q sentences, U subwords of all of them, N heads, D width of a head.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from sayso.model.kernels import compiler
from sayso.model.kernels.compiler import jit, tl, triton

NAME = "sayso_packed"
"""The name under which `packed_attention` is registered with `transformers`."""
_BLOCK = 64
_WIDTHS = (16, 32, 64, 128)


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    cu_seq_lens_q: Tensor,
    max_length_q: int,
    **others: Any,
) -> tuple[Tensor, None]:
    """Return attention within each sentence, from queries, keys and values [1, N, U, D], as `transformers` calls it.

    Sentence q has the subwords from `cu_seq_lens_q[q]` up to `cu_seq_lens_q[q + 1]`, at most `max_length_q`; together
    they have all U. On a CPU it runs as a slow loop, for tests.
    """
    del module, attention_mask, others
    query, key, value = (each[0].transpose(0, 1) for each in (query, key, value))
    scale = query.shape[2] ** -0.5 if scaling is None else scaling
    if not query.is_cuda:
        mixed = _one_by_one(query, key, value, cu_seq_lens_q, scale)
    elif compiler.IS_THERE and query.shape[2] in _WIDTHS:
        mixed = attend(query, key, value, cu_seq_lens_q, max_length_q, scale)
    else:
        from torch.nn.attention.varlen import varlen_attn

        starts, most = cu_seq_lens_q, max_length_q
        mixed = varlen_attn(query, key, value, starts, starts, most, most, scale=scale)  # type: ignore[assignment]
    return mixed[None], None


def attend(
    query_UND: Tensor, key_UND: Tensor, value_UND: Tensor, start_Q1: Tensor, longest: int, scale: float
) -> Tensor:
    """Return softmax(scale · query keyᵀ) value within each sentence."""
    mixed: Tensor = _Attention.apply(query_UND, key_UND, value_UND, start_Q1, longest, scale)  # type: ignore[no-untyped-call]
    return mixed


def _one_by_one(query: Tensor, key: Tensor, value: Tensor, start_Q1: Tensor, scale: float) -> Tensor:
    pieces = []
    for first, stop in pairwise(start_Q1.tolist()):
        q, k, v = (each[first:stop].transpose(0, 1) for each in (query, key, value))
        pieces.append(nn.functional.scaled_dot_product_attention(q, k, v, scale=scale).transpose(0, 1))
    return torch.cat(pieces)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, start_Q1: Tensor, longest: int, scale: float
    ) -> Tensor:
        query, key, value = (_rows(each) for each in (query, key, value))
        out = torch.empty(query.shape, dtype=query.dtype, device=query.device)
        mass_NU = torch.empty(query.shape[1], query.shape[0], dtype=torch.float32, device=query.device)
        _attend[_grid(start_Q1, query, longest)](
            *(query, key, value, start_Q1, out, mass_NU, scale * math.log2(math.e), query.shape[0]),
            *(each.stride(0) for each in (query, key, value)),
            **_sizes(query),
        )
        ctx.save_for_backward(query, key, value, start_Q1, out, mass_NU)
        ctx.longest, ctx.scale = longest, scale
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, start_Q1, out, mass_NU = ctx.saved_tensors
        grads = [torch.empty_like(out) for _ in range(3)]
        tensors = (query, key, value, start_Q1, out, mass_NU, gradients[0].contiguous())
        strides = [each.stride(0) for each in (query, key, value)]
        numbers = (ctx.scale, ctx.scale * math.log2(math.e), query.shape[0])
        grid = _grid(start_Q1, query, ctx.longest)
        _query_gradients[grid](*tensors, grads[0], *numbers, *strides, **_sizes(query))
        _key_gradients[grid](*tensors, grads[1], grads[2], *numbers, *strides, **_sizes(query))
        return *grads, None, None, None


def _rows(value: Tensor) -> Tensor:
    """Return the tensor with the heads of a subword next to each other in memory."""
    return value if value.stride()[1:] == (value.shape[2], 1) else value.contiguous()


def _grid(start_Q1: Tensor, query: Tensor, longest: int) -> tuple[int, int, int]:
    return start_Q1.shape[0] - 1, query.shape[1], triton.cdiv(longest, _BLOCK)


def _sizes(query: Tensor) -> dict[str, int]:
    return {"WIDTH": query.shape[2], "BLOCK": _BLOCK}


@jit
def _block(rows_U, base, stop, stride, head, WIDTH: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return one head of the subwords from `base` on; zeros beyond the sentence."""
    u = base + tl.arange(0, BLOCK)
    at = u.to(tl.int64)[:, None] * stride + head * WIDTH + tl.arange(0, WIDTH)[None, :]
    return tl.load(rows_U + at, mask=(u < stop)[:, None], other=0.0)


@jit
def _store(rows_U, value, base, stop, stride, head, WIDTH: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    u = base + tl.arange(0, BLOCK)
    at = u.to(tl.int64)[:, None] * stride + head * WIDTH + tl.arange(0, WIDTH)[None, :]
    tl.store(rows_U + at, value.to(rows_U.dtype.element_ty), mask=(u < stop)[:, None])


@jit
def _attend(  # type: ignore[no-untyped-def]
    query, key, value, start_Q1, out, mass_NU, scale, num, query_stride, key_stride, value_stride,
    WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    head, num_heads = tl.program_id(1), tl.num_programs(1)
    first, stop = tl.load(start_Q1 + tl.program_id(0)), tl.load(start_Q1 + tl.program_id(0) + 1)
    begin = first + tl.program_id(2) * BLOCK
    if begin < stop:
        rows = _block(query, begin, stop, query_stride, head, WIDTH, BLOCK)
        peak = tl.full((BLOCK,), -float("inf"), tl.float32)
        total, mixed = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK, WIDTH), tl.float32)
        for base in range(first, stop, BLOCK):
            is_there = base + tl.arange(0, BLOCK) < stop
            columns = _block(key, base, stop, key_stride, head, WIDTH, BLOCK)
            score = (tl.dot(rows, tl.trans(columns)) * scale).to(tl.float32)
            score = tl.where(is_there[None, :], score, -float("inf"))
            highest = tl.maximum(peak, tl.max(score, 1))
            weight, shrink = tl.exp2(score - highest[:, None]), tl.exp2(peak - highest)
            total = total * shrink + tl.sum(weight, 1)
            summand = _block(value, base, stop, value_stride, head, WIDTH, BLOCK)
            mixed = mixed * shrink[:, None] + tl.dot(weight.to(summand.dtype), summand)
            peak = highest
        _store(out, mixed / total[:, None], begin, stop, num_heads * WIDTH, head, WIDTH, BLOCK)
        u = begin + tl.arange(0, BLOCK)
        tl.store(mass_NU + head * num + u, peak + tl.log2(total), mask=u < stop)


@jit
def _weight(rows, columns, mass_NU, head, num, begin, base, stop, scale, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return the attention of the subwords from `begin` on to those from `base` on."""
    u = begin + tl.arange(0, BLOCK)
    mass = tl.load(mass_NU + head * num + u, mask=u < stop, other=float("inf"))
    weight = tl.exp2((tl.dot(rows, tl.trans(columns)) * scale).to(tl.float32) - mass[:, None])
    return tl.where((base + tl.arange(0, BLOCK) < stop)[None, :], weight, 0.0)


@jit
def _query_gradients(  # type: ignore[no-untyped-def]
    query, key, value, start_Q1, out, mass_NU, grad_out, grad_query, scale, scale2, num, query_stride, key_stride,
    value_stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    head, stride = tl.program_id(1), tl.num_programs(1) * WIDTH
    first, stop = tl.load(start_Q1 + tl.program_id(0)), tl.load(start_Q1 + tl.program_id(0) + 1)
    begin = first + tl.program_id(2) * BLOCK
    if begin < stop:
        rows = _block(query, begin, stop, query_stride, head, WIDTH, BLOCK)
        grad = _block(grad_out, begin, stop, stride, head, WIDTH, BLOCK)
        mixed = _block(out, begin, stop, stride, head, WIDTH, BLOCK)
        mean = tl.sum(grad.to(tl.float32) * mixed.to(tl.float32), 1)
        found = tl.zeros((BLOCK, WIDTH), tl.float32)
        for base in range(first, stop, BLOCK):
            columns = _block(key, base, stop, key_stride, head, WIDTH, BLOCK)
            weight = _weight(rows, columns, mass_NU, head, num, begin, base, stop, scale2, BLOCK)
            summand = _block(value, base, stop, value_stride, head, WIDTH, BLOCK)
            change = (weight * (tl.dot(grad, tl.trans(summand)) - mean[:, None]) * scale).to(tl.float32)
            found += tl.dot(change.to(columns.dtype), columns)
        _store(grad_query, found, begin, stop, stride, head, WIDTH, BLOCK)


@jit
def _key_gradients(  # type: ignore[no-untyped-def]
    query, key, value, start_Q1, out, mass_NU, grad_out, grad_key, grad_value, scale, scale2, num, query_stride,
    key_stride, value_stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    head, stride = tl.program_id(1), tl.num_programs(1) * WIDTH
    first, stop = tl.load(start_Q1 + tl.program_id(0)), tl.load(start_Q1 + tl.program_id(0) + 1)
    begin = first + tl.program_id(2) * BLOCK
    if begin < stop:
        columns = _block(key, begin, stop, key_stride, head, WIDTH, BLOCK)
        summand = _block(value, begin, stop, value_stride, head, WIDTH, BLOCK)
        of_key, of_value = tl.zeros((BLOCK, WIDTH), tl.float32), tl.zeros((BLOCK, WIDTH), tl.float32)
        for base in range(first, stop, BLOCK):
            rows = _block(query, base, stop, query_stride, head, WIDTH, BLOCK)
            grad = _block(grad_out, base, stop, stride, head, WIDTH, BLOCK)
            mixed = _block(out, base, stop, stride, head, WIDTH, BLOCK)
            mean = tl.sum(grad.to(tl.float32) * mixed.to(tl.float32), 1)
            weight = _weight(rows, columns, mass_NU, head, num, base, begin, stop, scale2, BLOCK)
            of_value += tl.dot(tl.trans(weight).to(grad.dtype), grad)
            change = (weight * (tl.dot(grad, tl.trans(summand)) - mean[:, None]) * scale).to(tl.float32)
            of_key += tl.dot(tl.trans(change).to(rows.dtype), rows)
        _store(grad_key, of_key, begin, stop, stride, head, WIDTH, BLOCK)
        _store(grad_value, of_value, begin, stop, stride, head, WIDTH, BLOCK)
