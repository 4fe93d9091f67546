"""The kernel in plain torch: for any hardware, for exports, and the reference for the other kernels.

Shapes as in `base`, and N windows of one width.
"""

import torch
from torch import Tensor

from sayso.model.kernels.base import Codes, Gradients, ProductTables, TokenRows, Windows


def peaks(tables: ProductTables, codes: Codes, windows: Windows) -> tuple[Tensor, Tensor]:
    """Return peak_GF and token_GF."""
    place = _Place(codes, windows)
    found = [_peaks_of_width(tables, codes, windows, place, k) for k in range(len(windows.widths))]
    return torch.cat([peak for peak, _ in found], 1), torch.cat([token for _, token in found], 1)


def gradients(grad_GF: Tensor, token_GF: Tensor, rows: TokenRows, codes: Codes, windows: Windows) -> Gradients:
    """Return the gradients, computed from those of whole tables."""
    place = _Place(codes, windows)
    num_filters, num_columns = windows.num_filters, windows.first_columns[-1]
    num_rows = (rows.row_YW.shape[0], rows.num_distances, rows.num_distances)
    word_YA, head_QA, tail_QA = found = [grad_GF.new_zeros(num, num_columns) for num in num_rows]
    sentence_G = torch.arange(grad_GF.shape[0], device=grad_GF.device) // windows.num_pieces
    for k, width in enumerate(windows.widths):
        columns = slice(k * num_filters, (k + 1) * num_filters)
        token_Gf = token_GF[:, columns].long()
        filter_Gf = torch.arange(num_filters, device=grad_GF.device).expand_as(token_Gf)
        for j in range(width):
            covered_Gf, is_covered_Gf = place.covered(token_Gf, sentence_G[:, None], j)
            value_Gf = grad_GF[:, columns] * (is_covered_Gf & (token_Gf >= 0))
            column_Gf = filter_Gf + (windows.first_columns[k] + j * num_filters)
            for table, code_T in zip(found, (codes.word_T, codes.head_T, codes.tail_T), strict=True):
                if covered_Gf.numel() and code_T.numel():
                    table.index_put_((code_T[covered_Gf].long(), column_Gf), value_Gf, accumulate=True)
    learned_UA = word_YA[rows.row_YW.shape[0] - rows.num_learned :]
    return Gradients(word_YA.T @ rows.row_YW, learned_UA, head_QA, tail_QA)


class _Place:
    """The positions of tokens and windows."""

    def __init__(self, codes: Codes, windows: Windows) -> None:
        self.before, self.num_tokens = windows.before, codes.word_T.shape[0]
        self.start_S1 = codes.start_S1.long()
        length_S = self.start_S1.diff()
        index_S = torch.arange(length_S.shape[0], device=length_S.device)
        self.sentence_T = torch.repeat_interleave(index_S, length_S, output_size=self.num_tokens)
        self.token_T = torch.arange(self.num_tokens, device=length_S.device)
        self.length_S = length_S

    def covered(self, token: Tensor, sentence: Tensor, j: int) -> tuple[Tensor, Tensor]:
        """Return token j of the windows that belong to these tokens, and whether it is in the sentence."""
        place = token - self.before + j
        is_inside = (place >= self.start_S1[sentence]) & (place < self.start_S1[sentence + 1])
        return place.clamp(0, max(self.num_tokens - 1, 0)), is_inside


def _peaks_of_width(
    tables: ProductTables, codes: Codes, windows: Windows, place: _Place, k: int
) -> tuple[Tensor, Tensor]:
    width, num_filters = windows.widths[k], windows.num_filters
    value_TF = tables.word_YA.new_zeros(place.num_tokens, num_filters, dtype=tables.head_QA.dtype)
    for j in range(width):
        covered_T, is_covered_T = place.covered(place.token_T, place.sentence_T, j)
        first = windows.first_columns[k] + j * num_filters
        columns = slice(first, first + num_filters)
        row_TF = tables.word_YA[:, columns][codes.word_T[covered_T].long()]
        row_TF = row_TF + tables.head_QA[:, columns][codes.head_T[covered_T].long()]
        row_TF = row_TF + tables.tail_QA[:, columns][codes.tail_T[covered_T].long()]
        value_TF = value_TF + row_TF * is_covered_T[:, None]
    return _highest(value_TF, *_groups(codes, windows, place, width))


def _groups(codes: Codes, windows: Windows, place: _Place, width: int) -> tuple[Tensor, Tensor, int]:
    """Return the group of each token's window, whether it has one, and the number of groups."""
    num_groups = windows.num_pieces * place.length_S.shape[0]
    if windows.num_pieces > 1:
        group_T = windows.num_pieces * place.sentence_T + codes.piece_T
        return group_T, torch.ones_like(place.token_T, dtype=torch.bool), num_groups
    offset_T = place.token_T - place.start_S1[place.sentence_T]
    is_window_T = offset_T <= (place.length_S - width).clamp(min=0)[place.sentence_T]
    return place.sentence_T, is_window_T, num_groups


def _highest(value_TF: Tensor, group_T: Tensor, is_window_T: Tensor, num_groups: int) -> tuple[Tensor, Tensor]:
    """Return each group's highest value, and the first window that has it."""
    value_TF = value_TF.masked_fill(~is_window_T[:, None], -torch.inf)
    index_TF = group_T[:, None].expand_as(value_TF)
    lowest_GF = value_TF.new_full((num_groups, value_TF.shape[1]), -torch.inf)
    peak_GF = lowest_GF.scatter_reduce(0, index_TF, value_TF, reduce="amax")
    num_tokens = value_TF.shape[0]
    # Counted down, so that the first one has the highest count; 0 if there is none.
    countdown_T = torch.arange(num_tokens, 0, -1, dtype=torch.int64, device=value_TF.device)
    is_peak_TF = (value_TF == peak_GF[group_T]) & is_window_T[:, None]
    left_GF = torch.zeros_like(peak_GF, dtype=torch.int64)
    left_GF = left_GF.scatter_reduce(0, index_TF, countdown_T[:, None] * is_peak_TF, reduce="amax")
    return peak_GF, torch.where(left_GF > 0, num_tokens - left_GF, -1).int()
