"""Filters over words and positions, and their maximum over groups of windows: shared by both encoders.

A filter's value at a window is a sum of products with its distinct tokens and distances (see `kernels.base`). Only one
window per group and filter has the maximum, so the backward pass follows those windows instead of multiplying with a
gradient that is zero nearly everywhere.

On CPU, prediction caches each token's products with all filters across batches until a parameter changes. Text has few
distinct tokens, so encoding soon consists of additions and maxima only. When the cache would exceed its memory limit,
it is cleared, and the rows of the current batch are computed again.

Shapes: T tokens, V words, K types, Y distinct tokens or cached rows, U learned tokens, G groups of windows, F filters
of all widths together, W width of a word, Q distances, P width of a distance, A columns of a table, D = W + 2 P.
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.embedding import DistinctRows, PositionEmbedding, PositionRows, TokenEmbedding
from sayso.model.kernels import kernel_for
from sayso.model.kernels.base import Codes, ProductTables, TokenRows, Windows
from sayso.model.layers import TokenDropout, uniform_parameter


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
        peak_GF: Tensor = _WindowMax.apply(  # type: ignore[no-untyped-call]
            tokens.row_YW, positions.table_QP, weight_AD, tokens.num_learned, codes, windows
        )
    return peak_GF


def codes_of(index_T: Tensor, positions: PositionRows, sentences: SentenceBatch) -> Codes:
    """Return, for each token, its rows in the product tables (word, head distance, tail distance)."""
    rows = (index_T, positions.head_T, positions.tail_T, sentences.piece_T, sentences.start_S1)
    return Codes(*(row.int() for row in rows))


def products(row_YW: Tensor, table_QP: Tensor, weight_AD: Tensor) -> ProductTables:
    """Return the products of the tokens and distances with all taps of all filters."""
    word_AW, head_AP, tail_AP = _parts(weight_AD, row_YW, table_QP)
    word_YA = torch.mm(row_YW, word_AW.T, out=empty_table(row_YW, row_YW.shape[0], word_AW.shape[0]))
    return ProductTables(word_YA=word_YA, head_QA=table_QP @ head_AP.T, tail_QA=table_QP @ tail_AP.T)


def empty_table(like: Tensor, num_rows: int, num_columns: int) -> Tensor:
    """Return an uninitialised table with the type and device of `like`.

    On CPU, numpy allocates it in huge pages: rows are read at random, and small pages would cause TLB misses.
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
    """Return the filters' columns for the token, for its distance to the head, and for its distance to the tail."""
    width, distance = row_YW.shape[1], table_QP.shape[1]
    return weight_AD.tensor_split((width, width + distance), 1)


DEFAULT_BYTES = 512 * 2**20
"""Default memory limit of the cache, enough for 90,000 words with 1,400 products each."""


class KeptProducts:
    """A cache of each token's products. Thread-safe: returned tables never change."""

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._state: _State | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "KeptProducts":
        return KeptProducts(self.max_bytes)

    def look_up(
        self, embedding: TokenEmbedding, table_QP: Tensor, weights: Sequence[Tensor], token_T: Tensor
    ) -> tuple[ProductTables, Tensor] | None:
        """Return tables with the tokens' products, and each token's row; None if these exceed the memory limit."""
        with self._lock:
            state = self._state
            if state is None or not state.is_of(embedding, table_QP, weights):
                self._state = state = _State(embedding, table_QP, weights, self.max_bytes)
            found = state.look_up(token_T)
            if found is None:
                state.clear()
                found = state.look_up(token_T)
            return found

    def limit(self, max_bytes: int) -> None:
        """Set the memory limit and clear the cache."""
        self.max_bytes = max_bytes
        self.forget()

    def forget(self) -> None:
        """Clear the cache."""
        self._state = None


class _State:
    """The cached rows for one set of parameter values."""

    def __init__(self, embedding: TokenEmbedding, table_QP: Tensor, weights: Sequence[Tensor], max_bytes: int) -> None:
        # Holding references keeps the memory from being reused. Optimizers and loaders change parameters in place, and
        # torch counts such changes.
        parameters = (embedding.word_VW, embedding.type_KW, table_QP, *weights)
        self.known = [(parameter, parameter.detach(), parameter._version) for parameter in parameters]
        self.embedding = embedding
        weight_AD = flat(weights)
        self.of_distances = products(embedding.word_VW[:0], table_QP, weight_AD)
        self.word_WA = weight_AD[:, : embedding.width].T.contiguous()
        self.num_rows = min(max_bytes // self.word_WA[:1].nbytes, embedding.num_tokens)
        self.clear()

    def is_of(self, embedding: TokenEmbedding, table_QP: Tensor, weights: Sequence[Tensor]) -> bool:
        """Return whether these are the same parameters with the same values."""
        parameters = (embedding.word_VW, embedding.type_KW, table_QP, *weights)
        return all(
            given is known and given.data_ptr() == data.data_ptr() and given._version == version
            for given, (known, data, version) in zip(parameters, self.known, strict=True)
        )

    def clear(self) -> None:
        """Drop all rows; tables already returned do not change."""
        self.row_V = torch.full((self.embedding.num_tokens,), -1, dtype=torch.int32)
        # Allocated in full: untouched memory costs nothing, while growing the table would briefly need two.
        self.product_YA = empty_table(self.word_WA, self.num_rows, self.word_WA.shape[1])
        self.num_kept = 0

    def look_up(self, token_T: Tensor) -> tuple[ProductTables, Tensor] | None:
        """Return the tables and the tokens' rows, adding missing ones; None if they do not fit."""
        index_T = self.row_V[token_T]
        is_missing_T = index_T < 0
        if bool(is_missing_T.any()):
            token_Y = torch.unique(token_T[is_missing_T])
            stop = self.num_kept + len(token_Y)
            if stop > self.num_rows:
                return None
            torch.mm(self.embedding.rows(token_Y), self.word_WA, out=self.product_YA[self.num_kept : stop])
            self.row_V[token_Y] = torch.arange(self.num_kept, stop, dtype=torch.int32)
            self.num_kept = stop
            index_T = self.row_V[token_T]
        return self.of_distances._replace(word_YA=self.product_YA), index_T


class Convolution(nn.Module):
    """Filters of several widths, narrowest first, over words, types and positions, with dropout on all three.

    Dropout is drawn for each distinct token and each distance of a batch, so that their products are computed once.
    """

    def __init__(
        self,
        windows: Windows,
        word_width: int,
        position: PositionEmbedding,
        dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.windows = windows
        self.position = position
        self.dropout = TokenDropout(dropout)
        row_width = word_width + position.width
        self.weights = nn.ParameterList(
            uniform_parameter(width, windows.num_filters, row_width, fan_in=width * row_width, generator=generator)
            for width in windows.widths
        )
        self.kept = KeptProducts()

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return peak_GF, each filter's highest value in each group of windows; −inf in a group without windows."""
        positions = self.position.rows(sentences)
        weights = list(self.weights)
        if self.training:
            self.kept.forget()
        elif not torch.is_grad_enabled() and sentences.token_T.device.type == "cpu":
            found = self.kept.look_up(embedding, positions.table_QP, weights, sentences.token_T)
            if found is not None:
                tables, index_T = found
                codes = codes_of(index_T, positions, sentences)
                return kernel_for(index_T.device, self.windows).peaks(tables, codes, self.windows)[0]
        tokens = embedding(sentences)
        tokens = replace(tokens, row_YW=self.dropout(tokens.row_YW))
        positions = positions._replace(table_QP=self.dropout(positions.table_QP))
        return window_max(tokens, positions, sentences, flat(weights), self.windows)
