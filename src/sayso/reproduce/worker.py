"""One process of a reproduction: it does one run after the other, so that start-up and reading are paid once."""

import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from sayso import __version__
from sayso.errors import UserError, option
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.checkpoint import find_model, load_model
from sayso.reproduce.assess import Assessor
from sayso.reproduce.folder import Folder
from sayso.reproduce.outcome import DIVERGED, FINISHED, Outcome, write_outcome
from sayso.reproduce.plan import Job
from sayso.store.store import Store
from sayso.train.device import choose_device
from sayso.train.folder import code_fingerprint
from sayso.train.loop import TrainingError
from sayso.train.run import Watchers, train
from sayso.train.state import Standing

_NUM_RANDOM_ORDERS = 20
"""A run whose validation figure is no better than the best of so many random orders has learned nothing."""


class Event(NamedTuple):
    """What a worker tells: of the run `key`, with the epoch it stands at and how long an epoch takes.

    A run that is refused cannot be made; the text says why.
    """

    kind: Literal["begun", "epoch", "done", "refused"]
    key: str
    epoch: int = 0
    seconds: float = 0.0
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What all runs of a reproduction share."""

    store: Path
    out: Path
    device: str
    num_resamples: int
    keeps_models: bool


def work(channel: "connection.Connection[Any, Any]", task: Task) -> None:
    """Do the runs that come through the channel until None comes."""
    _end_with_parent()
    # One thread a process: so no figure depends on how many runs are made side by side.
    torch.set_num_threads(1)
    bench = Workbench(task, channel.send)
    while (job := channel.recv()) is not None:
        try:
            bench.do(job)
        except UserError as error:
            channel.send(Event("refused", job.key, text=error.both))
        except torch.OutOfMemoryError as error:
            text = f"{job.key}: the device has no memory left ({error}): try fewer {option('jobs')}"
            channel.send(Event("refused", job.key, text=text))


def _end_with_parent() -> None:
    """End at once, at any point, when the command is killed: two processes must never write to one run."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Workbench:
    """Trains and assesses runs on one store."""

    def __init__(self, task: Task, tell: Callable[[Event], None]) -> None:
        self.task, self.tell = task, tell
        self.folder = Folder(task.out)
        self.store = Store(task.store)
        self.assessor = Assessor(self.store, task.num_resamples)
        self.code_fingerprint = code_fingerprint()

    def do(self, job: Job) -> None:
        """Make one run, or go on with it, and write its outcome."""
        try:
            outcome = self._made(job)
        except TrainingError as error:
            outcome = replace(self._blank(job), status=DIVERGED, why=str(error))
        write_outcome(self.folder.outcome_of(job), outcome)
        if not self.task.keeps_models:
            shutil.rmtree(self.folder.run_of(job), ignore_errors=True)
        self.tell(Event("done", job.key, outcome.epochs, outcome.seconds, outcome.why))

    def _made(self, job: Job) -> Outcome:
        standing = train(
            job.config, self.task.store, self.folder.run_of(job), self.task.device, True, self._watchers(job)
        )
        outcome = replace(self._blank(job), **_validation(standing))
        if standing.best_average_precision <= self._chance:
            why = f"validation AP {standing.best_average_precision:.4f} is no better than chance ({self._chance:.4f})"
            return replace(outcome, status=DIVERGED, why=why)
        if job.label:
            # Settings are chosen on validation alone: the test part is not looked at.
            return outcome
        extractor = load_model(find_model(self.folder.run_of(job))).extractor.to(choose_device(self.task.device))
        return replace(outcome, **vars(self.assessor.assess(extractor, job.config)))

    def _watchers(self, job: Job) -> Watchers:
        def begin(description: dict[str, Any]) -> None:
            self.tell(Event("begun", job.key, description["epoch"]))

        def end_epoch(row: dict[str, Any]) -> None:
            self.tell(Event("epoch", job.key, row["epoch"], row["seconds"] / row["epoch"]))

        return Watchers(on_begin=begin, on_epoch=end_epoch)

    @cached_property
    def _chance(self) -> float:
        """The average precision that random orders of all (bag, relation) of validation reach."""
        part, rng = self.store.manifest["parts"]["validation"], np.random.default_rng(0)
        is_fact = np.arange(part["bags"] * len(self.store.relations)) < part["facts"]
        orders = (precision_recall_curve(rng.random(len(is_fact)), is_fact) for _ in range(_NUM_RANDOM_ORDERS))
        return max(average_precision(curve) for curve in orders)

    def _blank(self, job: Job) -> Outcome:
        device = choose_device(self.task.device)
        return Outcome(
            key=job.key,
            variant=job.variant,
            seed=job.config.seed,
            label=job.label,
            config=job.config.to_table(),
            data_fingerprint=self.store.fingerprint,
            status=FINISHED,
            validation={},
            test={},
            resampled={},
            curve=[],
            orders={},
            weights={},
            epochs=0,
            best_epoch=0,
            seconds=0.0,
            device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
            sayso=__version__,
            code_fingerprint=self.code_fingerprint,
        )


def _validation(standing: Standing) -> dict[str, Any]:
    return {
        "validation": {
            "area_up_to_recall_0_4": standing.best_area,
            "average_precision": standing.best_average_precision,
        },
        "epochs": standing.epoch,
        "best_epoch": standing.best_epoch,
        "seconds": round(standing.seconds, 1),
    }
