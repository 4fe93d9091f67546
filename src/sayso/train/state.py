"""The state from which a run resumes exactly: written atomically after every epoch, never pickled."""

import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from sayso.errors import BadInputError
from sayso.io.atomic import atomic_file
from sayso.io.checksum import is_verifying
from sayso.io.json_file import JsonError, from_json, record_of, to_json

FORMAT = 1
_ABOUT = "about"
_ADVICE = "start again in another folder"


class _Metadata(NamedTuple):
    """The state's metadata; `tensors` is the checksum of the tensors, missing in states written by older versions."""

    standing: "RunStatus"
    identity: dict[str, Any]
    tensors: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """Epochs done, and the best of them by validation area up to recall 0.4, then by average precision."""

    epoch: int = 0
    best_epoch: int = 0
    best_area: float = -1.0
    best_average_precision: float = -1.0
    seconds: float = 0.0
    is_finished: bool = False

    def after(self, area: float, average_precision: float, seconds: float, keeps_last: bool = False) -> "RunStatus":
        """Return the status after another epoch with these validation metrics; `keeps_last` makes it the best."""
        done = replace(self, epoch=self.epoch + 1, seconds=self.seconds + seconds)
        if not keeps_last and (area, average_precision) <= (self.best_area, self.best_average_precision):
            return done
        return replace(done, best_epoch=done.epoch, best_area=area, best_average_precision=average_precision)

    def figures(self) -> dict[str, float]:
        """Return the validation metrics of the best epoch."""
        return {"area_up_to_recall_0.4": self.best_area, "average_precision": self.best_average_precision}

    @property
    def is_best(self) -> bool:
        """Whether the last epoch is the best so far."""
        return self.best_epoch == self.epoch


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the learned parameters; frozen ones come from the store or the pretrained encoder."""
    return {name: value.detach().cpu().clone() for name, value in _named(model)}


def load_parameters(model: nn.Module, values: dict[str, Tensor]) -> None:
    """Set the learned parameters."""
    with torch.no_grad():
        for name, parameter in _named(model):
            parameter.copy_(values[name])


def _named(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters that can be trained; those of an objective's extractor are named as in the extractor.

    Empty parameters count as trained: they have been part of the state from the beginning.
    """
    for name, parameter in model.named_parameters():
        if parameter.requires_grad or not parameter.numel():
            yield name.removeprefix("extractor."), parameter


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    best: dict[str, Tensor],
    status: RunStatus,
    identity: dict[str, Any],
) -> None:
    """Write parameters, the optimizer's moments, the best parameters so far and the status."""
    tensors = {f"model/{name}": value for name, value in parameters_of(model).items()}
    tensors |= {f"best/{name}": value for name, value in best.items()}
    for name, parameter in _named(model):
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{key}/{name}"] = torch.as_tensor(value).detach().cpu().clone()
    _write(path, tensors, status, identity)


def mark_finished(path: Path, status: RunStatus, identity: dict[str, Any]) -> None:
    """Overwrite the state with one that has no parameters and only records that the run is finished."""
    _write(path, {}, replace(status, is_finished=True), identity)


def _write(path: Path, tensors: dict[str, Tensor], status: RunStatus, identity: dict[str, Any]) -> None:
    about = {"standing": asdict(status), "identity": identity, "tensors": _checksum_of(tensors)}
    metadata = {"format": str(FORMAT), _ABOUT: to_json(about)}
    with atomic_file(path, "wb") as file:
        file.write(save(tensors, metadata))


