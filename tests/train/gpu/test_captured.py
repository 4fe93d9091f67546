from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpu import needs_gpu
from sayso.model.extractor import Extractor
from sayso.model.kernels import compiler
from sayso.train.config import LossConfig, RunConfig, TrainConfig, config_of
from sayso.train.epoch import ProcessShard
from sayso.train.gpu.captured import CapturedEpochs, pack, why_not_captured
from sayso.train.loop import TrainingError, train_epoch
from sayso.train.objective import Objective
from sayso.train.run import Callbacks, train
from train.toy_run import run_data, toy_config

SHAPES = st.lists(st.lists(st.integers(0, 4), min_size=0, max_size=3), min_size=1, max_size=4)
TYPES = (torch.int32, torch.int64, torch.float32)


@given(shapes=SHAPES, num_steps=st.integers(1, 4), seed=st.integers(0, 99))
def test_what_is_cut_out_is_what_was_packed(shapes: list[list[int]], num_steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        str(number): torch.randint(-99, 99, (num_steps, *shape), generator=generator).to(TYPES[number % 3])
        for number, shape in enumerate([[2], *shapes])
    }
    packed = pack(tensors)
    for step in range(num_steps):
        fields = packed.cut(torch.tensor([step]))
        assert list(fields) == list(tensors)
        for name, tensor in tensors.items():
            assert fields[name].dtype == tensor.dtype
            assert torch.equal(fields[name], tensor[step])


def test_every_field_begins_at_a_multiple_of_sixteen_bytes() -> None:
    packed = pack({"a": torch.zeros(2, 1, dtype=torch.int32), "b": torch.zeros(2, 3), "c": torch.zeros(2, 5)})
    assert [field.first % 2 for field in packed.fields.values()] == [0, 0, 0]


VARIANTS = [
    ("attention", "words", 0.0, False),
    ("attention", "type", 1.0, False),
    ("attention", "type_and_words", 1.0, True),
    ("direct", "words", 0.0, False),
    ("direct", "type", 1.0, True),
]


class Trainee:
    """A model with its optimizer on the GPU."""

    def __init__(self, store: Path, config: RunConfig) -> None:
        self.data = run_data(store, config)
        self.extractor = Extractor(config.model, self.data.tables(), config.seed).cuda()
        self.optimizer = torch.optim.Adam(self.extractor.parameters(), lr=config.train.learning_rate)

    def train(self, is_captured: bool, num_epochs: int) -> list[dict[str, float]]:
        """Train and return the loss terms of each epoch."""
        if is_captured:
            epochs = CapturedEpochs(self.extractor, self.optimizer, self.data)
            return [epochs.train_epoch(number, lambda _: None).terms for number in range(1, num_epochs + 1)]
        objective = Objective(self.extractor, self.data.config.loss)
        return [
            train_epoch(
                objective, self.extractor, self.optimizer, self.data, ProcessShard(), number, lambda _: None
            ).terms
            for number in range(1, num_epochs + 1)
        ]

    def learned(self) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.extractor.parameters()])


@needs_gpu
@pytest.mark.parametrize(("aggregator", "mentions", "distractor", "entities"), VARIANTS)
def test_captured_epochs_learn_what_plain_ones_learn(store, aggregator, mentions, distractor, entities) -> None:
    config = toy_config(aggregator, mentions, distractor, entities)
    plain, captured = Trainee(store, config), Trainee(store, config)
    expected, found = plain.train(False, 3), captured.train(True, 3)
    for before, after in zip(expected, found, strict=True):
        assert after == pytest.approx(before, rel=1e-3, abs=1e-5)
    assert float((captured.learned() - plain.learned()).norm() / plain.learned().norm()) < 2e-3
    steps = [trainee.optimizer.state[trainee.extractor.scorer.bias_R]["step"] for trainee in (plain, captured)]
    assert float(steps[0]) == float(steps[1]) > 3


