"""The forward pass: from a batch of bags to one logit per bag and relation.

Shapes: B bags, N sentences in all bags, S all sentences that are encoded, D width of a sentence vector,
R relations, V words, W width of a word vector, E entities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from sayso.config import Kinds, Range, check_ranges
from sayso.errors import BadConfigError
from sayso.features.batch import BagBatch, BagIndex, SentenceBatch
from sayso.features.mentions import ModelInput
from sayso.memory import refuse_beyond_memory
from sayso.model.aggregators import AGGREGATORS
from sayso.model.aggregators.attention import AttentionConfig
from sayso.model.aggregators.base import Aggregator, AggregatorConfig
from sayso.model.calibration import Calibration
from sayso.model.convolution import Convolution
from sayso.model.embedding import TokenEmbedding
from sayso.model.encoders import ENCODERS
from sayso.model.encoders.base import Encoder, EncoderConfig, ModelTables
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.layers import TokenDropout
from sayso.model.relation import EntityProjection, RelationScorer
from sayso.seeding import sub_seed

Settings = TypeVar("Settings")
Module = TypeVar("Module")


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Settings of the encoder and the aggregator (their classes select the kinds), and whether to use +E.

    `initial_probability` is the probability of every fact before training.
    """

    encoder: EncoderConfig = field(default_factory=CnnConfig)
    aggregator: AggregatorConfig = field(default_factory=AttentionConfig)
    use_entities: bool = False
    initial_probability: Annotated[float, Range(0, 1, above=True, below=True)] = 0.01

    def __post_init__(self) -> None:
        check_ranges(self)


class Extractor(nn.Module):
    """Embeds the tokens, encodes the sentences, aggregates each bag, scores its relations and calibrates the scores.

    Parameters are drawn from the seed alone. Dropout draws from a generator with the same seed until
    `use_generator` sets a different one.
    """

    def __init__(self, config: ModelConfig, tables: ModelTables, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(sub_seed(seed, "init"))
        self.config = config
        self.embedding = TokenEmbedding(tables.word_VW, tables.num_types, generator)
        encoder_class = _module_of(ENCODERS, config.encoder)
        self.encoder: Encoder = encoder_class(config.encoder, tables, generator)
        width = self.encoder.width
        aggregator_class = _module_of(AGGREGATORS, config.aggregator)
        self.aggregator: Aggregator = aggregator_class(config.aggregator, tables.num_relations, width, generator)
        entity = None
        if config.use_entities:
            if tables.entity_EV is None:
                raise BadConfigError(
                    "model.use_entities is set, but there are no entity vectors: add them with `sayso prepare`"
                )
            entity = EntityProjection(tables.entity_EV, width, generator)
        self.scorer = RelationScorer(tables.num_relations, width, entity, config.initial_probability, generator)
        self.calibration: Calibration | None = None
        self.use_generator(torch.Generator().manual_seed(sub_seed(seed, "dropout")))

    def forward(self, batch: BagBatch) -> Tensor:
        """Return logit_BR for the bags, ignoring distractors and directly supervised sentences."""
        vector_SD = self.encode(batch.sentences)
        return self.classify(vector_SD[: batch.bags.num_sentences], batch.bags)

    def encode(self, sentences: SentenceBatch) -> Tensor:
        """Return vector_SD, one non-negative vector per sentence."""
        vector_SD: Tensor = self.encoder(self.embedding, sentences)
        return vector_SD

    def classify(self, vector_ND: Tensor, bags: BagIndex) -> Tensor:
        """Return logit_BR for bags of encoded sentences, calibrated if the model has a calibration."""
        logit_BR: Tensor = self.aggregator(vector_ND, bags, self.scorer)
        return self.calibrated(logit_BR)

    def calibrated(self, logit: Tensor) -> Tensor:
        """Apply the calibration to logits of the aggregator or scorer; the last dimension is the relation."""
        if self.calibration is None:
            return logit
        mapped: Tensor = self.calibration(logit)
        return mapped

    def rescaled(self, change: Tensor) -> Tensor:
        """Turn differences or gradients of uncalibrated logits into those of the calibrated ones."""
        return change if self.calibration is None else change * self.calibration.scale_R

    def use_generator(self, generator: torch.Generator) -> None:
        """Make dropout draw from this generator, preferably on the model's device."""
        for module in self.modules():
            if isinstance(module, TokenDropout):
                module.generator = generator

    def num_cut(self, inputs: ModelInput) -> int:
        """Return how many of the sentences are too long for the encoder."""
        return self.encoder.num_cut(inputs)

    def reading_order(self, inputs: ModelInput) -> np.ndarray | None:
        """Return the order in which to encode many sentences, if it matters; see `Encoder.reading_order`."""
        return self.encoder.reading_order(inputs)

    def quantize(self) -> None:
        """Switch prediction to 8-bit matrix products; see `Encoder.quantize`."""
        self.encoder.quantize()

    def limit_products(self, max_bytes: int) -> None:
        """Limit the memory for products that prediction on CPU caches across batches."""
        for module in self.modules():
            if isinstance(module, Convolution):
                module.kept.limit(max_bytes)


def _module_of(kinds: Mapping[str, tuple[type[Settings], type[Module]]], settings: Settings) -> type[Module]:
    for config_class, module_class in kinds.values():
        if type(settings) is config_class:
            return module_class
    raise BadConfigError(f"{type(settings).__name__} is not a known kind: choose one of {', '.join(kinds)}")


KINDS: Kinds = {
    EncoderConfig: {name: config for name, (config, _) in ENCODERS.items()},
    AggregatorConfig: {name: config for name, (config, _) in AGGREGATORS.items()},
}


def num_parameters(config: ModelConfig, tables: ModelTables) -> int:
    """Return the number of learned parameters without allocating them."""
    # Learned parameters depend on the width of the frozen vectors, not on their number.
    entity_EV = tables.entity_EV if tables.entity_EV is None else tables.entity_EV[:1]
    with torch.device("meta"):
        extractor = Extractor(config, replace(tables, word_VW=tables.word_VW[:1], entity_EV=entity_EV), seed=0)
    return sum(parameter.numel() for parameter in extractor.parameters())


def refuse_too_large(config: ModelConfig, tables: ModelTables, copies: int = 1, available: int | None = None) -> None:
    """Raise `UserError` if this many copies of the parameters need more memory than is available."""
    num = num_parameters(config, tables)
    remedy = "choose smaller widths and fewer filters in model.encoder, or smaller widths in model.aggregator"
    refuse_beyond_memory(4 * num * copies, f"a model with {num:,} parameters needs", remedy, available)
