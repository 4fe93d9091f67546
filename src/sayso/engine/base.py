"""What an engine promises, and what it can be told."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from sayso.config import Range, check_ranges

Shard = TypeVar("Shard")
Result = TypeVar("Result")


class Engine(Protocol):
    """Gives the function's result for every shard, as they are done; shards are asked for only when there is room.

    A function may be called twice with a shard (a worker that dies is replaced), so it writes whole files or none, and
    the same ones each time. What it holds is made once per worker.
    """

    def __call__(self, function: Callable[[Shard], Result], shards: Iterable[Shard], /) -> Iterator[Result]:
        """Yield the results."""


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Where a cluster is reached (empty: one is started on this machine), and what each worker takes of it.

    `num_workers` 0 is one for each free place: as many as the cluster has processors, or with `num_gpus` GPUs.
    """

    address: str = ""
    num_workers: Annotated[int, Range(0, 100_000)] = 0
    num_cpus: Annotated[float, Range(0, 10_000)] = 1.0
    num_gpus: Annotated[float, Range(0, 1_000)] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)
