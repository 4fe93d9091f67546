import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sayso.errors import BadInputError
from sayso.train.state import Standing, load_state, parameters_of, read_standing, save_state

IDENTITY = {"config": {"seed": 1, "train": {"patience": 3}}, "data": "abc"}
STANDING = Standing(epoch=2, best_epoch=1, best_area=0.1, best_average_precision=0.2, seconds=3.5)


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


def test_steps_after_loading_are_those_that_would_have_come(path: Path) -> None:
    straight, straight_optimizer = trained(3)
    take_steps(straight, straight_optimizer, 4)
    model, optimizer = trained(0)
    standing, best = load_state(path, model, optimizer, IDENTITY)
    take_steps(model, optimizer, 4)
    assert standing == STANDING
    assert torch.equal(model.weight, straight.weight)
    assert torch.equal(best["weight"], trained(1)[0].weight)


def test_the_standing_can_be_read_alone(path: Path) -> None:
    assert read_standing(path, IDENTITY) == STANDING


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.99])
def test_a_state_cut_short_is_refused(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    for read in (lambda: load_state(path, *trained(0), IDENTITY), lambda: read_standing(path, IDENTITY)):
        with pytest.raises(BadInputError, match="not the state of a run, or cut short"):
            read()


def test_a_state_of_another_format_is_refused(path: Path) -> None:
    metadata = {"format": "99", "standing": json.dumps(asdict(STANDING)), "identity": json.dumps(IDENTITY)}
    save_file(load_file(path), path, metadata)
    with pytest.raises(BadInputError, match="state of format 99, this version reads 1"):
        load_state(path, *trained(0), IDENTITY)


def test_a_file_of_weights_is_not_a_state(path: Path) -> None:
    save_file(load_file(path), path)
    with pytest.raises(BadInputError, match="state of format None"):
        load_state(path, *trained(0), IDENTITY)


@pytest.mark.parametrize(
    ("identity", "message"),
    [
        ({**IDENTITY, "data": "xyz"}, "made with another data: abc, not xyz"),
        (
            {**IDENTITY, "config": {"seed": 1, "train": {"patience": 5}}},
            "made with another config.train.patience: 3, not 5",
        ),
        ({**IDENTITY, "config": {"seed": 1, "train": {"patience": 3, "new": 0}}}, "config.train.new: None, not 0"),
    ],
)
def test_a_state_of_another_run_is_refused_and_the_difference_named(path: Path, identity: dict, message: str) -> None:
    model, optimizer = trained(0)
    with pytest.raises(BadInputError) as error:
        load_state(path, model, optimizer, identity)
    assert message in str(error.value)
    assert torch.equal(model.weight, trained(0)[0].weight)


def test_a_state_of_another_model_is_refused(path: Path) -> None:
    with pytest.raises(BadInputError, match="its parameters are not those of this model"):
        load_state(path, *trained(0, width=4), IDENTITY)


def test_the_better_epoch_has_the_larger_area_and_at_a_tie_the_larger_average_precision() -> None:
    standing = Standing().after(0.2, 0.5, 1.0)
    assert standing.after(0.1, 0.9, 1.0).best_epoch == 1
    assert standing.after(0.2, 0.5, 1.0).best_epoch == 1
    assert standing.after(0.2, 0.6, 1.0).best_epoch == 2
    assert standing.after(0.3, 0.1, 1.0).best_epoch == 2
