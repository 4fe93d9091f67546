"""Where a run computes, and with which others."""

import inspect
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sayso.errors import UserError, option
from sayso.io.folder import locked
from sayso.memory import available_bytes
from sayso.train.epoch import Shard

_CHOICES = ("auto", "cpu", "cuda")


def choose_device(name: str) -> torch.device:
    """Return the device called `auto`, `cpu` or `cuda`; of several GPUs the one that torchrun gives this process."""
    if name not in _CHOICES:
        raise UserError(f"{option('device')} {name}: choose {', '.join(_CHOICES)}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError(
            f"{option('device')} cuda: there is no GPU that torch can use; try {option('cpu', '--device cpu')}"
        )
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def free_bytes(device: torch.device) -> int:
    """Return how much memory the device has left."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available_bytes()


def use_precision(precision: str, device: torch.device) -> None:
    """Let the GPU compute matrix products in this precision; a CPU computes in float32 whatever is asked.

    `bf16` is the precision of the products with words alone, which are nearly all; the others are then tf32.
    """
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")


@contextmanager
def process_group(device: torch.device) -> Iterator[Shard]:
    """Join the other processes that torchrun started, if it did; give this one's shard.

    Within a group that has been joined already the block is part of that group.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Shard()
        return
    if dist.is_initialized():
        yield Shard(dist.get_rank(), dist.get_world_size())
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Shard(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


@contextmanager
def claimed_by_first(folder: Path, shard: Shard, device: torch.device) -> Iterator[None]:
    """Keep other runs out of the folder while the block runs; all processes learn if it is locked already."""
    refusal: UserError | None = None
    with ExitStack() as stack:
        if shard.rank == 0:
            try:
                stack.enter_context(locked(folder, "sayso train"))
            except UserError as error:
                refusal = error
        if from_first([float(refusal is not None)], shard, device)[0]:
            raise refusal or UserError(f"{folder}: the first process could not claim this folder")
        yield


def share_gradients(objective: nn.Module, shard: Shard) -> nn.Module:
    """Return the module with gradients averaged over the processes, where there are several."""
    if shard.num == 1:
        return objective
    # Every parameter takes part in every step, also on an empty shard, so none need be looked for. Buffers are the
    # frozen vectors, the same everywhere: sending them before every step would cost more than the step.
    known = inspect.signature(DistributedDataParallel).parameters
    name = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    settings: dict[str, Any] = {name: False}
    return DistributedDataParallel(objective, **settings)


def sum_over_shards(values: Tensor, shard: Shard) -> Tensor:
    """Return the sum of the processes' values, in all of them; the tensor itself may be changed."""
    if shard.num > 1:
        dist.all_reduce(values)
    return values


def from_first(values: list[float], shard: Shard, device: torch.device) -> list[float]:
    """Return the values of the first process in all of them."""
    if shard.num == 1:
        return values
    shared = torch.tensor(values, dtype=torch.float64, device=device)
    dist.broadcast(shared, 0)
    return [float(value) for value in shared.tolist()]


def refuse_disagreement(values: dict[str, int], shard: Shard, device: torch.device) -> None:
    """Raise `UserError`, in all processes, unless all of them have the same values."""
    mine = torch.tensor(list(values.values()), dtype=torch.int64, device=device)
    first = torch.tensor(from_first(mine.tolist(), shard, device), dtype=torch.float64, device=device).long()
    num_different = sum_over_shards((mine != first).long(), shard)
    for name, number in zip(values, num_different.tolist(), strict=True):
        if number:
            raise UserError(
                f"{name}: not the same in all {shard.num} processes: let all of them read the same store and write to"
                " the same folder"
            )
