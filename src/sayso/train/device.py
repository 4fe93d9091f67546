"""The device of a run, and the other processes that share its batches."""

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
from sayso.model.extractor import Extractor
from sayso.train.epoch import ProcessShard

_CHOICES = ("auto", "cpu", "cuda")


def choose_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu` or `cuda`; with several GPUs, the one that torchrun assigned."""
    if name not in _CHOICES:
        raise UserError(f"{option('device')} {name}: choose one of {', '.join(_CHOICES)}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError(f"{option('device')} cuda: torch finds no usable GPU; try {option('cpu', '--device cpu')}")
    if name == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def place(extractor: Extractor, device: str, quantize: str = "none") -> None:
    """Move a model to the device that it predicts on; `int8` quantizes a pretrained encoder there."""
    extractor.to(choose_device(device) if device.isalpha() else device)
    if quantize == "int8":
        extractor.quantize()


def use_threads(num: int) -> int:
    """Let torch and the compiled kernels use this many threads, 0 for the default; return how many they use."""
    if num:
        torch.set_num_threads(num)
    return torch.get_num_threads()


def free_bytes(device: torch.device) -> int:
    """Return the free memory of the device."""
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else available_bytes()


def use_precision(precision: str, device: torch.device) -> None:
    """Set the precision of float32 matrix products on a GPU; a CPU has only one.

    `bf16` applies to products with words, which are nearly all of them; the others then use tf32.
    """
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if precision == "float32" else "high")


@contextmanager
def process_group(device: torch.device) -> Iterator[ProcessShard]:
    """Join the processes that torchrun started, if any, and yield this one's shard; may be nested."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ProcessShard()
        return
    if dist.is_initialized():
        yield ProcessShard(dist.get_rank(), dist.get_world_size())
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield ProcessShard(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def is_first_process() -> bool:
    """Return whether this is the first process of torchrun, or the only one."""
    return int(os.environ.get("RANK", "0")) == 0


@contextmanager
def claimed_by_first(folder: Path, shard: ProcessShard, device: torch.device) -> Iterator[None]:
    """Lock the folder in the first process; raise `UserError` in all processes if another run has locked it."""
    refusal: UserError | None = None
    with ExitStack() as stack:
        if shard.rank == 0:
            try:
                stack.enter_context(locked(folder, "sayso train"))
            except UserError as error:
                refusal = error
        if from_first([float(refusal is not None)], shard, device)[0]:
            raise refusal or UserError(f"{folder}: the first process could not lock this folder")
        yield


def share_gradients(objective: nn.Module, shard: ProcessShard) -> nn.Module:
    """Return the module with gradients averaged over the processes, if there are several."""
    if shard.num == 1:
        return objective
    # Every parameter takes part in every step, even on an empty shard. Buffers are the frozen vectors, the same
    # everywhere: broadcasting them before every step would cost more than the step.
    known = inspect.signature(DistributedDataParallel).parameters
    name = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    settings: dict[str, Any] = {name: False}
    return DistributedDataParallel(objective, **settings)


def sum_over_shards(values: Tensor, shard: ProcessShard) -> Tensor:
    """Return the sum over all processes; may change the tensor."""
    if shard.num > 1:
        dist.all_reduce(values)
    return values


def from_first(values: list[float], shard: ProcessShard, device: torch.device) -> list[float]:
    """Return the first process's values in every process."""
    if shard.num == 1:
        return values
    shared = torch.tensor(values, dtype=torch.float64, device=device)
    dist.broadcast(shared, 0)
    return [float(value) for value in shared.tolist()]


def refuse_disagreement(values: dict[str, int], shard: ProcessShard, device: torch.device) -> None:
    """Raise `UserError` in every process unless all have the same values."""
    mine = torch.tensor(list(values.values()), dtype=torch.int64, device=device)
    first = torch.tensor(from_first(mine.tolist(), shard, device), dtype=torch.float64, device=device).long()
    num_different = sum_over_shards((mine != first).long(), shard)
    for name, number in zip(values, num_different.tolist(), strict=True):
        if number:
            raise UserError(
                f"{name} differs between the {shard.num} processes: make all of them read the same store and write to"
                " the same folder"
            )
