"""The references are the same model as ours: same logits, same loss, same gradients, same explanations."""

from dataclasses import replace

import pytest
import torch

from model.variants import VARIANTS
from reference.no_padding import UnpaddedModel
from reference.padded import PaddedModel
from reference.plain import PlainModel
from sayso.explain import EXPLAINERS
from sayso.features.batch import BagBatch
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.extractor import ModelConfig
from sayso.train.config import LossConfig
from sayso.train.objective import Objective
from toy_batch import make_batch, make_extractor

REFERENCES = {"padded": PaddedModel, "no padding": UnpaddedModel}
# The references are written for the two aggregators of the paper.
PAPER = {name: config for name, config in VARIANTS.items() if "context" not in name and "noisy_or" not in name}
UNSIGNED = ModelConfig(encoder=CnnConfig(num_filters=3, output_width=4, positions="shared_unsigned"))


def toy_batch() -> BagBatch:
    """Return bags of several sizes; every other sentence has its own target."""
    batch = make_batch([1, 3, 2, 1, 20])
    target_S = torch.full((27,), torch.nan, dtype=torch.float64)
    target_S[::2] = torch.arange(14) % 2
    return replace(batch, label_BR=batch.label_BR.double(), target_S=target_S)


@pytest.mark.parametrize("make", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize("config", [*PAPER.values(), UNSIGNED], ids=[*PAPER, "unsigned positions"])
def test_a_reference_has_our_logits_loss_and_gradients(config: ModelConfig, make: type[PlainModel]) -> None:
    extractor, batch = make_extractor(config), toy_batch()
    model = make(extractor)
    torch.testing.assert_close(model(batch), extractor(batch))
    loss = sum(Objective(extractor, LossConfig())(batch, 5, 14).values(), torch.zeros(()))
    expected = model.loss(batch, 5, 14)
    torch.testing.assert_close(loss, expected, check_dtype=False)
    loss.backward()
    expected.backward()
    for name, parameter in extractor.named_parameters():
        torch.testing.assert_close(
            parameter.grad, model.weight[name].grad, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("config", PAPER.values(), ids=PAPER)
def test_explanations_by_loops_are_ours(config: ModelConfig) -> None:
    extractor, batch = make_extractor(config), toy_batch()
    vector_ND = extractor.encode(batch.sentences).detach()
    for name, expected_NR in PaddedModel(extractor).explain(vector_ND, batch.bags).items():
        score_NR = EXPLAINERS[name].explain(extractor, vector_ND, batch.bags)
        torch.testing.assert_close(score_NR.expand_as(expected_NR), expected_NR)
