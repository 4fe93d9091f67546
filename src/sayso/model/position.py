"""Where a token stands: vectors for its distance to the head and to the tail mention.

Shapes: T tokens, Q rows of the table, P width of a position vector (in `position_TP`, of both together).
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.initial import normal_parameter

PositionForm = Literal["shared_unsigned", "two_signed"]
"""One table for both mentions and distances without sign (DirectSup), or two tables with sign (Lin et al. 2016)."""


class PositionRows(NamedTuple):
    """The table and each token's two rows in it."""

    table_QP: Tensor
    head_T: Tensor
    tail_T: Tensor


class PositionEmbedding(nn.Module):
    """Looks up the distances to both mentions; beyond the cap all distances are the cap."""

    def __init__(self, form: PositionForm, width: int, cap: int, generator: torch.Generator) -> None:
        super().__init__()
        self.form = form
        self.cap = cap
        self.width = 2 * width
        if form == "shared_unsigned":
            # As in DirectSup's published code: the distance itself, to begin with.
            self.table_QP = nn.Parameter(torch.arange(cap + 1.0)[:, None].expand(-1, width).clone())
        else:
            # Head rows, then tail rows; about the size of a skip-gram vector's components.
            self.table_QP = normal_parameter(2 * (2 * cap + 1), width, std=0.1, generator=generator)

    def forward(self, sentences: SentenceBatch) -> Tensor:
        """Return position_TP: the head's vector, then the tail's."""
        rows = self.rows(sentences)
        return nn.functional.embedding(torch.stack([rows.head_T, rows.tail_T], 1), self.table_QP).flatten(1)

    def rows(self, sentences: SentenceBatch) -> PositionRows:
        """Return the rows of the table to look up."""
        head_T, tail_T = self._row(sentences.head_distance_T), self._row(sentences.tail_distance_T)
        if self.form == "two_signed":
            tail_T = tail_T + (2 * self.cap + 1)
        return PositionRows(table_QP=self.table_QP, head_T=head_T, tail_T=tail_T)

    def _row(self, distance_T: Tensor) -> Tensor:
        if self.form == "shared_unsigned":
            return distance_T.long().abs().clamp(max=self.cap)
        return distance_T.long().clamp(-self.cap, self.cap) + self.cap
