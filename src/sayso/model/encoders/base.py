"""The interface of an encoder.

Shapes: S sentences, T tokens, D width of a sentence vector.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from sayso.errors import UserError, option
from sayso.features.batch import SentenceBatch
from sayso.features.mentions import ModelInput
from sayso.model.embedding import DistinctRows, OpenEmbedding, TokenEmbedding
from sayso.model.pretrained import Pretrained
from sayso.model.subword_reads import KeptStates


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """The settings of an encoder; each kind has its own."""


@dataclass(frozen=True, kw_only=True)
class ModelTables:
    """The frozen vectors and the sizes that a model is built from.

    Row 0 of the word vectors is the unknown word; row 0 of the entity vectors, which only +E uses, is zeros. With a
    `pretrained` encoder, word vectors have width 0.
    """

    word_VW: Tensor
    num_types: int
    num_relations: int
    entity_EV: Tensor | None = None
    pretrained: Pretrained | None = None


class Encoder(nn.Module, ABC):
    """Turns each sentence into one vector of `width` non-negative values.

    A sentence's vector depends on that sentence alone. Parameters are drawn from the generator; randomness in training
    comes from the generator of a `TokenDropout`.
    """

    width: int
    precision: str = "float32"
    """The precision that it is trained in, `train.precision`; pretrained encoders also predict in it."""

    @abstractmethod
    def __init__(self, config: EncoderConfig, tables: ModelTables, generator: torch.Generator) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, embedding: TokenEmbedding, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD."""

    def token_scores(self, embedding: TokenEmbedding, sentences: SentenceBatch, gradient_SD: Tensor) -> Tensor:
        """Return score_T = Σ_w v_tw ∂o/∂v_tw, where v_t is a token's vector and `gradient_SD` is ∂o/∂x."""
        with torch.no_grad():
            distinct: DistinctRows = embedding(sentences)
            row_TW = distinct.row_YW[distinct.index_T]
        with torch.enable_grad():
            vector_SD = self(OpenEmbedding(row_TW.requires_grad_()), sentences)
            (change_TW,) = torch.autograd.grad((vector_SD * gradient_SD).sum(), row_TW)
        score_T: Tensor = (row_TW.detach() * change_TW).sum(1)
        return score_T

    def load_pretrained(self) -> None:
        """Load pretrained weights, if the encoder has any."""

    def num_cut(self, inputs: ModelInput) -> int:
        """Return how many of the sentences are too long for the encoder, which leaves out some of their words."""
        del inputs
        return 0

    def reading_order(self, inputs: ModelInput) -> np.ndarray | None:
        """Return an order in which equal texts, which are read once, are adjacent; None if every sentence is read."""
        del inputs
        return None

    def quantize(self) -> None:
        """Switch prediction to 8-bit matrix products; only pretrained encoders support this."""
        raise UserError(
            f"{option('quantize')}: only pretrained encoders can be quantized; others are faster as they are"
        )

    def keep_frozen(self, sentences: Iterable[SentenceBatch], kept: KeptStates, max_bytes: int) -> None:
        """Cache the frozen layers' output for these sentences in `kept`, up to this much memory."""

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return the pretrained parameters that are trained further."""
        return []
