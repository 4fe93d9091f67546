"""Convolution and max over time for sentences stored end to end, without padding them to a common length.

Shapes: S sentences, T tokens, Z rows (the tokens, with rows of zeros between the sentences where windows must reach
beyond them), D width of a row, F filters of all widths together (narrow ones first), K filter widths, G groups of
windows over which the maximum is taken, P width of the positions, W of the words, U tokens that are types.

A filter of width w is w taps: row z + j times tap j, summed over j, is its value at the window that starts at row z.
Tap j holds all filters wider than j, so one matrix product per tap, added in place, does all filters at once.
Only one window of a group and filter takes part in its maximum, so the backward pass gathers those windows
instead of multiplying with a gradient that is zero nearly everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sayso.features.batch import SentenceBatch
from sayso.model.embedding import TokenRows


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Rows for tokens: `gap` rows of zeros for each sentence, `before` of them in front of its tokens.

    `sentence_Z` is the sentence whose rows these are, `offset_Z` the row's place among them.
    """

    place_T: Tensor
    sentence_Z: Tensor
    offset_Z: Tensor
    gap: int

    @property
    def num_rows(self) -> int:
        """Z."""
        return self.sentence_Z.shape[0]

    def spread(self, value_T: Tensor) -> Tensor:
        """Return the tokens' values in their rows, zeros in the gaps."""
        if self.gap == 0:
            return value_T
        return value_T.new_zeros(self.num_rows, *value_T.shape[1:]).index_copy(0, self.place_T, value_T)


def lay_out(sentences: SentenceBatch, gap: int, before: int = 0) -> Layout:
    """Return the rows of a batch whose sentences are `gap` rows apart."""
    index_S = torch.arange(sentences.num_sentences, device=sentences.start_S1.device)
    num_tokens = sentences.token_T.shape[0]
    num_rows = num_tokens + gap * sentences.num_sentences
    sentence_Z = torch.repeat_interleave(index_S, sentences.length_S + gap, output_size=num_rows)
    start_S = sentences.start_S1[:-1] + gap * index_S
    row_Z = torch.arange(num_rows, device=index_S.device)
    sentence_T = torch.repeat_interleave(index_S, sentences.length_S, output_size=num_tokens) if gap else sentence_Z
    place_T = row_Z[:num_tokens] + gap * sentence_T + before
    return Layout(place_T=place_T, sentence_Z=sentence_Z, offset_Z=row_Z - start_S[sentence_Z], gap=gap)


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Which windows there are: for the window that starts at row z its group, and for which widths it exists."""

    group_Z: Tensor
    is_window_ZK: Tensor
    num_groups: int


def taps_of(weights: Sequence[Tensor]) -> list[Tensor]:
    """Return tap j as [filters wider than j, D], from one [w, filters, D] for each width, narrow ones first."""
    return [torch.cat([w[j] for w in weights if len(w) > j]) for j in range(len(weights[-1]))]


def window_max(
    tokens: TokenRows, position_TP: Tensor, layout: Layout, windows: Windows, taps: Sequence[Tensor]
) -> Tensor:
    """Return peak_GF, the highest value of each filter in each group of windows; −inf in a group without windows.

    The gradient reaches the taps, the positions and the types; ties go to the first window. It cannot be
    differentiated twice.
    """
    word_ZW, position_ZP = layout.spread(tokens.word_TW), layout.spread(position_TP)
    place_U = layout.place_T[tokens.place_U]
    # The sum of taps is kept in place, which autocast to half precision would spoil.
    with torch.autocast(word_ZW.device.type, enabled=False):
        if torch.is_grad_enabled():
            peak_GF: Tensor = _WindowMax.apply(word_ZW, position_ZP, place_U, tokens.type_UW, windows, *taps)  # type: ignore[no-untyped-call]
            return peak_GF
        score_ZF = _window_scores(_rows(word_ZW, position_ZP, place_U, tokens.type_UW), windows, taps)
        return group_max(score_ZF, windows)


class _WindowMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        word_ZW: Tensor,
        position_ZP: Tensor,
        place_U: Tensor,
        type_UW: Tensor,
        windows: Windows,
        *taps: Tensor,
    ) -> Tensor:
        row_ZD = _rows(word_ZW, position_ZP, place_U, type_UW)
        score_ZF = _window_scores(row_ZD, windows, taps)
        peak_GF = group_max(score_ZF, windows)
        ctx.save_for_backward(row_ZD, _first_at_peak(score_ZF, peak_GF, windows), place_U, *taps)
        ctx.word_width = word_ZW.shape[1]
        return peak_GF

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (grad_GF,) = gradients
        row_ZD, start_GF, place_U, *taps = ctx.saved_tensors
        _, wants_position, _, wants_type, _, *wants_taps = ctx.needs_input_grad
        grad_ZF = grad_GF.new_zeros(row_ZD.shape[0], grad_GF.shape[1]).scatter_add_(0, start_GF, grad_GF)
        grad_taps: list[Tensor | None] = [None] * len(taps)
        if any(wants_taps) and row_ZD.is_cuda:
            # Measured on an H200: for large batches the product with zeros is faster there than gathering.
            grad_taps = [_multiplied_tap_gradient(row_ZD, grad_ZF, tap, j) for j, tap in enumerate(taps)]
        elif any(wants_taps):
            grad_taps = [_gathered_tap_gradient(row_ZD, start_GF, grad_GF, tap, j) for j, tap in enumerate(taps)]
        width = ctx.word_width
        grad_position = _column_gradient(grad_ZF, [tap[:, width:] for tap in taps]) if wants_position else None
        grad_type = _row_gradient(grad_ZF, [tap[:, :width] for tap in taps], place_U) if wants_type else None
        return None, grad_position, None, grad_type, None, *grad_taps


def _rows(word_ZW: Tensor, position_ZP: Tensor, place_U: Tensor, type_UW: Tensor) -> Tensor:
    row_ZD = torch.cat([word_ZW, position_ZP], 1)
    row_ZD[place_U, : word_ZW.shape[1]] = type_UW
    return row_ZD


def _window_scores(row_ZD: Tensor, windows: Windows, taps: Sequence[Tensor]) -> Tensor:
    """Return every filter's value at the window that starts at each row, −inf where it has no window there."""
    num_rows, num_filters = row_ZD.shape[0], taps[0].shape[0]
    score_ZF = row_ZD @ taps[0].T
    for j, tap_FD in enumerate(taps[1:], 1):
        if j < num_rows:
            score_ZF[: num_rows - j, num_filters - tap_FD.shape[0] :].addmm_(row_ZD[j:], tap_FD.T)
    return keep_windows(score_ZF, windows)


