"""Filters over words and positions, and their maximum over groups of windows: what both encoders share.

Shapes: T tokens, G groups of windows, F filters of all widths together, A columns and D width of all taps (`window`).
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.dropout import TokenDropout
from sayso.model.embedding import TokenEmbedding
from sayso.model.initial import uniform_parameter
from sayso.model.kernels.base import Windows
from sayso.model.position import PositionEmbedding
from sayso.model.products import KeptProducts
from sayso.model.window import codes_of, flat, highest, window_max


class Convolution(nn.Module):
    """As many filters of each width, narrow ones first, over words, types and positions, with dropout on all three.

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
