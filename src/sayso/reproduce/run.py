"""The stages of a reproduction: plan the runs, execute them, summarise them, write the files."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.engine.processes import in_processes, num_cores
from sayso.reproduce.document import write_reproduction
from sayso.reproduce.folder import ReproductionFolder
from sayso.reproduce.plan import PlannedRun, PlanSettings, RunPlan, make_plan
from sayso.reproduce.summary import summarise
from sayso.reproduce.worker import Event, RunMaker, Task
from sayso.store.store import Store
from sayso.train.device import choose_device

OnEvent = Callable[[Event], None]

_MOST_ON_GPU = 16


@dataclass(frozen=True, kw_only=True)
class Request(Task):
    """A reproduction: the name of the data, and which runs to execute; `num_workers` 0 means the default."""

    name: str
    plan: PlanSettings
    num_workers: int = 0


@dataclass(frozen=True, kw_only=True)
class PlanStatus:
    """The plan before the first run starts: finished runs, runs to do, and how many run in parallel."""

    plan: RunPlan
    done: list[PlannedRun]
    todo: list[PlannedRun]
    num_workers: int


def plan_status(request: Request) -> PlanStatus:
    """Return what would be done, without writing anything."""
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


def reproduce(
    request: Request, on_begin: Callable[[PlanStatus], None], on_event: OnEvent
) -> tuple[dict[str, Any], list[Path]]:
    """Execute the remaining runs, then make all tables, figures and claims; return the summary and the files written.

    After an interruption, the same call resumes where it stopped.
    """
    # Report an unusable store before creating any folder.
    store = Store(request.store)
    make_plan(store, request.plan)
    folder = ReproductionFolder(request.out)
    with folder.locked():
        status = plan_status(request)
        on_begin(status)
        began = time.monotonic()
        make_runs(request, status.todo, status.num_workers, on_event)
        folder.note_call(len(status.todo), status.num_workers, time.monotonic() - began)
        results = folder.done(status.plan.runs, store.fingerprint)
        summary = summarise(request.name, store, status.plan, request.plan, results) | {"calls": folder.calls()}
        return summary, write_reproduction(summary, request.out)


def _workers(device: str) -> int:
    """Return how many runs to execute in parallel: each uses one thread, and several share a GPU."""
    return min(_MOST_ON_GPU, num_cores()) if choose_device(device).type == "cuda" else num_cores()


def make_runs(task: Task, runs: Sequence[PlannedRun], num_workers: int, on_event: OnEvent) -> None:
    """Execute all runs, `num_workers` at a time, and report their events.

    A killed process is replaced, and its run resumes from its last epoch.

    Raises:
        UserError: a run cannot be executed, or its process was killed several times; finished runs are kept.
    """
    for _ in in_processes(RunMaker(task), runs, num_workers, lambda run: run.key, on_event):
        pass
