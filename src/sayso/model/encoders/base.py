"""The interface of an encoder.

Shapes: S sentences, T tokens, D width of a sentence vector.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sayso.features.batch import SentenceBatch
from sayso.model.embedding import TokenEmbedding


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The settings of an encoder; each kind has its own."""


class Encoder(nn.Module, ABC):
    """Turns each sentence into one vector of `width` non-negative values.

    A sentence's vector depends on that sentence alone. Parameters are drawn from the generator; randomness in training
    comes from the generator of a `TokenDropout`.
    """

    width: int

    @abstractmethod
    def __init__(self, config: EncoderConfig, word_width: int, generator: torch.Generator) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""