def load_state(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, identity: dict[str, Any]
) -> tuple[RunStatus, dict[str, Tensor]]:
    """Restore model and optimizer; return the status and the best parameters.

    Raises `BadInputError` before anything is set if the format or the identity (config and data) does not match.
    """
    about, tensors = _checked(path, identity), load_file(path)
    if is_verifying():
        if about.tensors is None and not all(bool(torch.isfinite(value).all()) for value in tensors.values()):
            raise _damaged(path, "a value is not finite")
        if about.tensors not in (None, _checksum_of(tensors)):
            raise _damaged(path, "the checksum differs")
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts.setdefault(part, {})[rest] = value
    shapes = {name: parameter.shape for name, parameter in _named(model)}
    for values in (parts["model"], parts["best"]):
        if {name: value.shape for name, value in values.items()} != shapes:
            raise BadInputError(f"{path}: its parameters do not match this model: {_ADVICE}")
    load_parameters(model, parts["model"])
    _load_optimizer(path, model, optimizer, parts["optimizer"])
    return about.standing, parts["best"]


def read_status(path: Path, identity: dict[str, Any]) -> RunStatus:
    """Return the status without loading the tensors; raise the same errors as `load_state`."""
    return _checked(path, identity).standing


def num_epochs_kept(path: Path) -> int:
    """Return the number of epochs done in this state; 0 if there is no file."""
    return _about(path).standing.epoch if path.exists() else 0


def _checked(path: Path, identity: dict[str, Any]) -> _Metadata:
    about = _about(path)
    if (difference := _difference(about.identity, identity, "")) is not None:
        raise BadInputError(
            f"{path}: the run was trained with {difference.removeprefix('.')}:"
            " resume with the same settings and data, or start from scratch"
        )
    status, most = about.standing, identity.get("config", {}).get("train", {}).get("max_epochs", 2**31)
    if not 0 <= status.best_epoch <= status.epoch <= most or (status.epoch and not status.best_epoch):
        raise BadInputError(
            f"{path}: impossible state ({status.epoch} of at most {most} epochs done, best epoch {status.best_epoch}):"
            f" {_ADVICE}"
        )
    return about


def _about(path: Path) -> _Metadata:
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = dict(file.metadata() or {})
        if metadata.get("format") != str(FORMAT):
            raise BadInputError(f"{path}: state format {metadata.get('format')}, expected {FORMAT}: {_ADVICE}")
        if _ABOUT in metadata:
            return record_of(_Metadata, from_json(metadata[_ABOUT]))
        return record_of(_Metadata, {name: from_json(metadata.get(name, "")) for name in ("standing", "identity")})
    except (OSError, SafetensorError, JsonError) as error:
        raise _damaged(path, str(error)) from error


def _checksum_of(tensors: dict[str, Tensor]) -> int:
    """Return the CRC-32 of the tensors, independent of their order."""
    crc = 0
    for name, value in sorted(tensors.items()):
        crc = zlib.crc32(f"{name} {value.dtype} {list(value.shape)}".encode(), crc)
        crc = zlib.crc32(value.contiguous().reshape(-1).view(torch.uint8).numpy().data, crc)
    return crc


def _difference(old: Any, new: Any, name: str) -> str | None:
    """Return the first difference as `name = old, not new`, or None.

    >>> _difference({"seed": 1, "train": {"patience": 3}}, {"seed": 1, "train": {"patience": 5}}, "config")
    'config.train.patience = 3, not 5'
    """
    if isinstance(old, dict) and isinstance(new, dict):
        found = (_difference(old.get(key), new.get(key), f"{name}.{key}") for key in sorted(old.keys() | new.keys()))
        return next((difference for difference in found if difference is not None), None)
    return None if old == new else f"{name} = {old}, not {new}"


def _damaged(path: Path, reason: str) -> BadInputError:
    return BadInputError(f"{path}: not a valid training state ({reason}): {_ADVICE}")


def _load_optimizer(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, values: dict[str, Tensor]) -> None:
    for name, parameter in _named(model):
        for key in ("step", "exp_avg", "exp_avg_sq"):
            if (value := values.get(f"{key}/{name}")) is None:
                continue
            if key != "step" and value.shape != parameter.shape:
                raise _damaged(path, f"{key} of {name} has the wrong shape")
            # Adam keeps its step count on the CPU, unless one kernel updates all parameters.
            is_on_cpu = key == "step" and not optimizer.defaults.get("fused")
            optimizer.state[parameter][key] = value if is_on_cpu else value.to(parameter.device)
