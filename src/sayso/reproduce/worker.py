"""A worker process of a reproduction: it executes runs one after another, so start-up and data loading happen once."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch

from sayso import __version__
from sayso.errors import UserError, option
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.checkpoint import find_model, load_model
from sayso.reproduce.assess import Assessor
from sayso.reproduce.folder import DIVERGED, FINISHED, ReproductionFolder, RunResult, write_result
from sayso.reproduce.plan import PlannedRun
from sayso.store.store import Store
from sayso.train.device import choose_device
from sayso.train.folder import code_fingerprint
from sayso.train.loop import TrainingError
from sayso.train.run import Callbacks, train

_NUM_RANDOM_ORDERS = 20
"""A run whose validation metric does not beat the best of this many random orders has learned nothing."""


class Event(NamedTuple):
    """A worker's message about run `key`: its epoch and seconds per epoch, or why it diverged."""

    kind: Literal["begun", "epoch", "done"]
    key: str
    epoch: int = 0
    seconds: float = 0.0
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What all runs of a reproduction share."""

    store: Path
    out: Path
    device: str = "auto"
    num_resamples: int = 1_000
    keeps_models: bool = True


class RunMaker:
    """Executes runs in a process, which sends their events."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._worker: RunWorker | None = None

    def __call__(self, run: PlannedRun, send: Callable[[Event], None]) -> None:
        """Execute a run."""
        # One thread per process, so results do not depend on how many runs are made in parallel.
        torch.set_num_threads(1)
        self._worker = self._worker or RunWorker(self.task, send)
        try:
            self._worker.make(run)
        except torch.OutOfMemoryError as error:
            raise UserError(f"{run.key}: the device is out of memory ({error}): try fewer {option('jobs')}") from None


class RunWorker:
    """Trains and evaluates runs on one store."""

    def __init__(self, task: Task, send: Callable[[Event], None]) -> None:
        self.task, self.send = task, send
        self.folder = ReproductionFolder(task.out)
        self.store = Store(task.store)
        self.assessor = Assessor(self.store, task.num_resamples)
        self.code_fingerprint = code_fingerprint()

    def make(self, run: PlannedRun) -> None:
        """Start or resume one run, and write its result."""
        try:
            result = self._made(run)
        except TrainingError as error:
            result = replace(self._blank(run), status=DIVERGED, why=str(error))
        write_result(self.folder.result_of(run), result)
        if not self.task.keeps_models:
            shutil.rmtree(self.folder.run_of(run), ignore_errors=True)
        self.send(Event("done", run.key, result.epochs, result.seconds, result.why))

    def _made(self, run: PlannedRun) -> RunResult:
        callbacks = Callbacks(
            on_begin=lambda about: self.send(Event("begun", run.key, about["epoch"])),
            on_epoch=lambda row: self.send(Event("epoch", run.key, row["epoch"], row["seconds"] / row["epoch"])),
        )
        folder, device = self.folder.run_of(run), self.task.device
        status = train(run.config, self.task.store, folder, device, resume=True, callbacks=callbacks)
        area, precision = status.best_area, status.best_average_precision
        result = replace(
            self._blank(run),
            validation={"area_up_to_recall_0_4": area, "average_precision": precision},
            epochs=status.epoch,
            best_epoch=status.best_epoch,
            seconds=round(status.seconds, 1),
        )
        if precision <= self._chance:
            why = f"validation AP {precision:.4f} is no better than chance ({self._chance:.4f})"
            return replace(result, status=DIVERGED, why=why)
        if run.label:
            # Settings are chosen on validation only, so the test part is not used.
            return result
        extractor = load_model(find_model(folder)).extractor.to(choose_device(device))
        return self.assessor.assess(extractor, run.config, result)

    @cached_property
    def _chance(self) -> float:
        """The best average precision among random orders of all (bag, relation) pairs of validation."""
        part, rng = self.store.manifest["parts"]["validation"], np.random.default_rng(0)
        is_fact = np.arange(part["bags"] * len(self.store.relations)) < part["facts"]
        orders = (precision_recall_curve(rng.random(len(is_fact)), is_fact) for _ in range(_NUM_RANDOM_ORDERS))
        return max(average_precision(curve) for curve in orders)

    def _blank(self, run: PlannedRun) -> RunResult:
        device = choose_device(self.task.device)
        return RunResult(
            key=run.key,
            variant=run.variant,
            seed=run.config.seed,
            label=run.label,
            config=run.config.to_table(),
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
