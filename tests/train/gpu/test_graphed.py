from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gpu import needs_gpu
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import Extractor
from sayso.train.config import RunConfig
from sayso.train.epoch import ProcessShard
from sayso.train.gpu.graphed import GraphedEpochs, why_not_graphed
from sayso.train.loop import make_optimizer, train_epoch
from sayso.train.objective import Objective
from toy_encoder import edit_config, write_encoder
from train.toy_run import run_data, toy_config


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_encoder(tmp_path_factory.mktemp("encoder") / "tiny")
    edit_config(folder, hidden_dropout_prob=0.0)
    return folder


def config_with(encoder: Path, aggregator: str, loss: dict, tokens_at_once: int = 10**9, **settings) -> RunConfig:
    plain = toy_config(aggregator, "words", 0.0, batch_bags=16, precision="bf16")
    transformer = TransformerConfig(folder=str(encoder), output_width=8, max_length=48, dropout=0.0, **settings)
    steps = {"warmup": 0.1, "schedule": "linear", "weight_decay": 0.01, "tokens_at_once": tokens_at_once}
    return replace(
        plain,
        model=replace(plain.model, encoder=transformer),
        loss=replace(plain.loss, **loss),
        train=replace(plain.train, **steps),
    )


class Trainee:
    """A model with its objective and optimizer on the GPU."""

    def __init__(self, store: Path, config: RunConfig) -> None:
        self.data = run_data(store, config)
        self.extractor = Extractor(config.model, self.data.tables(), config.seed)
        self.extractor.encoder.load_pretrained()
        self.extractor.encoder.precision = "bf16"
        num_labels = len(self.data.store.direct_labels) if config.loss.needs_labels else 0
        self.objective = Objective(self.extractor, config.loss, num_labels, config.seed).cuda()
        self.optimizer = make_optimizer(self.objective, self.extractor.encoder, config.train)

    def train(self, is_graphed: bool, num_epochs: int) -> list[dict[str, float]]:
        """Train and return the loss terms of each epoch."""
        numbers, quiet = range(1, num_epochs + 1), lambda _: None
        if is_graphed:
            epochs = GraphedEpochs(self.objective, self.optimizer, self.data)
            return [epochs.train_epoch(number, quiet).terms for number in numbers]
        state = (self.objective, self.extractor, self.optimizer, self.data, ProcessShard())
        return [train_epoch(*state, number, quiet).terms for number in numbers]

    def learned(self) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.objective.parameters()])


CASES = {
    "attention": ("attention", {}, {}),
    "noisy-or with relation labels": ("noisy_or", {"direct_task": "relations"}, {}),
    "noisy-or with marks": ("noisy_or", {"mark_score": 1.0, "mark_ranking": 1.0}, {}),
    "spans": ("attention", {}, {"reading": "spans"}),
    "frozen layers": ("attention", {}, {"freeze_layers": 2}),
    "sentence classifier": ("direct", {}, {}),
    "parts": ("noisy_or", {}, {"tokens_at_once": 200}),
}


@needs_gpu
@pytest.mark.parametrize(("aggregator", "loss", "settings"), CASES.values(), ids=CASES)
def test_graphed_epochs_learn_what_plain_ones_learn(
    encoder: Path, store: Path, marked: Path, aggregator: str, loss: dict, settings: dict
) -> None:
    config = config_with(encoder, aggregator, loss, **settings)
    where = marked if "mark_score" in loss else store
    plain, graphed = Trainee(where, config), Trainee(where, config)
    expected, found = plain.train(False, 3), graphed.train(True, 3)
    for before, after in zip(expected, found, strict=True):
        assert after == pytest.approx(before, rel=0.02, abs=1e-3)
    # Products are rounded to 8 bits, so what is learned agrees less than the losses.
    assert float((graphed.learned() - plain.learned()).norm() / plain.learned().norm()) < 0.02
    steps = [trainee.optimizer.state[trainee.extractor.scorer.bias_R]["step"] for trainee in (plain, graphed)]
    assert float(steps[0]) == float(steps[1]) >= 3


@needs_gpu
def test_dropout_differs_from_step_to_step_and_repeats_with_the_seed(encoder: Path, store: Path, tmp_path) -> None:
    config = config_with(encoder, "attention", {})
    dropping = replace(config.model.encoder, dropout=0.5)
    config = replace(config, model=replace(config.model, encoder=dropping))
    first, again = (Trainee(store, config).train(True, 2) for _ in range(2))
    without = Trainee(store, config_with(encoder, "attention", {})).train(True, 2)
    assert first[0] == pytest.approx(again[0], rel=0.01)
    assert first[1] != pytest.approx(without[1], rel=1e-4)


def test_what_cannot_be_graphed_is_named(encoder: Path, store: Path) -> None:
    config = config_with(encoder, "attention", {})
    extractor = Extractor(config.model, run_data(store, config).tables(), 13)
    assert why_not_graphed(extractor, config, ProcessShard()) == 'train.precision is not "bf16"'
    extractor.encoder.precision = "bf16"
    assert why_not_graphed(extractor, config, ProcessShard()) is None
    assert why_not_graphed(extractor, config, ProcessShard(0, 2)) == "several processes share every batch"
    distracted = replace(config, loss=replace(config.loss, distractor=1.0))
    assert "loss.distractor" in str(why_not_graphed(extractor, distracted, ProcessShard()))
    extractor.encoder.can_pack = False
    assert why_not_graphed(extractor, config, ProcessShard()) == "encoders of its kind need padding"
