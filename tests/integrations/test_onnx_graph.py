import pytest
import torch

from model.variants import VARIANTS
from sayso.errors import UserError
from sayso.integrations.onnx import inputs_of, random_batch
from sayso.integrations.onnx_graph import FlatExtractor
from sayso.model.encoders.cnn import CnnEncoder
from sayso.model.encoders.pcnn import PcnnConfig
from sayso.model.extractor import ModelConfig
from toy_batch import make_extractor

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
        torch.testing.assert_close(FlatExtractor(extractor)(*inputs_of(batch)), extractor(batch), atol=1e-9, rtol=1e-9)


def test_a_kind_that_cannot_be_exported_is_an_error() -> None:
    class Newer(CnnEncoder):
        pass

    extractor = make_extractor(VARIANTS["attention"])
    extractor.encoder.__class__ = Newer
    with pytest.raises(UserError, match="Newer cannot be exported to ONNX yet; supported: CnnEncoder, PcnnEncoder"):
        FlatExtractor(extractor)
