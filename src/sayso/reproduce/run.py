"""A reproduction as the list of its stages: plan, make the runs, summarise them, write the files."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.reproduce.document import write_reproduction
from sayso.reproduce.folder import ReproductionFolder
from sayso.reproduce.plan import PlannedRun, PlanSettings, RunPlan, make_plan
from sayso.reproduce.pool import OnEvent, make_runs
from sayso.reproduce.summary import summarise
from sayso.reproduce.worker import Task
from sayso.store.store import Store
from sayso.train.device import choose_device

_MOST_ON_GPU = 16


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to reproduce, from which store, and where; `num_workers` is 0 for the default number."""

    store: Path
    out: Path
    name: str
    plan: PlanSettings
    device: str = "auto"
    num_workers: int = 0
    num_resamples: int = 1_000
    keeps_models: bool = True


@dataclass(frozen=True, kw_only=True)
class PlanStatus:
    """The plan before the first run starts: runs that are done, runs to do, and how many run side by side."""

    plan: RunPlan
    done: list[PlannedRun]
    todo: list[PlannedRun]
    num_workers: int


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """The summary, and the files that were written."""

    summary: dict[str, Any]
    files: list[Path]


def plan_status(request: Request) -> PlanStatus:
    """Return what would be done; nothing is written."""
    store = Store(request.store)
    plan = make_plan(store, request.plan)
    results = ReproductionFolder(request.out).done(plan.runs, store.fingerprint)
    todo = [run for run in plan.runs if run.key not in results]
    return PlanStatus(
        plan=plan,
        done=[run for run in plan.runs if run.key in results],
        todo=todo,
        num_workers=min(request.num_workers or _workers(request.device), max(1, len(todo))),
    )


def reproduce(request: Request, on_begin: Callable[[PlanStatus], None], on_event: OnEvent) -> Reproduced:
    """Make the runs that are not done yet, then all tables, figures and claims.

    After an interruption the same call resumes where it stopped.
    """
    # A store that cannot be used is reported before any folder is made.
    make_plan(Store(request.store), request.plan)
    folder = ReproductionFolder(request.out)
    with folder.locked():
        status = plan_status(request)
        on_begin(status)
        task = Task(
            store=request.store,
            out=request.out,
            device=request.device,
            num_resamples=request.num_resamples,
            keeps_models=request.keeps_models,
        )
        began = time.monotonic()
        make_runs(task, status.todo, status.num_workers, on_event)
        folder.note_call(len(status.todo), status.num_workers, time.monotonic() - began)
        store = Store(request.store)
        results = folder.done(status.plan.runs, store.fingerprint)
        summary = summarise(request.name, store, status.plan, request.plan, results) | {"calls": folder.calls()}
        return Reproduced(summary=summary, files=write_reproduction(summary, request.out))


def _workers(device: str) -> int:
    """Return how many runs to make side by side: each has one thread, and several share a GPU."""
    num_cores = len(os.sched_getaffinity(0))
    return min(_MOST_ON_GPU, num_cores) if choose_device(device).type == "cuda" else num_cores
