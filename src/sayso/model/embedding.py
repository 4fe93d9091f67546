"""Tokens to vectors: a frozen vector per word, a learned one per entity type.

Shapes: T tokens, V words, K types, W width of a word vector, U tokens of the batch that are types,
Y distinct tokens of the batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.initial import normal_parameter


@dataclass(frozen=True, kw_only=True)
class TokenRows:
    """The vectors of T tokens, words and types apart.

    Nothing is learned from `word_TW`, so no gradient needs to be computed for it, which is most of the work of a
    backward pass. `type_UW` belong in rows `place_U`; what `word_TW` holds there does not count.
    """

    word_TW: Tensor
    place_U: Tensor
    type_UW: Tensor


@dataclass(frozen=True, kw_only=True)
class DistinctRows:
    """The vectors of the Y distinct tokens of a batch; token t has row `index_T[t]`."""

    row_YW: Tensor
    index_T: Tensor


class TokenEmbedding(nn.Module):
    """Looks up the frozen words (rows below V, row 0 the unknown word) and the learned types (rows from V on)."""

    word_VW: Tensor

    def __init__(self, word_VW: Tensor, num_types: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("word_VW", word_VW.detach().clone())
        # A type stands where a word stood, so it begins at the size of a word vector.
        std = float(word_VW.std()) if word_VW.numel() > 1 else 1.0
        self.type_KW = normal_parameter(num_types, word_VW.shape[1], std=std, generator=generator)

    @property
    def width(self) -> int:
        """W."""
        return self.word_VW.shape[1]

    def forward(self, sentences: SentenceBatch) -> TokenRows:
        """Return the vectors of all tokens."""
        num_words = self.word_VW.shape[0]
        token_T = sentences.token_T
        if self.type_KW.shape[0] == 0:
            nowhere = token_T.new_empty(0)
            return TokenRows(word_TW=self._words(token_T), place_U=nowhere, type_UW=self.type_KW)
        is_type_T = token_T >= num_words
        place_U = is_type_T.nonzero()[:, 0]
        type_UW = nn.functional.embedding(token_T[place_U] - num_words, self.type_KW)
        return TokenRows(word_TW=self._words(token_T.masked_fill(is_type_T, 0)), place_U=place_U, type_UW=type_UW)

    def distinct(self, sentences: SentenceBatch) -> DistinctRows:
        """Return the vectors of the distinct tokens, words and types alike."""
        num_words = self.word_VW.shape[0]
        # Sorting to find the distinct ones is slower than marking them in a table of all tokens.
        is_there = torch.zeros(num_words + self.type_KW.shape[0], dtype=torch.bool, device=sentences.token_T.device)
        is_there[sentences.token_T] = True
        token_Y = is_there.nonzero()[:, 0]
        is_word_Y = token_Y < num_words
        row_YW = torch.cat([self._words(token_Y[is_word_Y]), self.type_KW[token_Y[~is_word_Y] - num_words]])
        return DistinctRows(row_YW=row_YW, index_T=(is_there.cumsum(0) - 1)[sentences.token_T])

    def _words(self, token_T: Tensor) -> Tensor:
        return nn.functional.embedding(token_T, self.word_VW)
