"""Convolutions of several widths and the maximum over time: the encoder of both systems in the paper.

Shapes: S sentences, F filters of all widths, D width of a sentence vector, P width of the positions.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from sayso.config import Range, check_ranges
from sayso.errors import BadConfigError
from sayso.features.batch import SentenceBatch
from sayso.model.convolution import Convolution
from sayso.model.embedding import PositionEmbedding, PositionForm, TokenEmbedding
from sayso.model.encoders.base import Encoder, EncoderConfig, ModelTables
from sayso.model.kernels.base import Windows
from sayso.model.layers import Affine


@dataclass(frozen=True, kw_only=True)
class CnnConfig(EncoderConfig):
    """Settings of the convolutional encoder: the paper's, except for positions, chosen on validation data."""

    widths: tuple[Annotated[int, Range(1, 100)], ...] = (2, 3, 4, 5)
    num_filters: Annotated[int, Range(1, 10_000)] = 100
    output_width: Annotated[int, Range(1, 10_000)] = 100
    positions: PositionForm = "two_signed"
    position_width: Annotated[int, Range(1, 1_000)] = 5
    position_cap: Annotated[int, Range(1, 10_000)] = 30
    dropout: Annotated[float, Range(0, 1, below=True)] = 0.1

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.widths or len(set(self.widths)) != len(self.widths):
            raise BadConfigError(f"encoder widths {self.widths}: choose one or more distinct widths")


class CnnEncoder(Encoder):
    """Filters over words and positions, ReLU, maximum over time, a projection, ReLU (Shahbazi et al. 2020).

    A sentence shorter than a filter is padded with zeros to its width.
    """

    def __init__(self, config: CnnConfig, tables: ModelTables, generator: torch.Generator) -> None:
        super().__init__(config, tables, generator)
        self.width = config.output_width
        position = PositionEmbedding(config.positions, config.position_width, config.position_cap, generator)
        windows = Windows(widths=tuple(sorted(config.widths)), num_filters=config.num_filters)
        self.convolution = Convolution(windows, tables.word_VW.shape[1], position, config.dropout, generator)
        num_filters = config.num_filters * len(config.widths)
        self.bias_F = nn.Parameter(torch.zeros(num_filters))
        self.projection = Affine(num_filters, config.output_width, generator)

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        return self.from_peaks(self.convolution(embedding, sentences))

    def from_peaks(self, peak_SF: Tensor) -> Tensor:
        """Return vector_SD from each filter's highest value in each sentence."""
        # The bias is the same at all windows and ReLU is monotonic, so both can follow the maximum.
        vector_SD: Tensor = self.projection((peak_SF + self.bias_F).relu()).relu()
        return vector_SD
