"""Convolution and max over time by table lookup, for when nothing is learned.

Shapes as in `window`, and Y distinct tokens, Q distances a position can have, C = 1 + Y + 2 Q rows of a table.

Without dropout the same token gives the same products with every filter, so they are computed once for each distinct
token and each distance of the batch; a window is then a sum of looked-up rows. A text has far fewer distinct tokens
than tokens, so this is two to four times faster on CPU.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sayso.model.embedding import DistinctRows
from sayso.model.position import PositionRows
from sayso.model.window import Layout, Windows, group_max, keep_windows


def looked_up_max(
    tokens: DistinctRows, positions: PositionRows, layout: Layout, windows: Windows, weights: Sequence[Tensor]
) -> Tensor:
    """Return peak_GF, equal to `window_max` up to rounding; weights are one [w, filters, D] for each width."""
    code_Z3 = _codes(tokens, positions, layout)
    blocks = [_window_sums(code_Z3, _products(tokens, positions, weight), len(weight)) for weight in weights]
    score_ZF = torch.cat(blocks, 1)
    return group_max(keep_windows(score_ZF, windows), windows)


def _codes(tokens: DistinctRows, positions: PositionRows, layout: Layout) -> Tensor:
    """Return each row's places in the table: its token, its distance to the head, to the tail; 0 for rows of zeros."""
    num_distinct, num_distances = tokens.row_YW.shape[0], positions.table_QP.shape[0]
    head_T, tail_T = positions.head_T + (1 + num_distinct), positions.tail_T + (1 + num_distinct + num_distances)
    return layout.spread(torch.stack([tokens.index_T + 1, head_T, tail_T], 1))


def _products(tokens: DistinctRows, positions: PositionRows, weight: Tensor) -> Tensor:
    """Return the products of a width's filters with zeros, each distinct token and each distance, [C w, filters]."""
    word_width, position_width = tokens.row_YW.shape[1], positions.table_QP.shape[1]
    flat = weight.flatten(0, 1)
    parts = flat.tensor_split((word_width, word_width + position_width), 1)
    table = [weight.new_zeros(1, flat.shape[0])]
    rows = (tokens.row_YW, positions.table_QP, positions.table_QP)
    table += [row @ part.T for row, part in zip(rows, parts, strict=True)]
    return torch.cat(table).view(-1, weight.shape[1])


def _window_sums(code_Z3: Tensor, product: Tensor, width: int) -> Tensor:
    """Return each window's sum over its tokens; windows that would pass the last row are 0."""
    num_windows = max(len(code_Z3) - width + 1, 0)
    tap = torch.arange(width, device=code_Z3.device)
    row = torch.arange(num_windows, device=code_Z3.device)[:, None] + tap
    index = (code_Z3[row] * width + tap[:, None]).flatten(1)
    score = product.new_zeros(len(code_Z3), product.shape[1])
    if num_windows:
        score[:num_windows] = torch.nn.functional.embedding_bag(index, product, mode="sum")
    return score
