"""A model whose weights are set by hand: dimension 0 of a sentence vector decides relation 0, and nothing else does."""

import torch
from torch import Tensor

from sayso.model.aggregators.attention import Attention, AttentionConfig
from sayso.model.aggregators.base import AggregatorConfig
from sayso.model.aggregators.direct import Direct, DirectConfig
from sayso.model.aggregators.noisy_or import NoisyOr, NoisyOrConfig
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.extractor import Extractor, ModelConfig, ModelTables

AGGREGATORS: dict[str, AggregatorConfig] = {
    "attention": AttentionConfig(),
    "direct": DirectConfig(hidden_width=3),
    "noisy_or": NoisyOrConfig(),
}


def make_decisive(aggregator: str, encoder: CnnConfig, word_VW: Tensor, use_entities: bool = False) -> Extractor:
    """Return an extractor with two relations, which attends to and classifies by dimension 0 alone."""
    config = ModelConfig(encoder=encoder, aggregator=AGGREGATORS[aggregator], use_entities=use_entities)
    tables = ModelTables(word_VW=word_VW, num_types=0, num_relations=2, entity_EV=torch.zeros(1, 3))
    extractor = Extractor(config, tables, seed=0).eval()
    with torch.no_grad():
        extractor.scorer.relation_RD.zero_()[0, 0] = 3.0
        if extractor.scorer.entity is not None:
            extractor.scorer.entity.text_DD.copy_(torch.eye(encoder.output_width))
        _decide(extractor.aggregator)
    return extractor


def _decide(aggregator: torch.nn.Module) -> None:
    if isinstance(aggregator, Attention):
        aggregator.query_RD.zero_()[0, 0] = 2.0
        return
    if isinstance(aggregator, NoisyOr):
        return
    assert isinstance(aggregator, Direct)
    for parameter in aggregator.classifier.parameters():
        parameter.zero_()
    # A sentence without dimension 0 has the weight σ(−2) = 0.12, one with 1 in it σ(2) = 0.88.
    aggregator.classifier.hidden.weight[0, 0] = 4.0
    aggregator.classifier.output.weight[0, 0] = 1.0
    aggregator.classifier.output.bias.fill_(-2.0)
