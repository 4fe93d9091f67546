"""Aggregators, from a bag's sentence vectors to relation logits: one file per kind.

AGGREGATORS maps a kind's name to its settings and its module; to add a kind, write a file, and add a line here and a
heading in the docs.
"""

from sayso.model.aggregators.attention import Attention, AttentionConfig
from sayso.model.aggregators.base import Aggregator, AggregatorConfig
from sayso.model.aggregators.direct import Direct, DirectConfig
from sayso.model.aggregators.noisy_or import NoisyOr, NoisyOrConfig

AGGREGATORS: dict[str, tuple[type[AggregatorConfig], type[Aggregator]]] = {
    "attention": (AttentionConfig, Attention),
    "direct": (DirectConfig, Direct),
    "noisy_or": (NoisyOrConfig, NoisyOr),
}
