"""The kernel for GPUs: lookup, sum and maximum in one pass, so that window values are never written to memory.

Shapes as in `base`, Z windows that are processed together, U learned tokens, L width of a row, and I winners of a
filter processed together. One program computes one group and one width. Tables are float32 or bfloat16, sums float32.

The gradient of the word table would be zero nearly everywhere, so it is never materialised. First, each filter's
winners that have a gradient are listed with the rows that their taps looked up; then each column sums its weighted
rows. Learned rows (types and distances) are few, and get their gradients by atomic additions: their last digits may
differ from run to run.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sayso.model.kernels.base import Codes, Gradients, ProductTables, TokenRows, Windows
from sayso.model.kernels.compiler import jit, tl, triton

__all__ = ["gradients", "peaks"]

_WINDOWS_AT_ONCE, _PEAK_WARPS = 8, 2


def peaks(tables: ProductTables, codes: Codes, windows: Windows) -> tuple[Tensor, Tensor]:
    """Return peak_GF and token_GF, as in `base`."""
    num_groups = (codes.start_S1.shape[0] - 1) * windows.num_pieces
    num_filters = len(windows.widths) * windows.num_filters
    peak_GF = torch.empty(num_groups, num_filters, dtype=torch.float32, device=tables.word_YA.device)
    token_GF = torch.empty(num_groups, num_filters, dtype=torch.int32, device=peak_GF.device)
    if num_groups:
        _peaks[num_groups, len(windows.widths)](
            *(*tables, *codes, peak_GF, token_GF), **constants(windows), BLOCK_Z=_WINDOWS_AT_ONCE,
            IS_LARGE=tables.word_YA.numel() >= 2**31, num_warps=_PEAK_WARPS,
        )  # fmt: skip
    return peak_GF, token_GF


@jit
def _peaks(  # type: ignore[no-untyped-def]
    word_YA, head_QA, tail_QA, word_T, head_T, tail_T, piece_T, start_S1, peak_GF, token_GF, WIDTHS: tl.constexpr,
    FIRSTS: tl.constexpr, FILTERS: tl.constexpr, BEFORE: tl.constexpr, PIECES: tl.constexpr,
    NUM_WIDTHS: tl.constexpr, BLOCK_F: tl.constexpr, IS_LARGE: tl.constexpr, BLOCK_Z: tl.constexpr,
):  # fmt: skip
    group = tl.program_id(0)
    # The widest filters take longest and go first.
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
                # Comparisons with NaN are false, so test for it: a diverged model must be noticed.
                is_better_ZF = is_window_Z[:, None] & ((value_ZF > best_ZF) | (value_ZF != value_ZF))
                best_ZF = tl.where(is_better_ZF, value_ZF, best_ZF)
                token_ZF = tl.where(is_better_ZF, token_Z[:, None], token_ZF)
            has_nan_F = tl.max((best_ZF != best_ZF).to(tl.int32), 0) > 0
            # The first window with the maximum; −1 if there is no window.
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


_GROUPS_AT_ONCE, _WINNERS_AT_ONCE, _COLUMNS_AT_ONCE = 256, 32, 64


def gradients(grad_GF: Tensor, token_GF: Tensor, rows: TokenRows, codes: Codes, windows: Windows) -> Gradients:
    """Return the gradients in float32, as in `base`."""
    grad_GF = grad_GF.contiguous()
    num = [rows.num_learned, rows.num_distances, rows.num_distances]
    # One block of memory, cleared at once.
    together = torch.zeros(sum(num), windows.first_columns[-1], dtype=torch.float32, device=grad_GF.device)
    learned_UA, head_QA, tail_QA = torch.split(together, num)
    if num_groups := grad_GF.shape[0]:
        _learned_gradients[num_groups, len(windows.widths)](
            *(grad_GF, token_GF, codes.word_T, codes.head_T, codes.tail_T, codes.start_S1),
            *(learned_UA, head_QA, tail_QA, rows.row_YW.shape[0] - rows.num_learned),
            HAS_LEARNED=rows.num_learned > 0,
            **constants(windows, "WIDTHS"),
            num_warps=4,
        )
    weight_AW = _weight_gradient(grad_GF, token_GF, rows.row_YW, codes, windows)
    return Gradients(weight_AW, learned_UA, head_QA, tail_QA)


def _weight_gradient(grad_GF: Tensor, token_GF: Tensor, row_YL: Tensor, codes: Codes, windows: Windows) -> Tensor:
    num_groups, num_filters = grad_GF.shape
    num_columns, width = windows.first_columns[-1], row_YL.shape[1]
    device = grad_GF.device
    num_F = torch.empty(num_filters, dtype=torch.int32, device=device)
    grad_FG = torch.empty(num_filters, num_groups, dtype=torch.float32, device=device)
    row_AG = torch.empty(num_columns, num_groups, dtype=torch.int32, device=device)
    _list_winners[windows.num_filters, len(windows.widths)](
        *(grad_GF, token_GF, codes.word_T, codes.start_S1, num_F, grad_FG, row_AG, num_groups),
        **constants(windows, "WIDTHS", "BLOCK_F"),
        BLOCK_G=_GROUPS_AT_ONCE,
        num_warps=4,
    )
    weight_AL = torch.empty(num_columns, width, dtype=torch.float32, device=device)
    _sum_rows[num_columns, triton.cdiv(width, _COLUMNS_AT_ONCE)](
        *(row_YL, num_F, grad_FG, row_AG, weight_AL, num_groups),
        WIDTH=width,
        **constants(windows, "WIDTHS", "BEFORE", "PIECES", "BLOCK_F"),
        BLOCK_I=_WINNERS_AT_ONCE,
        BLOCK_L=_COLUMNS_AT_ONCE,
        num_warps=2,
    )
    return weight_AL


def constants(windows: Windows, *without: str) -> dict[str, Any]:
    """Return the compile-time constants of the kernels, except those in `without`."""
    known = {
        "WIDTHS": windows.widths,
        "FIRSTS": windows.first_columns,
        "FILTERS": windows.num_filters,
        "BEFORE": windows.before,
        "PIECES": windows.num_pieces,
        "NUM_WIDTHS": len(windows.widths),
        "BLOCK_F": triton.next_power_of_2(windows.num_filters),
    }
    return {name: value for name, value in known.items() if name not in without}


@jit
def _learned_gradients(  # type: ignore[no-untyped-def]
    grad_GF, token_GF, word_T, head_T, tail_T, start_S1, learned_UA, head_QA, tail_QA, first_learned,
    HAS_LEARNED: tl.constexpr, FIRSTS: tl.constexpr, FILTERS: tl.constexpr, BEFORE: tl.constexpr,
    PIECES: tl.constexpr, NUM_WIDTHS: tl.constexpr, BLOCK_F: tl.constexpr,
):  # fmt: skip
    """Add the gradients of one group and width to the rows that their winners looked up."""
    group = tl.program_id(0)
    filter_F = tl.arange(0, BLOCK_F)
    in_F = group * (NUM_WIDTHS * FILTERS) + tl.program_id(1) * FILTERS + filter_F
    grad_F = tl.load(grad_GF + in_F, mask=filter_F < FILTERS, other=0.0)
    token_F = tl.load(token_GF + in_F, mask=filter_F < FILTERS, other=-1)
    # A group without windows has no winner (−1), and its taps must not read the sentence.
    is_won_F = (grad_F != 0.0) & (token_F >= 0)
    for k in tl.static_range(NUM_WIDTHS):
        if tl.program_id(1) == k:
            for j in range(FIRSTS[k] // FILTERS, FIRSTS[k + 1] // FILTERS):
                at_F = token_F - BEFORE + (j - FIRSTS[k] // FILTERS)
                is_in_F = is_won_F & _is_in_sentence(start_S1, at_F, group // PIECES)
                column_F = j * FILTERS + filter_F
                head_F = tl.load(head_T + at_F, mask=is_in_F, other=0) * FIRSTS[NUM_WIDTHS]
                tail_F = tl.load(tail_T + at_F, mask=is_in_F, other=0) * FIRSTS[NUM_WIDTHS]
                tl.atomic_add(head_QA + head_F + column_F, grad_F, mask=is_in_F, sem="relaxed")
                tl.atomic_add(tail_QA + tail_F + column_F, grad_F, mask=is_in_F, sem="relaxed")
                if HAS_LEARNED:
                    word_F = tl.load(word_T + at_F, mask=is_in_F, other=0) - first_learned
                    is_learned_F = is_in_F & (word_F >= 0)
                    at = learned_UA + word_F * FIRSTS[NUM_WIDTHS] + column_F
                    tl.atomic_add(at, grad_F, mask=is_learned_F, sem="relaxed")


@jit
def _is_in_sentence(start_S1, at, sentence):  # type: ignore[no-untyped-def]
    return (at >= tl.load(start_S1 + sentence)) & (at < tl.load(start_S1 + sentence + 1))


@jit
def _list_winners(  # type: ignore[no-untyped-def]
    grad_GF, token_GF, word_T, start_S1, num_F, grad_FG, row_AG, num_groups, FIRSTS: tl.constexpr,
    FILTERS: tl.constexpr, BEFORE: tl.constexpr, PIECES: tl.constexpr, NUM_WIDTHS: tl.constexpr,
    BLOCK_G: tl.constexpr,
):  # fmt: skip
    """List the gradient of each winner of one filter, if it is not 0, and each tap's row (−1 if the tap has none)."""
    one, width = tl.program_id(0), tl.program_id(1)
    index = width * FILTERS + one
    num = 0
    for base in range(0, num_groups, BLOCK_G):
        group_G = base + tl.arange(0, BLOCK_G)
        is_group_G = group_G < num_groups
        grad_G = tl.load(grad_GF + group_G * (NUM_WIDTHS * FILTERS) + index, mask=is_group_G, other=0.0)
        token_G = tl.load(token_GF + group_G * (NUM_WIDTHS * FILTERS) + index, mask=is_group_G, other=-1)
        is_won_G = (grad_G != 0.0) & (token_G >= 0)
        rank_G = num + tl.cumsum(is_won_G.to(tl.int32), 0) - 1
        tl.store(grad_FG + index * num_groups + rank_G, grad_G, mask=is_won_G)
        sentence_G = tl.minimum(group_G, num_groups - 1) // PIECES
        for k in tl.static_range(NUM_WIDTHS):
            if width == k:
                for j in range(FIRSTS[k] // FILTERS, FIRSTS[k + 1] // FILTERS):
                    at_G = token_G - BEFORE + (j - FIRSTS[k] // FILTERS)
                    is_in_G = is_won_G & _is_in_sentence(start_S1, at_G, sentence_G)
                    row_G = tl.load(word_T + at_G, mask=is_in_G, other=-1)
                    out = row_AG + (j * FILTERS + one).to(tl.int64) * num_groups
                    tl.store(out + rank_G, row_G, mask=is_won_G)
        num += tl.sum(is_won_G.to(tl.int32), 0)
    tl.store(num_F + index, num)


@jit
def _sum_rows(  # type: ignore[no-untyped-def]
    row_YL, num_F, grad_FG, row_AG, weight_AL, num_groups, WIDTH: tl.constexpr, FIRSTS: tl.constexpr,
    FILTERS: tl.constexpr, NUM_WIDTHS: tl.constexpr, BLOCK_I: tl.constexpr, BLOCK_L: tl.constexpr,
):  # fmt: skip
    """Sum the rows of one column's winners, each times its gradient."""
    column = tl.program_id(0)
    width = 0
    for k in tl.static_range(NUM_WIDTHS):
        width += (column >= FIRSTS[k + 1]).to(tl.int32)
    index = width * FILTERS + column % FILTERS
    part_L = tl.program_id(1) * BLOCK_L + tl.arange(0, BLOCK_L)
    sum_IL = tl.zeros((BLOCK_I, BLOCK_L), tl.float32)
    for base in range(0, tl.load(num_F + index), BLOCK_I):
        winner_I = base + tl.arange(0, BLOCK_I)
        is_there_I = winner_I < tl.load(num_F + index)
        grad_I = tl.load(grad_FG + index * num_groups + winner_I, mask=is_there_I, other=0.0)
        row_I = tl.load(row_AG + column.to(tl.int64) * num_groups + winner_I, mask=is_there_I, other=-1)
        at_IL = row_I.to(tl.int64)[:, None] * WIDTH + part_L[None, :]
        is_in_IL = (row_I >= 0)[:, None] & (part_L < WIDTH)[None, :]
        sum_IL += grad_I[:, None] * tl.load(row_YL + at_IL, mask=is_in_IL, other=0.0).to(tl.float32)
    tl.store(weight_AL + column * WIDTH + part_L, tl.sum(sum_IL, 0), mask=part_L < WIDTH)
