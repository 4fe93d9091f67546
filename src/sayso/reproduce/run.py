"""The stages of a reproduction: plan the runs, execute them, summarise them, write the files."""

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from sayso.errors import UserError, option
from sayso.reproduce.document import write_reproduction
from sayso.reproduce.folder import ReproductionFolder
from sayso.reproduce.plan import PlannedRun, PlanSettings, RunPlan, make_plan
from sayso.reproduce.summary import summarise
from sayso.reproduce.worker import Event, Task, work
from sayso.store.store import Store
from sayso.train.device import choose_device

OnEvent = Callable[[Event], None]

_MOST_ON_GPU = 16
_MOST_TRIES = 3
_SECONDS_TO_END = 5.0


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
    num_cores = len(os.sched_getaffinity(0))
    return min(_MOST_ON_GPU, num_cores) if choose_device(device).type == "cuda" else num_cores


@dataclass
class _Worker:
    process: SpawnProcess
    channel: "connection.Connection[Any, Any]"
    run: PlannedRun | None = None


def make_runs(task: Task, runs: Sequence[PlannedRun], num_workers: int, on_event: OnEvent) -> None:
    """Execute all runs, `num_workers` at a time, and report their events.

    A killed process is replaced, and its run resumes from its last epoch.

    Raises:
        UserError: a run cannot be executed, or its process was killed several times; finished runs are kept.
    """
    pool = _Pool(task, runs, on_event)
    try:
        for _ in range(min(num_workers, len(runs))):
            pool.start()
        while pool.workers:
            pool.wait()
    finally:
        pool.stop()


class _Pool:
    """Processes that each execute one run after another, and are replaced if killed.

    `concurrent.futures` is not used: if one process is killed, its whole pool breaks, and hours of other runs are lost.
    """

    def __init__(self, task: Task, runs: Sequence[PlannedRun], on_event: OnEvent) -> None:
        self.task, self.on_event = task, on_event
        self.waiting = deque(runs)
        self.workers: list[_Worker] = []
        self.killed: Counter[str] = Counter()

    def start(self) -> None:
        """Start a process and give it a run."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self.task), daemon=True)
        # On Ctrl-C the command stops its processes itself, so they start with the signal blocked.
        with _interrupts_blocked():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        self._give(worker)

    def wait(self) -> None:
        """Handle one message from each process that has sent one."""
        for channel in connection.wait([worker.channel for worker in self.workers]):
            worker = next(worker for worker in self.workers if worker.channel is channel)
            try:
                event: Event = worker.channel.recv()
            except (EOFError, ConnectionResetError):
                self._replace(worker)
                continue
            if event.kind == "refused":
                raise UserError(event.text)
            self.on_event(event)
            if event.kind == "done":
                self._give(worker)

    def stop(self) -> None:
        """Stop all processes; files they were writing do not appear."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join(_SECONDS_TO_END)
            worker.process.kill()
        self.workers.clear()

    def _give(self, worker: _Worker) -> None:
        worker.run = self.waiting.popleft() if self.waiting else None
        try:
            worker.channel.send(worker.run)
        except BrokenPipeError:
            self._replace(worker)
            return
        if worker.run is None:
            worker.process.join()
            self.workers.remove(worker)

    def _replace(self, worker: _Worker) -> None:
        """Give the run of a killed process to a new one."""
        worker.process.join()
        self.workers.remove(worker)
        code, run = worker.process.exitcode, worker.run
        if code is not None and code >= 0:
            raise RuntimeError(f"the process of {run.key if run else 'no run'} exited with code {code}")
        if run is None:
            return
        self.killed[run.key] += 1
        if self.killed[run.key] == _MOST_TRIES:
            raise UserError(
                f"{run.key}: its process was killed {_MOST_TRIES} times (out of memory?): try fewer {option('jobs')}"
            )
        self.waiting.appendleft(run)
        self.start()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Delay Ctrl-C until the block ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
