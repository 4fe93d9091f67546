"""The kernel for GPUs: lookup, sum and maximum in one pass, so that no window's value is ever written to memory.

Shapes as in `base`, and Z windows that are looked at together. One program does one group and one width. The tables are
float32 or bfloat16, sums are float32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sayso.model.kernels.base import Codes, ProductTables, Windows
from sayso.model.kernels.compiler import jit, tl
from sayso.model.kernels.triton_gradient import constants, gradients, sizes

__all__ = ["gradients", "highest", "peaks"]

_WINDOWS_AT_ONCE, _PEAK_WARPS = 8, 2


def peaks(tables: ProductTables, codes: Codes, windows: Windows) -> tuple[Tensor, Tensor]:
    """Return peak_GF and token_GF, as `base` promises."""
    num_groups, num_filters = sizes(codes, windows)
    peak_GF = torch.empty(num_groups, num_filters, dtype=torch.float32, device=tables.word_YA.device)
    token_GF = torch.empty(num_groups, num_filters, dtype=torch.int32, device=peak_GF.device)
    if num_groups:
        _peaks[num_groups, len(windows.widths)](
            *(tables.word_YA, tables.head_QA, tables.tail_QA),
            *(codes.word_T, codes.head_T, codes.tail_T, codes.piece_T, codes.start_S1), *(peak_GF, token_GF),
            **constants(windows), IS_LARGE=tables.word_YA.numel() >= 2**31, BLOCK_Z=_WINDOWS_AT_ONCE,
            num_warps=_PEAK_WARPS,
        )  # fmt: skip
    return peak_GF, token_GF


def highest(tables: ProductTables, codes: Codes, windows: Windows) -> Tensor:
    """Return peak_GF alone."""
    return peaks(tables, codes, windows)[0]


@jit
def _peaks(  # type: ignore[no-untyped-def]
    word_YA, head_QA, tail_QA, word_T, head_T, tail_T, piece_T, start_S1, peak_GF, token_GF, WIDTHS: tl.constexpr,
    FIRSTS: tl.constexpr, FILTERS: tl.constexpr, BEFORE: tl.constexpr, PIECES: tl.constexpr,
    NUM_WIDTHS: tl.constexpr, BLOCK_F: tl.constexpr, IS_LARGE: tl.constexpr, BLOCK_Z: tl.constexpr,
):  # fmt: skip
    group = tl.program_id(0)
    # The widest filters have the most to do and go first.
    number = NUM_WIDTHS - 1 - tl.program_id(1)
    first = tl.load(start_S1 + group // PIECES)
    stop = tl.load(start_S1 + group // PIECES + 1)
    filter_F = tl.arange(0, BLOCK_F)
    for k in tl.static_range(NUM_WIDTHS):
        if number == k:
            best_ZF = tl.full((BLOCK_Z, BLOCK_F), float("-inf"), tl.float32)
            token_ZF = tl.full((BLOCK_Z, BLOCK_F), -1, tl.int32)
            last = stop if PIECES > 1 else tl.minimum(tl.maximum(stop - (WIDTHS[k] - 1), first + 1), stop)
            for base in range(first, last, BLOCK_Z):
                token_Z = base + tl.arange(0, BLOCK_Z)
                is_window_Z = token_Z < last
                if PIECES > 1:
                    piece_Z = tl.load(piece_T + token_Z, mask=is_window_Z, other=-1)
                    is_window_Z = is_window_Z & (piece_Z == group % PIECES)
                start_Z = token_Z - BEFORE
                value_ZF = _sum_of_rows(
                    word_YA, head_QA, tail_QA, word_T, head_T, tail_T, start_Z, is_window_Z, first, stop, filter_F,
                    WIDTHS[k], FIRSTS[k], FIRSTS[NUM_WIDTHS], FILTERS, IS_LARGE,
                )  # fmt: skip
                # No comparison with NaN holds, so it is asked for by name: a diverged model must show.
                is_better_ZF = is_window_Z[:, None] & ((value_ZF > best_ZF) | (value_ZF != value_ZF))
                best_ZF = tl.where(is_better_ZF, value_ZF, best_ZF)
                token_ZF = tl.where(is_better_ZF, token_Z[:, None], token_ZF)
            has_nan_F = tl.max((best_ZF != best_ZF).to(tl.int32), 0) > 0
            # Of several windows with the maximum the first; where there is no window, all are −1.
            is_peak_ZF = tl.where(has_nan_F[None, :], best_ZF != best_ZF, best_ZF == tl.max(best_ZF, 0)[None, :])
            token_F = tl.min(tl.where(is_peak_ZF, token_ZF, 2147483647), 0)
            peak_F = tl.where(has_nan_F, float("nan"), tl.max(best_ZF, 0))
            out_F = group * (NUM_WIDTHS * FILTERS) + k * FILTERS + filter_F
            tl.store(peak_GF + out_F, peak_F, mask=filter_F < FILTERS)
            tl.store(token_GF + out_F, token_F, mask=filter_F < FILTERS)


@jit
def _sum_of_rows(  # type: ignore[no-untyped-def]
    word_YA, head_QA, tail_QA, word_T, head_T, tail_T, start_Z, is_window_Z, first, stop, filter_F,
    WIDTH: tl.constexpr, FIRST: tl.constexpr, COLUMNS: tl.constexpr, FILTERS: tl.constexpr, IS_LARGE: tl.constexpr,
):  # fmt: skip
    """Return the values of one width's filters at the windows that start at these tokens."""
    value_ZF = tl.zeros((start_Z.shape[0], filter_F.shape[0]), tl.float32)
    for j in tl.static_range(WIDTH):
        at_Z = start_Z + j
        is_in_Z = is_window_Z & (at_Z >= first) & (at_Z < stop)
        is_in_ZF = is_in_Z[:, None] & (filter_F < FILTERS)[None, :]
        column_F = FIRST + j * FILTERS + filter_F
        word_Z = tl.load(word_T + at_Z, mask=is_in_Z, other=0)
        if IS_LARGE:
            word_Z = word_Z.to(tl.int64)
        head_Z = tl.load(head_T + at_Z, mask=is_in_Z, other=0)
        tail_Z = tl.load(tail_T + at_Z, mask=is_in_Z, other=0)
        word_ZF = word_YA + word_Z[:, None] * COLUMNS + column_F[None, :]
        head_ZF = head_QA + head_Z[:, None] * COLUMNS + column_F[None, :]
        tail_ZF = tail_QA + tail_Z[:, None] * COLUMNS + column_F[None, :]
        value_ZF += tl.load(word_ZF, mask=is_in_ZF, other=0.0).to(tl.float32)
        value_ZF += tl.load(head_ZF, mask=is_in_ZF, other=0.0).to(tl.float32)
        value_ZF += tl.load(tail_ZF, mask=is_in_ZF, other=0.0).to(tl.float32)
    return value_ZF
