"""Filters over words and positions, and their maximum over groups of windows: shared by both encoders.

Prediction on CPU keeps each token's products with all filters from batch to batch while no parameter changes. A text
has few distinct tokens, so encoding is soon additions and maxima only. When the rows would take more memory than
allowed, all are dropped, and those of the current batch are computed again.

Shapes: T tokens, V words, K types, Y rows kept, G groups of windows, F filters of all widths together, A columns and D
width of all taps (see `window`), W width of a word.
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.embedding import PositionEmbedding, TokenEmbedding
from sayso.model.kernels.base import ProductTables, Windows
from sayso.model.layers import TokenDropout, uniform_parameter
from sayso.model.window import codes_of, empty_table, flat, highest, products, window_max

DEFAULT_BYTES = 512 * 2**20
"""Enough for 90,000 words with 1,400 products each."""


class TokenProducts(NamedTuple):
    """The product tables, and each token's row in the word table."""

    tables: ProductTables
    index_T: Tensor


class KeptProducts:
    """Rows of products by token. Thread-safe: returned tables never change."""

    def __init__(self) -> None:
        self.max_bytes = DEFAULT_BYTES
        self._lock = Lock()
        self._state: _State | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "KeptProducts":
        fresh = KeptProducts()
        fresh.max_bytes = self.max_bytes
        return fresh

    def look_up(
        self, embedding: TokenEmbedding, table_QP: Tensor, weights: Sequence[Tensor], token_T: Tensor
    ) -> TokenProducts | None:
        """Return the tokens' products; None if these alone take more memory than allowed."""
        parameters = [embedding.word_VW, embedding.type_KW, table_QP, *weights]
        with self._lock:
            if self._state is None or not all(map(_Known.is_still, self._state.known, parameters)):
                self._state = _State(list(map(_Known, parameters)), embedding, table_QP, weights)
            return self._state.look_up(token_T, self.max_bytes) or self._start_again(token_T)

    def limit(self, max_bytes: int) -> None:
        """Set the memory limit and free what is kept."""
        self.max_bytes = max_bytes
        self.forget()

    def forget(self) -> None:
        """Free the memory."""
        self._state = None

    def _start_again(self, token_T: Tensor) -> TokenProducts | None:
        assert self._state is not None
        self._state = self._state.emptied()
        return self._state.look_up(token_T, self.max_bytes)


class _Known:
    """A parameter at a point in time; the reference keeps its memory from being reused."""

    def __init__(self, parameter: Tensor) -> None:
        # torch counts in-place changes, by which optimizers and loaders change parameters.
        self.parameter, self.data, self.version = parameter, parameter.detach(), parameter._version

    def is_still(self, parameter: Tensor) -> bool:
        """Return whether this is the same parameter with the same values."""
        is_same = parameter is self.parameter and parameter.data_ptr() == self.data.data_ptr()
        return is_same and parameter._version == self.version


class _State:
    """The rows of one set of parameters."""

    def __init__(
        self, known: list[_Known], embedding: TokenEmbedding, table_QP: Tensor, weights: Sequence[Tensor]
    ) -> None:
        self.known = known
        self.embedding = embedding
        weight_AD = flat(weights)
        word_width = embedding.width
        of_distances = products(embedding.word_VW[:0], table_QP, weight_AD)
        self.head_QA, self.tail_QA = of_distances.head_QA, of_distances.tail_QA
        self.word_WA = weight_AD[:, :word_width].T.contiguous()
        self._clear()

    def _clear(self) -> None:
        self.row_V = torch.full((self.embedding.num_tokens,), -1, dtype=torch.int32)
        self.product_YA = self.word_WA.new_empty(0, self.word_WA.shape[1])
        self.num_kept = 0

    def emptied(self) -> "_State":
        """Return the state without rows; tables already returned do not change."""
        fresh = object.__new__(_State)
        fresh.__dict__.update(self.__dict__)
        fresh._clear()
        return fresh

    def look_up(self, token_T: Tensor, max_bytes: int) -> TokenProducts | None:
        """Return the tokens' rows, adding missing ones; None if there is no memory for them."""
        index_T = self.row_V[token_T]
        is_missing_T = index_T < 0
        if bool(is_missing_T.any()):
            token_Y = torch.unique(token_T[is_missing_T])
            if not self._make_room(len(token_Y), max_bytes):
                return None
            self._add(token_Y)
            index_T = self.row_V[token_T]
        tables = ProductTables(word_YA=self.product_YA, head_QA=self.head_QA, tail_QA=self.tail_QA)
        return TokenProducts(tables=tables, index_T=index_T)

    def _make_room(self, num_new: int, max_bytes: int) -> bool:
        """Return whether `num_new` more rows fit; allocate the table the first time.

        It is allocated in full: untouched memory costs nothing, while growing it would need both tables for a moment.
        """
        if not len(self.product_YA):
            num_columns = self.word_WA.shape[1]
            most = max_bytes // (num_columns * self.word_WA.element_size())
            self.product_YA = empty_table(self.word_WA, min(most, self.embedding.num_tokens), num_columns)
        return self.num_kept + num_new <= len(self.product_YA)

    def _add(self, token_Y: Tensor) -> None:
        stop = self.num_kept + len(token_Y)
        torch.mm(self.embedding.rows(token_Y), self.word_WA, out=self.product_YA[self.num_kept : stop])
        # Only now can other threads find the rows.
        self.row_V[token_Y] = torch.arange(self.num_kept, stop, dtype=torch.int32)
        self.num_kept = stop


class Convolution(nn.Module):
    """Filters of several widths, narrow ones first, over words, types and positions, with dropout on all three.

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
                return highest(found.tables, codes_of(found.index_T, positions, sentences), self.windows)
        tokens = embedding(sentences)
        tokens = replace(tokens, row_YW=self.dropout(tokens.row_YW))
        positions = positions._replace(table_QP=self.dropout(positions.table_QP))
        return window_max(tokens, positions, sentences, flat(weights), self.windows)
