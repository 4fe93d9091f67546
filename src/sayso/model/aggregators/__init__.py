"""Sentence vectors of a bag to relation logits: one file per kind.

AGGREGATORS maps a kind's name to its settings and its module; a new kind is one file, one line here and one heading
in the docs.
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
