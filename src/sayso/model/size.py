"""How large a model is, found without building it."""

from dataclasses import replace

import torch

from sayso.memory import refuse_beyond_memory
from sayso.model.extractor import Extractor, ModelConfig, ModelTables


def num_parameters(config: ModelConfig, tables: ModelTables) -> int:
    """Return how many numbers the model learns; none of them is allocated."""
    # Learned parameters depend on the width of the frozen vectors, not on how many there are.
    entity_EV = tables.entity_EV if tables.entity_EV is None else tables.entity_EV[:1]
    with torch.device("meta"):
        extractor = Extractor(config, replace(tables, word_VW=tables.word_VW[:1], entity_EV=entity_EV), seed=0)
    return sum(parameter.numel() for parameter in extractor.parameters())


def refuse_too_large(config: ModelConfig, tables: ModelTables, copies: int = 1, available: int | None = None) -> None:
    """Raise `UserError` where so many copies of the parameters need more memory than is available."""
    num = num_parameters(config, tables)
    remedy = "choose smaller widths and fewer filters in model.encoder, or smaller widths in model.aggregator"
    refuse_beyond_memory(4 * num * copies, f"a model of {num:,} parameters needs", remedy, available)
