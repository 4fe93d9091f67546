"""The bag models that tests run over, by name, at toy size."""

from sayso.model.aggregators.attention import AttentionConfig
from sayso.model.aggregators.base import AggregatorConfig
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.aggregators.noisy_or import NoisyOrConfig
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.extractor import ModelConfig

WIDTH = 8
AGGREGATORS: dict[str, AggregatorConfig] = {
    "attention": AttentionConfig(),
    "attention-context": AttentionConfig(context=True),
    "direct": DirectConfig(hidden_width=6),
    "noisy_or": NoisyOrConfig(),
    "noisy_or-context": NoisyOrConfig(context=True),
    "direct-second-map": DirectConfig(weight="second_map", hidden_width=6),
}
VARIANTS = {
    name + suffix: ModelConfig(
        encoder=CnnConfig(num_filters=5, output_width=WIDTH), aggregator=aggregator, use_entities=has_entities
    )
    for name, aggregator in AGGREGATORS.items()
    for suffix, has_entities in (("", False), ("+E", True))
}
