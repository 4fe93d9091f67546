"""The engine interface, its settings, and the local engine, which processes shards one by one in this process."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from sayso.config import Range, check_ranges

_Shard = TypeVar("_Shard")
_Result = TypeVar("_Result")


class Engine(Protocol):
    """Yields a function's result for every shard, in order of completion.

    A shard is requested only when there is room for it. The function may be called twice with the same shard (if a
    worker dies), so it must write files atomically, and the same files each time. Anything it loads is loaded once per
    worker.
    """

    def __call__(self, function: Callable[[_Shard], _Result], shards: Iterable[_Shard], /) -> Iterator[_Result]:
        """Yield the results."""


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """The cluster's address (empty: one is started on this machine), and the resources of each worker.

    `num_workers` 0 means one per CPU of the cluster or, with `num_gpus`, as many as its GPUs allow.
    """

    address: str = ""
    num_workers: Annotated[int, Range(0, 100_000)] = 0
    num_cpus: Annotated[float, Range(0, 10_000)] = 1.0
    num_gpus: Annotated[float, Range(0, 1_000)] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)


def map_locally(function: Callable[[_Shard], _Result], shards: Iterable[_Shard], /) -> Iterator[_Result]:
    """Yield the function's result for each shard in turn.

    >>> list(map_locally(abs, [-1, 2]))
    [1, 2]
    """
    return map(function, shards)


@contextmanager
def open_local(settings: EngineSettings = EngineSettings()) -> Iterator[Engine]:
    """Yield the local engine."""
    del settings
    yield map_locally
