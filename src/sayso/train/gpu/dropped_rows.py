"""Lookup and dropout in one pass, with random numbers that depend on a key and a count alone.

Shapes: Y rows that are looked up, V rows of the table, W width of a row, L width with columns of zeros added.

A captured step takes no arguments, so it reads its key and its count from the device. The same key and count give the
same draws, whatever was drawn before: a resumed run repeats them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sayso.model.kernels.compiler import jit, tl, triton
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
    """Write the rows with dropout into `out_YL`, zeros beyond their width, and return it."""
    if not out_YL.is_cuda:
        assert draws.num_dropped == 0, "drawn on GPUs only"
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
        assert draws.num_dropped == 0, "drawn on GPUs only"
        return factor.fill_(1.0)
    grid = (triton.cdiv(num, _BLOCK),)
    _keep_factors[grid](factor, draws.key_1, draws.count_1, draws.num_dropped, draws.scale, num, BLOCK=_BLOCK)
    return factor


@jit
def _is_kept(key_1, count_1, num_dropped, first, NUM: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return which values from `first` on are kept (multiples of 8: one draw of 128 bits serves eight)."""
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
