"""Engines map a function over shards, in processes on this machine or on a Ray cluster, with the same results.

On a cluster, whose machines share the input and output folders, shards are tasks. A worker process receives the
function once and keeps it, with everything that it loads. If a worker dies or its machine leaves, Ray repeats the task
in another worker.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Protocol, TypeVar

from sayso.config import Range, check_ranges
from sayso.engine.processes import SendEvent, in_processes, num_cores
from sayso.errors import UserError, import_extra
from sayso.memory import available_bytes

MAX_RETRIES = 3
"""How often a shard is retried if its worker dies."""

_TASKS_PER_WORKER = 2
"""Tasks submitted at a time, enough to keep every worker busy; more would only use memory."""

_BYTES_PER_PROCESS = 2**30
"""Memory that a process needs at most, unless names, vectors or an encoder are very large."""

_SECONDS_WITHOUT_ROOM = 600.0

_SECONDS_TO_ANSWER = 10.0

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage reports
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_task_oom_retries": str(MAX_RETRIES),  # unlimited by default
}

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
    """Processes of the local engine, the cluster's address (empty: one is started here), resources of its workers.

    `jobs` 0 means one process per core, but at most one per gigabyte of available memory. `num_workers` 0 means one per
    CPU of the cluster or, with `num_gpus`, as many as its GPUs allow.
    """

    jobs: Annotated[int, Range(0, 1_024)] = 0
    address: str = ""
    num_workers: Annotated[int, Range(0, 100_000)] = 0
    num_cpus: Annotated[float, Range(0, 10_000)] = 1.0
    num_gpus: Annotated[float, Range(0, 1_000)] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)


class LocalEngine:
    """Maps functions over shards, in processes on this machine.

    With one process this is the function `map`: it runs in the caller's process.
    """

    def __init__(self, num: int) -> None:
        self.num = num

    def __call__(self, function: Callable[[Any], Any], shards: Iterable[Any], /) -> Iterator[Any]:
        """Yield the results as they complete."""
        if self.num == 1:
            return map(function, shards)
        return in_processes(_OnlyResult(function), shards, self.num, _name_of)


class _OnlyResult:
    """A function that sends no events."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, shard: Any, _: SendEvent) -> Any:
        return self.function(shard)


def _name_of(shard: Any) -> str:
    return f"shard {getattr(shard, 'number', shard)}"


def worth_processes(engine: Engine, num_bytes: int, least: int) -> Engine:
    """Return the engine, or `map` if it would start processes for so little work that starting them takes longer."""
    return map if isinstance(engine, LocalEngine) and num_bytes < least else engine


def num_processes(engine: Engine) -> int:
    """Return how many processes on this machine an engine starts; 1 if it starts none."""
    return engine.num if isinstance(engine, LocalEngine) else 1


def local_engine(jobs: int = 0) -> LocalEngine:
    """Return the local engine with this many processes; see `EngineSettings` for 0."""
    return LocalEngine(jobs or min(num_cores(), max(1, available_bytes() // _BYTES_PER_PROCESS)))


@contextmanager
def open_local(settings: EngineSettings = EngineSettings()) -> Iterator[Engine]:
    """Yield the local engine."""
    yield local_engine(settings.jobs)


@contextmanager
def open_ray(settings: EngineSettings = EngineSettings()) -> Iterator[Engine]:
    """Yield an engine on the configured cluster, or on one started for the duration of the block."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    ray = import_extra("ray", "the engine ray", "scale")
    _connect(ray, settings)
    try:
        yield _RayEngine(ray, settings)
    finally:
        ray.shutdown()


def _connect(ray: Any, settings: EngineSettings) -> None:
    # "local" starts a cluster even if another one is running on this machine.
    own = {} if settings.address else {"include_dashboard": False, "num_cpus": settings.num_workers or None}
    try:
        _refuse_no_answer(settings.address)
        ray.init(settings.address or "local", logging_level=logging.ERROR, log_to_driver=False, **own)
    except (OSError, ValueError, RuntimeError) as error:
        where = settings.address or "this machine"
        raise UserError(
            f"engine ray: no cluster at {where} ({_first_line(error)}); start one with `ray start --head`"
        ) from error


def _refuse_no_answer(address: str) -> None:
    """Raise `OSError` if nothing listens at a host and port; Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()


class _RayEngine:
    """Maps functions over shards, with as many workers as fit or as the settings allow."""

    def __init__(self, ray: Any, settings: EngineSettings) -> None:
        self._ray, self._settings = ray, settings
        self._resource, self._share = ("GPU", settings.num_gpus) if settings.num_gpus else ("CPU", settings.num_cpus)

    def __call__(self, function: Callable[[Any], Any], shards: Iterable[Any], /) -> Iterator[Any]:
        """Yield the results as they complete."""
        settings = self._settings
        # By default Ray ends a GPU worker after each task, and the next one would load the function again.
        options = {"num_cpus": settings.num_cpus, "num_gpus": settings.num_gpus, "max_calls": 0}
        task = self._ray.remote(max_retries=MAX_RETRIES, **options)(_run)
        running: list[Any] = []
        try:
            yield from self._results(task, [self._ray.put(function)], iter(shards), running)
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)

    def _results(self, task: Any, function: list[Any], shards: Iterator[Any], running: list[Any]) -> Iterator[Any]:
        num_at_a_time = self._settings.num_workers or self._num_places() * _TASKS_PER_WORKER
        while True:
            running += [task.remote(function, shard) for shard in islice(shards, num_at_a_time - len(running))]
            if not running:
                return
            done, running[:] = self._ray.wait(running, num_returns=1, timeout=_SECONDS_WITHOUT_ROOM)
            if not done:
                self._num_places()
            for reference in done:
                yield self._result(reference)

    def _num_places(self) -> int:
        """Return how many workers fit on the cluster; raise `UserError` if none do."""
        total = self._ray.cluster_resources().get(self._resource, 0.0)
        if total < self._share:
            raise UserError(
                f"engine ray: a worker needs {self._share:g} {self._resource}, but the cluster has {total:g}"
            )
        return int(total // self._share)

    def _result(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None
            raise
        except errors.RayError as error:
            raise UserError(
                f"engine ray: workers keep dying ({_first_line(error)}); finished work is kept: give them"
                " more memory, or run fewer per machine, then resume"
            ) from error


def _run(function: list[Any], shard: Any) -> Any:
    """Return the function's result for the shard, in a worker; a reference in a list is not fetched by Ray itself."""
    return _loaded(function[0])(shard)


@lru_cache(maxsize=1)
def _loaded(reference: Any) -> Callable[[Any], Any]:
    import ray

    function: Callable[[Any], Any] = ray.get(reference)
    return function


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


ENGINES: dict[str, Callable[[EngineSettings], AbstractContextManager[Engine]]] = {
    "local": open_local,
    "ray": open_ray,
}
