"""What a run needs to go on exactly where it stood: written after every epoch, whole or not at all, never pickled."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from sayso.atomic import atomic_file
from sayso.errors import BadInputError

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a run is: epochs done, and the best of them by validation area up to recall 0.4, then by AP."""

    epoch: int = 0
    best_epoch: int = 0
    best_area: float = -1.0
    best_average_precision: float = -1.0
    seconds: float = 0.0
    is_finished: bool = False

    def after(self, area: float, average_precision: float, seconds: float) -> "Standing":
        """Return the standing after one more epoch with these validation figures."""
        done = replace(self, epoch=self.epoch + 1, seconds=self.seconds + seconds)
        if (area, average_precision) <= (self.best_area, self.best_average_precision):
            return done
        return replace(done, best_epoch=done.epoch, best_area=area, best_average_precision=average_precision)

    @property
    def is_best(self) -> bool:
        """Whether the last epoch is the best."""
        return self.best_epoch == self.epoch


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of what is learned; frozen vectors come from the store."""
    return {name: value.detach().cpu().clone() for name, value in model.named_parameters()}


def load_parameters(model: nn.Module, values: dict[str, Tensor]) -> None:
    """Set what is learned."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(values[name])


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    best: dict[str, Tensor],
    standing: Standing,
    identity: dict[str, Any],
) -> None:
    """Write parameters, the optimizer's moments, the best parameters so far and the standing."""
    tensors = {f"model/{name}": value for name, value in parameters_of(model).items()}
    tensors |= {f"best/{name}": value for name, value in best.items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{key}/{name}"] = torch.as_tensor(value).detach().cpu().clone()
    metadata = {"format": str(FORMAT), "standing": json.dumps(asdict(standing)), "identity": json.dumps(identity)}
    with atomic_file(path, "wb") as file:
        file.write(save(tensors, metadata))


def load_state(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, identity: dict[str, Any]
) -> tuple[Standing, dict[str, Tensor]]:
    """Set model and optimizer as they were; return the standing and the best parameters.

    The state must be of this format and of the same identity (config and data); else nothing is set.
    """
    metadata, tensors = _read(path)
    standing = _checked_standing(path, metadata, identity)
    learned, best = _part(tensors, "model/"), _part(tensors, "best/")
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    for values in (learned, best):
        if {name: value.shape for name, value in values.items()} != shapes:
            raise BadInputError(f"{path}: its parameters are not those of this model: start anew")
    load_parameters(model, learned)
    _load_optimizer(model, optimizer, _part(tensors, "optimizer/"))
    return standing, best


def read_standing(path: Path, identity: dict[str, Any]) -> Standing:
    """Return how far the run is whose state this is, without loading the state; refused as `load_state` does."""
    try:
        with safe_open(str(path), framework="pt") as file:
            return _checked_standing(path, dict(file.metadata() or {}), identity)
    except (OSError, SafetensorError) as error:
        raise _damaged(path, error) from error


def num_epochs_kept(path: Path) -> int:
    """Return after how many epochs this state was written, 0 where there is none."""
    if not path.exists():
        return 0
    with safe_open(str(path), framework="pt") as file:
        return int(json.loads(file.metadata()["standing"])["epoch"])


def _checked_standing(path: Path, metadata: dict[str, str], identity: dict[str, Any]) -> Standing:
    if metadata.get("format") != str(FORMAT):
        raise BadInputError(
            f"{path}: state of format {metadata.get('format')}, this version reads {FORMAT}: start anew elsewhere"
        )
    for key, value in json.loads(metadata["identity"]).items():
        if (difference := _difference(value, identity[key], key)) is not None:
            raise BadInputError(
                f"{path}: the run was made with another {difference}: resume with the same, or start anew"
            )
    return Standing(**json.loads(metadata["standing"]))


def _difference(old: Any, new: Any, name: str) -> str | None:
    """Return the first thing that differs, as `name: old, not new`; None where nothing does.

    >>> _difference({"seed": 1, "train": {"patience": 3}}, {"seed": 1, "train": {"patience": 5}}, "config")
    'config.train.patience: 3, not 5'
    """
    if isinstance(old, dict) and isinstance(new, dict):
        found = (_difference(old.get(key), new.get(key), f"{name}.{key}") for key in sorted(old.keys() | new.keys()))
        return next((difference for difference in found if difference is not None), None)
    return None if old == new else f"{name}: {old}, not {new}"


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    try:
        with safe_open(str(path), framework="pt") as file:
            return dict(file.metadata() or {}), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> BadInputError:
    return BadInputError(f"{path}: not the state of a run, or cut short ({error}): start anew in another folder")


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, values: dict[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        for key in ("step", "exp_avg", "exp_avg_sq"):
            if (value := values.get(f"{key}/{name}")) is not None:
                # Adam keeps its step count on the CPU.
                optimizer.state[parameter][key] = value if key == "step" else value.to(parameter.device)