@needs_gpu
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(store, tmp_path) -> None:
    table = toy_config("direct", max_epochs=4, patience=4).to_table()
    table["model"]["encoder"]["cnn"]["dropout"] = 0.3
    whole, half = config_of(table), tmp_path / "half"
    expected = train(whole, store, tmp_path / "whole", "cuda")
    with pytest.raises(InterruptedError):
        train(whole, store, half, "cuda", callbacks=stop_after(2))
    found = train(whole, store, half, "cuda", resume=True)
    # Gradients are added up in no fixed order, so only draws repeat exactly, not the last digits.
    assert found.epoch == expected.epoch
    assert found.best_area == pytest.approx(expected.best_area, abs=0.02)


def stop_after(epoch: int):
    def stop(row) -> None:
        if row["epoch"] == epoch:
            raise InterruptedError

    return Callbacks(on_epoch=stop)


@needs_gpu
def test_dropout_repeats_its_draws(store) -> None:
    table = toy_config("attention", "type", 0.0).to_table()
    table["model"]["encoder"]["cnn"]["dropout"] = 0.5
    config = config_of(table)
    terms = [Trainee(store, config).train(True, 1)[0]["bag"] for _ in range(2)]
    other = Trainee(store, replace(config, seed=99))
    other.extractor.load_state_dict(Trainee(store, config).extractor.state_dict())
    # Gradients are added up in no fixed order, so a repeated run differs too, but far less than one with other draws.
    assert 10 * abs(terms[0] - terms[1]) < abs(other.train(True, 1)[0]["bag"] - terms[0])


@needs_gpu
def test_divergence_names_the_batch(store) -> None:
    trainee = Trainee(store, toy_config(learning_rate=1e30))
    with pytest.raises(TrainingError, match="epoch 1, batch"):
        trainee.train(True, 1)


@needs_gpu
def test_half_precision_stays_close(store) -> None:
    config = toy_config()
    half = replace(config, train=replace(config.train, precision="bf16"))
    expected, found = Trainee(store, config).train(True, 2), Trainee(store, half).train(True, 2)
    assert found[-1] == pytest.approx(expected[-1], rel=0.02)


def test_steps_are_captured_on_one_gpu_alone(store) -> None:
    config = toy_config()
    extractor = Extractor(config.model, run_data(store, config).tables(), 13)
    assert why_not_captured(extractor, config, ProcessShard(0, 2)) == "several processes share every batch"
    if not compiler.IS_THERE:
        assert why_not_captured(extractor, config, ProcessShard()) == "triton is not installed"


NOT_CAPTURED = {
    "mark_score": 1.0,
    "mark_ranking": 3.0,
    "direct_task": "relations",
    "known_share": 0.5,
    "compatible_na": 0.5,
    "warmup": 0.1,
    "schedule": "linear",
    "weight_decay": 0.01,
    "tokens_at_once": 4096,
}


def test_steps_are_not_captured_if_a_setting_would_be_ignored(store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "IS_THERE", True)
    config = toy_config()
    extractor = Extractor(config.model, run_data(store, config).tables(), 13)

    def reason(**sections: Any) -> str | None:
        return why_not_captured(extractor, replace(config, **sections), ProcessShard())

    assert reason() is None
    for name, value in NOT_CAPTURED.items():
        section = "loss" if hasattr(config.loss, name) else "train"
        changed = replace(getattr(config, section), **{name: value})
        assert reason(**{section: changed}) == f"{section}.{name} cannot be captured"
    several = {"loss": LossConfig(mark_score=1.0, mark_ranking=3.0), "train": TrainConfig(warmup=0.1)}
    assert reason(**several) == "loss.mark_score and loss.mark_ranking and train.warmup cannot be captured"


def test_every_setting_is_either_captured_or_a_reason_not_to_capture() -> None:
    loss = "sentence direct_sentences direct_relations distractor margin distractor_measure marked_bags"
    others = (
        "max_epochs patience batch_bags learning_rate pretrained_learning_rate gradient_clip keep precision calibration"
    )
    names = {field.name for config in (LossConfig, TrainConfig) for field in fields(config)}
    assert names == {*loss.split(), *others.split(), *NOT_CAPTURED}
