"""Several runs in one process, for seeds and variants that share a GPU.

A step of one model leaves most of a GPU idle. Runs in threads of their own, each with its own stream, fill it, and hold
the sentences they have in common once.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import torch

from sayso.errors import UserError
from sayso.store.store import Store
from sayso.train.config import RunConfig
from sayso.train.data import RunData
from sayso.train.device import choose_device
from sayso.train.run import Watchers, train
from sayso.train.state import Standing


class Job(NamedTuple):
    """A run and its folder."""

    config: RunConfig
    out: Path


def train_side_by_side(
    jobs: Sequence[Job],
    store: Path,
    device: str = "auto",
    resume: bool = False,
    num_at_a_time: int = 8,
    watchers_of: Callable[[Job], Watchers] = lambda _: Watchers(),
) -> list[Standing | UserError]:
    """Do all runs, so many at a time; return how each went, or what the user must repair.

    Each run has its folder and its state as if it were alone. All must be of one precision, which a process has once.
    """
    assert len({job.config.train.precision for job in jobs}) <= 1, "runs side by side need the same precision"
    target, shelf = choose_device(device), _Shelf(Store(store))

    def run(job: Job) -> Standing | UserError:
        try:
            with _stream_of(target):
                return train(job.config, store, job.out, device, resume, watchers_of(job), shelf.data(job.config))
        except UserError as error:
            return error

    with ThreadPoolExecutor(num_at_a_time) as pool:
        return list(pool.map(run, jobs))


class _Shelf:
    """A store as runs read it, once for each way of reading."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._read: dict[tuple[str, bool], RunData] = {}

    def data(self, config: RunConfig) -> RunData:
        """Return the store as the run reads it, parts and all."""
        key = (config.data.mentions, config.needs_direct)
        with self._lock:
            if key not in self._read:
                self._read[key] = RunData(self._store, config)
                for name in ("train", "validation", "direct", "entity_EV"):
                    getattr(self._read[key], name)
        return self._read[key]


def _stream_of(device: torch.device) -> AbstractContextManager[object]:
    """Return a stream of one's own on a GPU, so that runs need not wait for each other."""
    if device.type != "cuda":
        return nullcontext()
    return torch.cuda.stream(torch.cuda.Stream(device))  # type: ignore[no-untyped-call]
