"""Tokens to vectors: a frozen vector per word, a learned one per entity type.

Shapes: T tokens, V words, K types, W width of a word vector, Y distinct tokens of the batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.initial import normal_parameter


@dataclass(frozen=True, kw_only=True)
class DistinctRows:
    """The vectors of the Y distinct tokens of a batch, those of learned ones last; token t has row `index_T[t]`.

    Nothing is learned from the others, so no gradient needs to be computed for them.
    """

    row_YW: Tensor
    index_T: Tensor
    num_learned: int


class TokenEmbedding(nn.Module):
    """Looks up the frozen words (rows below V, row 0 the unknown word) and the learned types (rows from V on)."""

    word_VW: Tensor

    def __init__(self, word_VW: Tensor, num_types: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("word_VW", word_VW.detach().clone())
        # A type stands where a word stood, so it begins at the size of a word vector.
        std = float(word_VW.std()) if word_VW.numel() > 1 else 1.0
        self.type_KW = normal_parameter(num_types, word_VW.shape[1], std=std, generator=generator)
        # Without types nothing is learned here, and processes that share a batch must not wait for its gradient.
        self.type_KW.requires_grad_(num_types > 0)

    @property
    def width(self) -> int:
        """W."""
        return self.word_VW.shape[1]

    @property
    def num_tokens(self) -> int:
        """V + K."""
        return self.word_VW.shape[0] + self.type_KW.shape[0]

    def forward(self, sentences: SentenceBatch) -> DistinctRows:
        """Return the vectors of the distinct tokens, words and then types."""
        # Sorting to find the distinct ones is slower than marking them in a table of all tokens.
        is_there = torch.zeros(self.num_tokens, dtype=torch.bool, device=sentences.token_T.device)
        is_there[sentences.token_T] = True
        token_Y = is_there.nonzero()[:, 0]
        index_T = (is_there.cumsum(0) - 1)[sentences.token_T]
        num_learned = int((token_Y >= self.word_VW.shape[0]).sum()) if self.type_KW.shape[0] else 0
        return DistinctRows(row_YW=self.rows(token_Y), index_T=index_T, num_learned=num_learned)

    def rows(self, token_Y: Tensor) -> Tensor:
        """Return the vectors of these tokens, in rising order."""
        num_words = self.word_VW.shape[0]
        if not self.type_KW.shape[0]:
            return nn.functional.embedding(token_Y, self.word_VW)
        is_word_Y = token_Y < num_words
        words = nn.functional.embedding(token_Y[is_word_Y], self.word_VW)
        return torch.cat([words, nn.functional.embedding(token_Y[~is_word_Y] - num_words, self.type_KW)])
