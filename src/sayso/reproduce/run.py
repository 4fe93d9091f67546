"""A reproduction, as the list of its stages."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.reproduce.folder import Folder
from sayso.reproduce.plan import Job, Plan, Wish, make_plan
from sayso.reproduce.pool import OnEvent, run_jobs
from sayso.reproduce.summary import summarise
from sayso.reproduce.worker import Task
from sayso.reproduce.write import write_reproduction
from sayso.store.store import Store
from sayso.train.device import choose_device

_MOST_ON_GPU = 16


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to reproduce, from which store, and where; `num_workers` runs are made side by side, 0 for the default."""

    store: Path
    out: Path
    name: str
    wish: Wish
    device: str = "auto"
    num_workers: int = 0
    num_resamples: int = 1_000
    keeps_models: bool = True


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Before the first run begins: the plan, what is done of it already, and how many runs go side by side."""

    plan: Plan
    done: list[Job]
    todo: list[Job]
    num_workers: int


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """The figures, and the files they were written to."""

    summary: dict[str, Any]
    files: list[Path]


def look(request: Request) -> Standing:
    """Return what would be done; nothing is written."""
    store = Store(request.store)
    plan = make_plan(store, request.wish)
    outcomes = Folder(request.out).done(plan.jobs, store.fingerprint)
    todo = [job for job in plan.jobs if job.key not in outcomes]
    return Standing(
        plan=plan,
        done=[job for job in plan.jobs if job.key in outcomes],
        todo=todo,
        num_workers=min(request.num_workers or _workers(request.device), max(1, len(todo))),
    )


def reproduce(request: Request, on_begin: Callable[[Standing], None], on_event: OnEvent) -> Reproduced:
    """Make the runs that are not done yet, then all tables, figures and claims.

    What is done stays done: after an interruption the same call goes on where it stood.
    """
    # A store that does not serve is said before any folder is made.
    make_plan(Store(request.store), request.wish)
    folder = Folder(request.out)
    with folder.taken():
        standing = look(request)
        on_begin(standing)
        task = Task(
            store=request.store,
            out=request.out,
            device=request.device,
            num_resamples=request.num_resamples,
            keeps_models=request.keeps_models,
        )
        began = time.monotonic()
        run_jobs(task, standing.todo, standing.num_workers, on_event)
        folder.note_call(len(standing.todo), standing.num_workers, time.monotonic() - began)
        store = Store(request.store)
        outcomes = folder.done(standing.plan.jobs, store.fingerprint)
        summary = summarise(request.name, store, standing.plan, request.wish, outcomes) | {"calls": folder.calls()}
        return Reproduced(summary=summary, files=write_reproduction(summary, request.out))


def _workers(device: str) -> int:
    """Return how many runs go side by side: each has one thread, and many share a GPU."""
    num_cores = len(os.sched_getaffinity(0))
    return min(_MOST_ON_GPU, num_cores) if choose_device(device).type == "cuda" else num_cores
