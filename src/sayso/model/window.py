"""Convolution and max over time for sentences stored end to end, by way of products with distinct tokens.

Shapes: G groups of windows, T tokens, Y distinct tokens, U learned ones, W width of a word, Q distances, P width of a
distance, D = W + 2 P width of a row, F filters of all widths together, A columns of a table (see `kernels.base`).

Only one window of a group and filter takes part in its maximum, so the backward pass follows those windows instead of
multiplying with a gradient that is zero nearly everywhere.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sayso.features.batch import SentenceBatch
from sayso.model.embedding import DistinctRows, PositionRows
from sayso.model.kernels import kernel_for
from sayso.model.kernels.base import Codes, ProductTables, TokenRows, Windows


def window_max(
    tokens: DistinctRows, positions: PositionRows, sentences: SentenceBatch, weight_AD: Tensor, windows: Windows
) -> Tensor:
    """Return peak_GF, the highest value of each filter in each group of windows; −inf in a group without windows.

    The gradient reaches the filters, the positions and the learned tokens; ties go to the first window. It cannot be
    differentiated twice.
    """
    codes = codes_of(tokens.index_T, positions, sentences)
    # Keep the precision of the inputs.
    with torch.autocast(weight_AD.device.type, enabled=False):
        if torch.is_grad_enabled():
            peak_GF: Tensor = _WindowMax.apply(  # type: ignore[no-untyped-call]
                tokens.row_YW, positions.table_QP, weight_AD, tokens.num_learned, codes, windows
            )
            return peak_GF
        tables = products(tokens.row_YW, positions.table_QP, weight_AD)
        return highest(tables, codes, windows)


def highest(tables: ProductTables, codes: Codes, windows: Windows) -> Tensor:
    """Return peak_GF from existing tables."""
    return kernel_for(tables.word_YA.device, windows).highest(tables, codes, windows)


def codes_of(index_T: Tensor, positions: PositionRows, sentences: SentenceBatch) -> Codes:
    """Return each token's rows in the tables."""
    return Codes(
        word_T=index_T.int(),
        head_T=positions.head_T.int(),
        tail_T=positions.tail_T.int(),
        piece_T=sentences.piece_T.int(),
        start_S1=sentences.start_S1.int(),
    )


def products(row_YW: Tensor, table_QP: Tensor, weight_AD: Tensor) -> ProductTables:
    """Return the products of the tokens and distances with all taps of all filters."""
    word_AW, head_AP, tail_AP = _parts(weight_AD, row_YW, table_QP)
    word_YA = torch.mm(row_YW, word_AW.T, out=empty_table(row_YW, row_YW.shape[0], word_AW.shape[0]))
    return ProductTables(word_YA=word_YA, head_QA=table_QP @ head_AP.T, tail_QA=table_QP @ tail_AP.T)


def empty_table(like: Tensor, num_rows: int, num_columns: int) -> Tensor:
    """Return an uninitialised table of the same type and on the same device.

    On CPU numpy allocates it, in huge pages: rows are read at random, and small pages would miss the TLB.
    """
    if like.device.type != "cpu":
        return like.new_empty(num_rows, num_columns)
    return torch.from_numpy(np.empty((num_rows, num_columns), like.detach().numpy().dtype))


def flat(weights: Sequence[Tensor]) -> Tensor:
    """Return weight_AD, the taps of all widths stacked, from one [w, filters, D] per width."""
    return torch.cat([weight.flatten(0, 1) for weight in weights])


class _WindowMax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, row_YW: Tensor, table_QP: Tensor, weight_AD: Tensor, num_learned: int, codes: Codes, windows: Windows
    ) -> Tensor:
        tables = products(row_YW, table_QP, weight_AD)
        peak_GF, token_GF = kernel_for(row_YW.device, windows).peaks(tables, codes, windows)
        ctx.save_for_backward(row_YW, table_QP, weight_AD, token_GF)
        ctx.num_learned, ctx.codes, ctx.windows = num_learned, codes, windows
        return peak_GF

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        row_YW, table_QP, weight_AD, token_GF = ctx.saved_tensors
        rows = TokenRows(row_YW=row_YW, num_learned=ctx.num_learned, num_distances=table_QP.shape[0])
        found = kernel_for(row_YW.device, ctx.windows).gradients(gradients[0], token_GF, rows, ctx.codes, ctx.windows)
        word_AW, head_AP, tail_AP = _parts(weight_AD, row_YW, table_QP)
        weight = torch.cat([found.weight_AW, found.head_QA.T @ table_QP, found.tail_QA.T @ table_QP], 1)
        table = found.head_QA @ head_AP + found.tail_QA @ tail_AP
        row = None
        if ctx.needs_input_grad[0]:
            row = torch.zeros_like(row_YW)
            row[row.shape[0] - ctx.num_learned :] = found.learned_UA @ word_AW
        return row, table, weight, None, None, None


def _parts(weight_AD: Tensor, row_YW: Tensor, table_QP: Tensor) -> tuple[Tensor, ...]:
    """Return the filters' columns for the token, its distance to the head and to the tail."""
    width, distance = row_YW.shape[1], table_QP.shape[1]
    return weight_AD.tensor_split((width, width + distance), 1)