def keep_windows(score_ZF: Tensor, windows: Windows) -> Tensor:
    """Return the scores, changed in place: −inf where a filter has no window."""
    num_widths = windows.is_window_ZK.shape[1]
    by_width = score_ZF.view(score_ZF.shape[0], num_widths, score_ZF.shape[1] // num_widths)
    by_width.masked_fill_(~windows.is_window_ZK[..., None], -torch.inf)
    return score_ZF


def group_max(score_ZF: Tensor, windows: Windows) -> Tensor:
    """Return each filter's highest value in each group."""
    lowest_GF = score_ZF.new_full((windows.num_groups, score_ZF.shape[1]), -torch.inf)
    return lowest_GF.scatter_reduce_(0, windows.group_Z[:, None].expand_as(score_ZF), score_ZF, reduce="amax")


def _first_at_peak(score_ZF: Tensor, peak_GF: Tensor, windows: Windows) -> Tensor:
    """Return the row at which the first window with the group's maximum starts; some row where there is none."""
    num_rows = score_ZF.shape[0]
    # Counted from the end, and as float32 (exact up to 16 million rows), which reduces far faster than integers.
    countdown_Z = torch.arange(num_rows, 0, -1, dtype=torch.float32, device=score_ZF.device)
    is_peak_ZF = score_ZF == peak_GF[windows.group_Z]
    left_ZF = countdown_Z[:, None] * is_peak_ZF
    left_GF = left_ZF.new_zeros(peak_GF.shape)
    left_GF.scatter_reduce_(0, windows.group_Z[:, None].expand_as(left_ZF), left_ZF, reduce="amax")
    return (num_rows - left_GF.long()).clamp_(max=max(num_rows - 1, 0))


def _gathered_tap_gradient(row_ZD: Tensor, start_GF: Tensor, grad_GF: Tensor, tap_FD: Tensor, j: int) -> Tensor:
    """Return Σ_g grad_gf row(start_gf + j) for the filters of tap j, as a weighted sum of gathered rows."""
    first = grad_GF.shape[1] - tap_FD.shape[0]
    row_FG = (start_GF[:, first:].T + j).clamp_(max=max(row_ZD.shape[0] - 1, 0)).contiguous()
    weight_FG = grad_GF[:, first:].T.contiguous()
    if not row_FG.numel():
        return torch.zeros_like(tap_FD)
    return torch.nn.functional.embedding_bag(row_FG, row_ZD, mode="sum", per_sample_weights=weight_FG)


def _multiplied_tap_gradient(row_ZD: Tensor, grad_ZF: Tensor, tap_FD: Tensor, j: int) -> Tensor:
    """Return the same as `_gathered_tap_gradient`, as a product with the gradient of all windows."""
    num_windows = max(row_ZD.shape[0] - j, 0)
    return grad_ZF[:num_windows, grad_ZF.shape[1] - tap_FD.shape[0] :].T @ row_ZD[j:]


def _column_gradient(grad_ZF: Tensor, taps: Sequence[Tensor]) -> Tensor:
    """Return the gradient of all rows in the few columns that `taps` holds, in one product for all taps."""
    num_rows, num_columns = grad_ZF.shape[0], taps[0].shape[1]
    stacked = taps[0].new_zeros(grad_ZF.shape[1], len(taps), num_columns)
    for j, tap_FP in enumerate(taps):
        stacked[-tap_FP.shape[0] :, j] = tap_FP
    part = (grad_ZF @ stacked.flatten(1)).view(num_rows, len(taps), num_columns)
    grad_ZP = part[:, 0].clone()
    for j in range(1, min(len(taps), num_rows)):
        grad_ZP[j:] += part[: num_rows - j, j]
    return grad_ZP


def _row_gradient(grad_ZF: Tensor, taps: Sequence[Tensor], place_U: Tensor) -> Tensor:
    """Return the gradient of the rows at `place_U` in the columns that `taps` holds."""
    grad_UW = grad_ZF.new_zeros(place_U.shape[0], taps[0].shape[1])
    for j, tap_FW in enumerate(taps):
        is_reached_U = place_U >= j
        grad_UF = grad_ZF[(place_U - j).clamp(min=0), grad_ZF.shape[1] - tap_FW.shape[0] :]
        grad_UW.addmm_(grad_UF * is_reached_U[:, None], tap_FW)
    return grad_UW
