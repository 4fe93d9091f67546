"""The piecewise convolutional encoder: one maximum before, between and after the two mentions (Zeng et al. 2015).

Shapes: S sentences, Z rows, F filters, D width of a sentence vector, P width of the positions.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from sayso.config import Range, check_ranges
from sayso.features.batch import SentenceBatch
from sayso.model.convolution import Convolution
from sayso.model.embedding import PositionEmbedding, PositionForm, TokenEmbedding
from sayso.model.encoders.base import Encoder, EncoderConfig, ModelTables
from sayso.model.kernels.base import Windows
from sayso.model.layers import Affine

NUM_PIECES = 3


@dataclass(frozen=True, kw_only=True)
class PcnnConfig(EncoderConfig):
    """Settings of the piecewise encoder; the defaults follow Zeng et al., with positions as in Lin et al. 2016."""

    filter_width: Annotated[int, Range(1, 100)] = 3
    num_filters: Annotated[int, Range(1, 10_000)] = 230
    output_width: Annotated[int, Range(1, 10_000)] = 100
    positions: PositionForm = "two_signed"
    position_width: Annotated[int, Range(1, 1_000)] = 5
    position_cap: Annotated[int, Range(1, 10_000)] = 30
    dropout: Annotated[float, Range(0, 1, below=True)] = 0.1

    def __post_init__(self) -> None:
        check_ranges(self)


class PcnnEncoder(Encoder):
    """A window around each token, the maximum over each piece of the sentence, tanh, a projection, ReLU.

    The sentence is padded with zeros, so that each token has a window. A piece without tokens gives 0. The projection
    and its ReLU are our additions: they make the vectors fit the same aggregators.
    """

    def __init__(self, config: PcnnConfig, tables: ModelTables, generator: torch.Generator) -> None:
        super().__init__(config, tables, generator)
        self.width = config.output_width
        position = PositionEmbedding(config.positions, config.position_width, config.position_cap, generator)
        width = config.filter_width
        windows = Windows(
            widths=(width,), num_filters=config.num_filters, before=(width - 1) // 2, num_pieces=NUM_PIECES
        )
        self.convolution = Convolution(windows, tables.word_VW.shape[1], position, config.dropout, generator)
        self.bias_F = nn.Parameter(torch.zeros(config.num_filters))
        self.projection = Affine(NUM_PIECES * config.num_filters, config.output_width, generator)

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        return self.from_peaks(self.convolution(embedding, sentences))

    def from_peaks(self, peak_GF: Tensor) -> Tensor:
        """Return vector_SD from each filter's highest value in each piece of each sentence."""
        is_empty_GF = peak_GF == -torch.inf
        piece_GF = (peak_GF.masked_fill(is_empty_GF, 0.0) + self.bias_F).tanh().masked_fill(is_empty_GF, 0.0)
        vector_SD: Tensor = self.projection(piece_GF.view(-1, NUM_PIECES * piece_GF.shape[1])).relu()
        return vector_SD
