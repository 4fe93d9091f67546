"""Convolutions of several widths and the maximum over time: the encoder of both systems of the paper.

Shapes: S sentences, F filters of all widths together, D width of a sentence vector, P of the positions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sayso.errors import BadConfigError
from sayso.features.batch import SentenceBatch
from sayso.model.convolution import Convolution
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders.base import Encoder, EncoderConfig
from sayso.model.initial import Affine
from sayso.model.kernels.base import Windows
from sayso.model.position import PositionEmbedding, PositionForm


@dataclass(frozen=True, kw_only=True)
class CnnConfig(EncoderConfig):
    """Settings of the convolutional encoder; the paper's, and for positions what validation prefers."""

    widths: tuple[int, ...] = (2, 3, 4, 5)
    num_filters: int = 100
    output_width: int = 100
    positions: PositionForm = "two_signed"
    position_width: int = 5
    position_cap: int = 30
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if not self.widths or min(self.widths) < 1 or len(set(self.widths)) != len(self.widths):
            raise BadConfigError(f"encoder widths {self.widths}: give one or more different widths of at least 1")
        if not 0.0 <= self.dropout < 1.0:
            raise BadConfigError(f"encoder dropout {self.dropout}: give a share from 0 up to but not including 1")


class CnnEncoder(Encoder):
    """Filters over words and positions, ReLU, maximum over time, a projection, ReLU (Shahbazi et al. 2020).

    A sentence shorter than a filter counts as followed by zeros up to that filter's width.
    """

    def __init__(self, config: CnnConfig, word_width: int, generator: torch.Generator) -> None:
        super().__init__(config, word_width, generator)
        self.width = config.output_width
        position = PositionEmbedding(config.positions, config.position_width, config.position_cap, generator)
        windows = Windows(widths=tuple(sorted(config.widths)), num_filters=config.num_filters)
        self.convolution = Convolution(windows, word_width, position, config.dropout, generator)
        num_filters = config.num_filters * len(config.widths)
        self.bias_F = nn.Parameter(torch.zeros(num_filters))
        self.projection = Affine(num_filters, config.output_width, generator)

    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
        return self.from_peaks(self.convolution(embedding, sentences))

    def from_peaks(self, peak_SF: Tensor) -> Tensor:
        """Return vector_SD from each filter's highest value in each sentence."""
        # The bias is the same at all windows and ReLU keeps their order, so both can wait until after the maximum.
        vector_SD: Tensor = self.projection((peak_SF + self.bias_F).relu()).relu()
        return vector_SD
