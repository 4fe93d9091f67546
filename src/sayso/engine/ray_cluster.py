"""The Ray engine: shards go to workers on the machines of a cluster, which share the folders that are read and written.

A worker is an actor: it takes the function over once, with all that the function loads, and keeps it. One that dies, or
whose machine leaves, is started again elsewhere and does its shards again.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sayso.engine.base import Engine, EngineSettings, Result, Shard
from sayso.errors import MissingExtraError, UserError

MAX_RESTARTS = 5
"""Of each worker: what kills workers again and again is no accident."""

_SHARDS_AHEAD = 2
"""Shards that wait at each worker, so that none stands idle; more would only take memory."""

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}
"""Nothing is reported to anybody, and the cluster's own messages stay out of ours."""


@contextmanager
def open_ray(settings: EngineSettings = EngineSettings()) -> Iterator[Engine]:
    """Give an engine on the cluster of the settings, or on one that is started here and ended afterwards."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray", "scale") from None
    _connect(ray, settings)
    try:
        yield _Workers(ray, settings)
    finally:
        ray.shutdown()


def _connect(ray: Any, settings: EngineSettings) -> None:
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if settings.address:
        options["address"] = settings.address
    else:
        options |= {"include_dashboard": False, "num_cpus": max(settings.num_workers, 1) * settings.num_cpus or None}
        options["num_cpus"] = options["num_cpus"] if settings.num_workers else None
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = settings.address or "this machine"
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"--address {where}: no Ray cluster can be reached there ({reason})") from error


class _Workers:
    """Maps functions over shards, with as many workers as there is room for."""

    def __init__(self, ray: Any, settings: EngineSettings) -> None:
        self._ray, self._settings = ray, settings

    def __call__(self, function: Callable[[Shard], Result], shards: Iterable[Shard], /) -> Iterator[Result]:
        """Yield the results as they are done."""
        ray = self._ray
        shared = ray.put(function)
        workers = [self._new_worker(shared) for _ in range(self._num_workers())]
        waiting: dict[Any, Any] = {}
        free = workers * _SHARDS_AHEAD
        coming = iter(shards)
        try:
            while True:
                while free and (shard := next(coming, _NONE)) is not _NONE:
                    worker = free.pop(0)
                    waiting[worker.work.remote(shard)] = worker
                if not waiting:
                    return
                done, _ = ray.wait(list(waiting), num_returns=1)
                free.append(waiting.pop(done[0]))
                yield self._result(done[0])
        finally:
            for worker in workers:
                ray.kill(worker)

    def _result(self, done: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(done)
        except errors.RayTaskError as error:
            # What a function raises in a worker is what it would have raised here.
            raise error.as_instanceof_cause() from None
        except errors.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(
                f"a worker died {MAX_RESTARTS + 1} times ({reason}); what is done stays done: give workers more memory,"
                " then go on"
            ) from error

    def _new_worker(self, shared: Any) -> Any:
        """Return a worker that holds the function; it is made anew, function and all, if it dies."""
        options = {
            "num_cpus": self._settings.num_cpus,
            "num_gpus": self._settings.num_gpus,
            "max_restarts": MAX_RESTARTS,
            "max_task_retries": MAX_RESTARTS,
        }
        return self._ray.remote(_Worker).options(**options).remote(shared)

    def _num_workers(self) -> int:
        if self._settings.num_workers:
            return self._settings.num_workers
        there, settings = self._ray.cluster_resources(), self._settings
        wanted = ("GPU", settings.num_gpus) if settings.num_gpus else ("CPU", settings.num_cpus)
        room = int(there.get(wanted[0], 0) // wanted[1]) if wanted[1] else 1
        if not room:
            raise UserError(f"the Ray cluster has no {wanted[0]} to give: it has {there.get(wanted[0], 0):g}")
        return room


_NONE: Any = object()


class _Worker:
    """Holds a function and does what it is given."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def work(self, shard: Any) -> Any:
        """Return the function's result for the shard."""
        return self._function(shard)
