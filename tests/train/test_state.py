import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sayso.errors import BadInputError
from sayso.train.state import RunStatus, load_state, parameters_of, read_status, save_state

IDENTITY = {"config": {"seed": 1, "train": {"patience": 3, "max_epochs": 30}}, "data": "abc"}
STANDING = RunStatus(epoch=2, best_epoch=1, best_area=0.1, best_average_precision=0.2, seconds=3.5)


def trained(num_steps: int, width: int = 3) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a model after some steps, with its optimizer."""
    model = nn.Linear(width, 2)
    for number, parameter in enumerate(model.parameters()):
        nn.init.constant_(parameter, 0.1 * (number + 1))
    optimizer = torch.optim.Adam(model.parameters())
    take_steps(model, optimizer, num_steps)
    return model, optimizer


def take_steps(model: nn.Module, optimizer: torch.optim.Optimizer, num: int) -> None:
    for _ in range(num):
        optimizer.zero_grad()
        model(torch.ones(1, model.in_features)).square().sum().backward()
        optimizer.step()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model, optimizer = trained(3)
    save_state(tmp_path / "state.safetensors", model, optimizer, parameters_of(trained(1)[0]), STANDING, IDENTITY)
    return tmp_path / "state.safetensors"


def test_steps_after_loading_equal_those_without_a_break(path: Path) -> None:
    straight, straight_optimizer = trained(3)
    take_steps(straight, straight_optimizer, 4)
    model, optimizer = trained(0)
    status, best = load_state(path, model, optimizer, IDENTITY)
    take_steps(model, optimizer, 4)
    assert status == STANDING
    assert torch.equal(model.weight, straight.weight)
    assert torch.equal(best["weight"], trained(1)[0].weight)


def test_the_status_can_be_read_alone(path: Path) -> None:
    assert read_status(path, IDENTITY) == STANDING


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.99])
def test_a_truncated_state_is_refused(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    for read in (lambda: load_state(path, *trained(0), IDENTITY), lambda: read_status(path, IDENTITY)):
        with pytest.raises(BadInputError, match="not a valid training state"):
            read()


def test_a_state_of_another_format_is_refused(path: Path) -> None:
    metadata = {"format": "99", "standing": json.dumps(asdict(STANDING)), "identity": json.dumps(IDENTITY)}
    save_file(load_file(path), path, metadata)
    with pytest.raises(BadInputError, match="state format 99, expected 1: start again in another folder"):
        load_state(path, *trained(0), IDENTITY)


def old_state(path: Path, status: dict[str, object]) -> None:
    """Write the state in the format from before checksums."""
    metadata = {"format": "1", "standing": json.dumps(status), "identity": json.dumps(IDENTITY)}
    save_file(load_file(path), path, metadata)


def test_a_state_without_checksums_is_read(path: Path) -> None:
    old_state(path, asdict(STANDING))
    assert load_state(path, *trained(0), IDENTITY)[0] == STANDING


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epoch": -5}, "-5 of at most 30 epochs done"),
        ({"epoch": 99}, "99 of at most 30 epochs done, best epoch 1"),
        ({"epoch": 1, "best_epoch": 2}, "1 of at most 30 epochs done, best epoch 2"),
        ({"best_epoch": 0}, "2 of at most 30 epochs done, best epoch 0"),
        ({"epoch": "2"}, "standing.epoch: expected an integer, got '2'"),
        ({"seconds": float("nan")}, "NaN is not allowed"),
        ({"epoch": 10**30}, "a number has too many digits"),
        ({"colour": 1}, "standing.colour: no such setting"),
    ],
)
def test_an_impossible_status_is_refused(path: Path, change: dict[str, object], message: str) -> None:
    old_state(path, asdict(STANDING) | change)
    with pytest.raises(BadInputError) as error:
        read_status(path, IDENTITY)
    assert message in str(error.value)


def test_a_changed_byte_of_a_tensor_is_found(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadInputError, match="the checksum differs"):
        load_state(path, *trained(0), IDENTITY)


def test_a_file_of_weights_is_not_a_state(path: Path) -> None:
    save_file(load_file(path), path)
    with pytest.raises(BadInputError, match="state format None"):
        load_state(path, *trained(0), IDENTITY)


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        ({**IDENTITY, "data": "xyz"}, "trained with data = abc, not xyz"),
        (
            {**IDENTITY, "config": {"seed": 1, "train": {"patience": 5, "max_epochs": 30}}},
            "trained with config.train.patience = 3, not 5",
        ),
        (
            {**IDENTITY, "config": {"seed": 1, "train": {"patience": 3, "max_epochs": 30, "new": 0}}},
            "config.train.new = None, not 0",
        ),
    ],
)
def test_a_state_of_another_run_is_refused_and_the_difference_named(path: Path, identity: dict, message: str) -> None:
    model, optimizer = trained(0)
    with pytest.raises(BadInputError) as error:
        load_state(path, model, optimizer, identity)
    assert message in str(error.value)
    assert torch.equal(model.weight, trained(0)[0].weight)


def test_a_state_of_another_model_is_refused(path: Path) -> None:
    with pytest.raises(BadInputError, match="its parameters do not match this model"):
        load_state(path, *trained(0, width=4), IDENTITY)


def test_the_better_epoch_has_the_larger_area_and_at_a_tie_the_larger_average_precision() -> None:
    status = RunStatus().after(0.2, 0.5, 1.0)
    assert status.after(0.1, 0.9, 1.0).best_epoch == 1
    assert status.after(0.2, 0.5, 1.0).best_epoch == 1
    assert status.after(0.2, 0.6, 1.0).best_epoch == 2
    assert status.after(0.3, 0.1, 1.0).best_epoch == 2
