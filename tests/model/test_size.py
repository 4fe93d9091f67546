import pytest
import torch

from sayso.errors import UserError
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.encoders.pcnn import PcnnConfig
from sayso.model.extractor import Extractor, ModelConfig, ModelTables
from sayso.model.size import num_parameters, refuse_too_large

TABLES = ModelTables(word_VW=torch.ones(7, 4), num_types=3, num_relations=5, entity_EV=torch.ones(6, 2))


@pytest.mark.parametrize(
    "config",
    [ModelConfig(), ModelConfig(encoder=PcnnConfig(), aggregator=DirectConfig()), ModelConfig(use_entities=True)],
    ids=["CNNs+ATT", "DirectSup(PCNN)", "CNNs+ATT+E"],
)
def test_the_size_is_that_of_the_model_itself(config: ModelConfig) -> None:
    extractor = Extractor(config, TABLES, seed=0)
    assert num_parameters(config, TABLES) == sum(parameter.numel() for parameter in extractor.parameters())


def test_a_model_that_would_not_fit_is_refused_before_it_is_built() -> None:
    # 10,000 filters of each width, over 4 numbers of a word and 2,000 of its position: far beyond any memory.
    config = ModelConfig(
        encoder=CnnConfig(widths=tuple(range(1, 101)), num_filters=10_000, output_width=10_000, position_width=1_000)
    )
    with pytest.raises(
        UserError, match=r"^a model of [\d,]+ parameters needs about [\d,.]+ GB of memory, but .* available: "
    ):
        refuse_too_large(config, TABLES, available=10**11)


def test_every_copy_of_the_parameters_counts() -> None:
    num_bytes = 4 * num_parameters(ModelConfig(), TABLES)
    refuse_too_large(ModelConfig(), TABLES, copies=3, available=3 * num_bytes)
    with pytest.raises(UserError):
        refuse_too_large(ModelConfig(), TABLES, copies=3, available=3 * num_bytes - 1)
