"""The Ray engine: shards go to workers on the machines of a cluster, which share the folders that are read and written.

A worker is an actor: it takes the function over once, with all that the function loads, and keeps it. The shards of one
that dies, or whose machine leaves, go to others; another worker takes its place as soon as there is room for one.
"""

import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sayso.engine.base import Engine, EngineSettings, Result, Shard
from sayso.errors import MissingExtraError, UserError

MAX_DEATHS = 3
"""Deaths for each worker without a shard done in between: what kills workers again and again is no accident."""

_SHARDS_AHEAD = 2
"""Shards that each worker is given at a time, so that none stands idle; more would only take memory."""

_PATIENCE_S = 600.0
"""How long there may be nobody at work."""

_SECONDS_TO_ANSWER = 10.0

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
"""Nothing is reported to anybody."""


@contextmanager
def open_ray(settings: EngineSettings = EngineSettings()) -> Iterator[Engine]:
    """Give an engine on the cluster of the settings, or on one that is started here and ended afterwards."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the engine ray", "scale") from None
    _connect(ray, settings)
    try:
        yield _Workers(ray, settings)
    finally:
        ray.shutdown()


def _connect(ray: Any, settings: EngineSettings) -> None:
    # Workers hash texts alike, so that what several of them have read can be compared.
    environment = {"env_vars": {"PYTHONHASHSEED": "0"}}
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "runtime_env": environment}
    if settings.address:
        options["address"] = settings.address
    else:
        # "local" starts a cluster even where another is at work on this machine: that one was not asked for.
        options |= {"address": "local", "include_dashboard": False, "num_cpus": settings.num_workers or None}
    try:
        _refuse_nobody(settings.address)
        ray.init(**options)
    except (OSError, ValueError, RuntimeError) as error:
        where = settings.address or "this machine"
        raise UserError(
            f"engine ray: no cluster can be had at {where} ({_first_line(error)}); `ray start --head` starts one"
        ) from error


def _refuse_nobody(address: str) -> None:
    """Raise `OSError` where nobody answers at a host and port; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()


class _Workers:
    """Maps functions over shards, with as many workers as there is room for."""

    def __init__(self, ray: Any, settings: EngineSettings) -> None:
        self._ray, self._settings = ray, settings

    def __call__(self, function: Callable[[Shard], Result], shards: Iterable[Shard], /) -> Iterator[Result]:
        """Yield the results as they are done."""
        crew = _Crew(self._ray, self._settings, function, self._num_workers())
        try:
            yield from crew.work(iter(shards))
        finally:
            crew.dismiss()

    def _num_workers(self) -> int:
        settings = self._settings
        if settings.num_workers:
            return settings.num_workers
        name, share = ("GPU", settings.num_gpus) if settings.num_gpus else ("CPU", settings.num_cpus)
        there = self._ray.cluster_resources().get(name, 0.0)
        if there < share:
            raise UserError(f"engine ray: a worker needs {share:g} {name}, but the cluster has {there:g}")
        return int(there // share)


class _Crew:
    """Workers with one function, and what each of them is at."""

    def __init__(self, ray: Any, settings: EngineSettings, function: Callable[[Any], Any], size: int) -> None:
        self._ray, self._settings, self._function, self._size = ray, settings, ray.put(function), size
        self._workers: list[Any] = []
        self._free: deque[Any] = deque()
        self._again: deque[Any] = deque()
        self._waiting: dict[Any, tuple[Any, Any]] = {}
        self._num_deaths = 0
        for _ in range(size):
            self._hire()

    def work(self, shards: Iterator[Any]) -> Iterator[Any]:
        """Yield the results of all shards."""
        coming = next(shards, _NONE)
        while coming is not _NONE or self._again or self._is_busy:
            while self._free and (self._again or coming is not _NONE):
                if self._again:
                    self._give(self._again.popleft())
                else:
                    self._give(coming)
                    coming = next(shards, _NONE)
            done, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=_PATIENCE_S)
            if not done and not self._is_busy:
                raise UserError(f"engine ray: no room for a worker in {_PATIENCE_S:g} s; what is done stays done")
            for reference in done:
                yield from self._take(reference)

    def dismiss(self) -> None:
        """End all workers."""
        for worker in self._workers:
            self._ray.kill(worker)

    @property
    def _is_busy(self) -> bool:
        return any(shard is not _NONE for _, shard in self._waiting.values())

    def _hire(self) -> None:
        """Ask for a worker; it gets shards once it is there, which may be never if the cluster has become smaller."""
        options = {"num_cpus": self._settings.num_cpus, "num_gpus": self._settings.num_gpus}
        worker = self._ray.remote(_Worker).options(**options).remote(self._function)
        self._workers.append(worker)
        self._waiting[worker.is_ready.remote()] = worker, _NONE

    def _give(self, shard: Any) -> None:
        worker = self._free.popleft()
        self._waiting[worker.work.remote(shard)] = worker, shard

    def _take(self, reference: Any) -> Iterator[Any]:
        """Yield the result of what is done, if it is one."""
        worker, shard = self._waiting.pop(reference)
        errors = self._ray.exceptions
        try:
            result = self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None  # what a function tells the user here, it tells them from there
            raise
        except errors.RayError as error:
            self._lose(worker, shard, error)
            return
        self._free.extend([worker] * (_SHARDS_AHEAD if shard is _NONE else 1))
        if shard is not _NONE:
            self._num_deaths = 0
            yield result

    def _lose(self, worker: Any, shard: Any, error: Exception) -> None:
        """Put a dead worker's shard back, and hire another worker when the first of its shards comes back so."""
        if shard is not _NONE:
            self._again.append(shard)
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        self._free = deque(each for each in self._free if each is not worker)
        self._num_deaths += 1
        if self._num_deaths > MAX_DEATHS * self._size:
            raise UserError(
                f"engine ray: workers die again and again ({_first_line(error)}); what is done stays done: give them"
                " more memory, or fewer of them a machine, and go on"
            ) from error
        self._hire()


_NONE: Any = object()
"""No shard: that a worker is asked whether it is there."""


class _Worker:
    """Holds a function and does what it is given."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def is_ready(self) -> bool:
        """Return once the worker is there."""
        return True

    def work(self, shard: Any) -> Any:
        """Return the function's result for the shard."""
        return self._function(shard)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
