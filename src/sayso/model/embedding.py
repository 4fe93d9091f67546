"""Token vectors: a frozen one per word, a learned one per entity type, and learned ones for positions.

A position is a token's distance to the head mention and to the tail mention.

Shapes: T tokens, V words, K types, W width of a word vector, Y distinct tokens of the batch, Q rows of the position
table, P width of a position vector (in `position_TP`, of both together).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.layers import normal_parameter


@dataclass(frozen=True, kw_only=True)
class DistinctRows:
    """The vectors of the Y distinct tokens of a batch, learned ones last; token t has row `index_T[t]`.

    The others are frozen and need no gradient.
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
        # A type replaces words, so it starts at the scale of a word vector.
        std = float(word_VW.std()) if word_VW.numel() > 1 else 1.0
        self.type_KW = normal_parameter(num_types, word_VW.shape[1], std=std, generator=generator)
        # Without types there is no gradient, and data-parallel processes must not wait for one.
        self.type_KW.requires_grad_(self.type_KW.numel() > 0)

    @property
    def width(self) -> int:
        """The width of a word vector."""
        return self.word_VW.shape[1]

    @property
    def num_tokens(self) -> int:
        """The number of words and types."""
        return self.word_VW.shape[0] + self.type_KW.shape[0]

    def forward(self, sentences: SentenceBatch) -> DistinctRows:
        """Return the vectors of the distinct tokens, words and then types."""
        # Marking tokens in a table of all tokens is faster than sorting them.
        is_there = torch.zeros(self.num_tokens, dtype=torch.bool, device=sentences.token_T.device)
        is_there[sentences.token_T] = True
        token_Y = is_there.nonzero()[:, 0]
        index_T = (is_there.cumsum(0) - 1)[sentences.token_T]
        num_learned = int((token_Y >= self.word_VW.shape[0]).sum()) if self.type_KW.shape[0] else 0
        return DistinctRows(row_YW=self.rows(token_Y), index_T=index_T, num_learned=num_learned)

    def rows(self, token_Y: Tensor) -> Tensor:
        """Return the vectors of these tokens, which are in ascending order."""
        num_words = self.word_VW.shape[0]
        if not self.type_KW.shape[0]:
            return nn.functional.embedding(token_Y, self.word_VW)
        is_word_Y = token_Y < num_words
        words = nn.functional.embedding(token_Y[is_word_Y], self.word_VW)
        return torch.cat([words, nn.functional.embedding(token_Y[~is_word_Y] - num_words, self.type_KW)])


class OpenEmbedding(TokenEmbedding):
    """Returns these vectors for the tokens, all marked as learned: encoders compute no gradient for frozen words."""

    def __init__(self, row_TW: Tensor) -> None:
        nn.Module.__init__(self)
        self.row_TW = row_TW

    @property
    def width(self) -> int:
        """The width of a word vector."""
        return self.row_TW.shape[1]

    def forward(self, sentences: SentenceBatch) -> DistinctRows:
        """Return the vectors, one per token, all learned."""
        index_T = torch.arange(len(self.row_TW), device=sentences.token_T.device)
        return DistinctRows(row_YW=self.row_TW, index_T=index_T, num_learned=len(self.row_TW))


PositionForm = Literal["shared_unsigned", "two_signed"]
"""One table of unsigned distances for both mentions (DirectSup), or two tables of signed ones (Lin et al. 2016)."""


class PositionRows(NamedTuple):
    """The table, and each token's two rows in it."""

    table_QP: Tensor
    head_T: Tensor
    tail_T: Tensor


class PositionEmbedding(nn.Module):
    """Looks up the distances to both mentions, clipped at the cap."""

    def __init__(self, form: PositionForm, width: int, cap: int, generator: torch.Generator) -> None:
        super().__init__()
        self.form = form
        self.cap = cap
        self.width = 2 * width
        if form == "shared_unsigned":
            # As in DirectSup's published code: initialised with the distance itself.
            self.table_QP = nn.Parameter(torch.arange(cap + 1.0)[:, None].expand(-1, width).clone())
        else:
            # Head rows, then tail rows; at about the scale of a skip-gram vector's components.
            self.table_QP = normal_parameter(2 * (2 * cap + 1), width, std=0.1, generator=generator)

    def forward(self, sentences: SentenceBatch) -> Tensor:
        """Return position_TP: the head's vector, then the tail's."""
        rows = self.rows(sentences)
        return nn.functional.embedding(torch.stack([rows.head_T, rows.tail_T], 1), self.table_QP).flatten(1)

    def rows(self, sentences: SentenceBatch) -> PositionRows:
        """Return the rows of the table to look up."""
        head_T, tail_T = self.row_of(sentences.head_distance_T.long()), self.row_of(sentences.tail_distance_T.long())
        if self.form == "two_signed":
            tail_T = tail_T + (2 * self.cap + 1)
        return PositionRows(table_QP=self.table_QP, head_T=head_T, tail_T=tail_T)

    def row_of(self, distance_T: Tensor) -> Tensor:
        """Return the row of each distance among those of one mention."""
        if self.form == "shared_unsigned":
            return distance_T.abs().clamp(max=self.cap)
        return distance_T.clamp(-self.cap, self.cap) + self.cap
