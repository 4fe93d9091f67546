from dataclasses import replace

import pytest
import torch

from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import ModelConfig
from sayso.train.config import TrainConfig
from sayso.train.optimizer import make_optimizer, rate_factor, set_rates
from toy_batch import make_extractor

SETTINGS = TrainConfig(max_epochs=2, warmup=0.25, schedule="linear", weight_decay=0.1, pretrained_learning_rate=1e-5)


def test_pretrained_weights_have_their_own_rate_and_vectors_no_decay() -> None:
    extractor = make_extractor(ModelConfig(encoder=TransformerConfig()))
    optimizer = make_optimizer(extractor, extractor.encoder, SETTINGS)
    pretrained = {id(parameter) for parameter in extractor.encoder.pretrained_parameters()}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(list(extractor.parameters()))
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            assert group["lr"] == (1e-5 if id(parameter) in pretrained else 1e-3)
            assert group["weight_decay"] == (0.1 if parameter.ndim > 1 else 0.0)


def test_without_pretrained_weights_and_decay_there_is_one_group() -> None:
    extractor = make_extractor(ModelConfig())
    assert len(make_optimizer(extractor, extractor.encoder, TrainConfig()).param_groups) == 1


def test_rates_rise_and_fall_over_the_whole_run() -> None:
    factors = [rate_factor(SETTINGS, step, 8) for step in range(8)]
    assert factors == pytest.approx([0.5, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    extractor = make_extractor(ModelConfig())
    optimizer = make_optimizer(extractor, extractor.encoder, SETTINGS)
    set_rates(optimizer, SETTINGS, 5, 8)
    assert {group["lr"] for group in optimizer.param_groups} == {0.5e-3}
    set_rates(optimizer, replace(SETTINGS, schedule="constant"), 5, 8)
    assert {group["lr"] for group in optimizer.param_groups} == {1e-3}


def test_decay_is_decoupled_as_in_adamw() -> None:
    extractor = make_extractor(ModelConfig())
    ours = make_optimizer(extractor, extractor.encoder, replace(SETTINGS, warmup=0.0))
    other = make_extractor(ModelConfig())
    theirs = torch.optim.AdamW(
        [
            {"params": [p for p in other.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in other.parameters() if p.ndim <= 1], "weight_decay": 0.0},
        ],
        lr=1e-3,
    )
    for model, optimizer in ((extractor, ours), (other, theirs)):
        for number, parameter in enumerate(model.parameters()):
            parameter.grad = torch.full_like(parameter, 0.1 * (number + 1))
        optimizer.step()
    for one, two in zip(extractor.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two)
