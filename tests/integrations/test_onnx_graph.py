import pytest
import torch

from model.variants import VARIANTS
from sayso.errors import UserError
from sayso.integrations.onnx import inputs_of, random_batch
from sayso.integrations.onnx_graph import FlatExtractor, FlatTransformer
from sayso.model.aggregators.noisy_or import NoisyOrConfig
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.cnn import CnnEncoder
from sayso.model.encoders.pcnn import PcnnConfig
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import Extractor, ModelConfig
from toy_batch import make_extractor
from toy_encoder import toy_pretrained

CONFIGS = {
    **VARIANTS,
    "pcnn": ModelConfig(encoder=PcnnConfig(num_filters=5, output_width=8)),
    "pcnn-even": ModelConfig(encoder=PcnnConfig(filter_width=4, num_filters=5, output_width=8)),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_exported_graph_gives_the_extractors_logits(config: ModelConfig) -> None:
    extractor = make_extractor(config)
    for seed, sizes in enumerate([(1,), (5, 1, 1), (2, 30, 3)]):
        batch = random_batch(extractor, sizes, seed)
        torch.testing.assert_close(
            FlatExtractor(extractor)(**inputs_of(extractor, batch)), extractor(batch), atol=1e-9, rtol=1e-9
        )


def test_a_kind_that_cannot_be_exported_is_an_error() -> None:
    class Newer(CnnEncoder):
        pass

    extractor = make_extractor(VARIANTS["attention"])
    extractor.encoder.__class__ = Newer
    with pytest.raises(UserError, match="Newer cannot be exported to ONNX yet; supported: CnnEncoder, PcnnEncoder"):
        FlatExtractor(extractor)


@pytest.mark.parametrize("reading", ["markers", "spans"])
@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra"])
def test_the_exported_graph_of_a_pretrained_encoder_gives_the_extractors_logits(kind: str, reading: str) -> None:
    encoder = TransformerConfig(reading=reading, freeze_layers=1)  # type: ignore[arg-type]
    tables = ModelTables(word_VW=torch.zeros(9, 0), num_types=2, num_relations=5, pretrained=toy_pretrained(9, 2, kind))
    extractor = Extractor(ModelConfig(encoder=encoder, aggregator=NoisyOrConfig()), tables, seed=1).eval()
    for seed, sizes in enumerate([(1,), (5, 1, 1), (2, 30, 3)]):
        batch = random_batch(extractor, sizes, seed)
        with torch.no_grad():
            expected = extractor(batch)
            found = FlatTransformer(extractor)(**inputs_of(extractor, batch))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_a_pretrained_encoder_that_cannot_be_exported_is_an_error() -> None:
    tables = ModelTables(
        word_VW=torch.zeros(9, 0), num_types=2, num_relations=5, pretrained=toy_pretrained(9, 2, "mpnet")
    )
    extractor = Extractor(ModelConfig(encoder=TransformerConfig()), tables, seed=1)
    with pytest.raises(UserError, match="type mpnet cannot be exported to ONNX yet"):
        FlatTransformer(extractor)
