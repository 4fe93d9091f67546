"""Filters over words and positions, and their maximum over groups of windows: what both encoders share.

Shapes: T tokens, G groups of windows, F filters of all widths together, P width of the positions.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.dropout import TokenDropout
from sayso.model.embedding import TokenEmbedding
from sayso.model.initial import uniform_parameter
from sayso.model.lookup import looked_up_max
from sayso.model.position import PositionEmbedding
from sayso.model.window import Layout, Windows, taps_of, window_max


class Convolution(nn.Module):
    """As many filters of each width, narrow ones first, over words, types and positions, with dropout on all three."""

    def __init__(
        self,
        widths: Sequence[int],
        num_filters: int,
        word_width: int,
        position: PositionEmbedding,
        dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.widths = tuple(sorted(widths))
        self.position = position
        self.dropout = TokenDropout(dropout)
        row_width = word_width + position.width
        self.weights = nn.ParameterList(
            uniform_parameter(width, num_filters, row_width, fan_in=width * row_width, generator=generator)
            for width in self.widths
        )

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch, layout: Layout, windows: Windows) -> Tensor:
        """Return peak_GF, each filter's highest value in each group of windows; −inf in a group without windows."""
        weights = list(self.weights)
        if self._can_look_up(sentences):
            return looked_up_max(embedding.distinct(sentences), self.position.rows(sentences), layout, windows, weights)
        tokens = embedding(sentences)
        tokens = replace(tokens, word_TW=self.dropout(tokens.word_TW), type_UW=self.dropout(tokens.type_UW))
        position_TP = self.dropout(self.position(sentences))
        return window_max(tokens, position_TP, layout, windows, taps_of(weights))

    def _can_look_up(self, sentences: SentenceBatch) -> bool:
        """Say whether tables pay: nothing is learned or dropped, and products are dear next to lookups, as on CPU."""
        is_learning = torch.is_grad_enabled() or self.dropout.is_active
        return not is_learning and sentences.token_T.device.type == "cpu" and not torch.compiler.is_exporting()
