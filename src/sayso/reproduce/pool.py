"""Runs side by side: processes that are given one run after the other, and replaced when they are killed."""

import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.context import SpawnProcess
from typing import Any

from sayso.errors import UserError, option
from sayso.reproduce.plan import Job
from sayso.reproduce.worker import Event, Task, work

OnEvent = Callable[[Event], None]

_MOST_TRIES = 3
_SECONDS_TO_END = 5.0


@dataclass
class _Worker:
    process: SpawnProcess
    channel: "connection.Connection[Any, Any]"
    job: Job | None = None


def run_jobs(task: Task, jobs: Sequence[Job], num_workers: int, on_event: OnEvent) -> None:
    """Do all jobs, `num_workers` at a time, and tell what happens.

    A process that is killed is replaced and its run goes on from its last epoch. A run that cannot be made, or whose
    process is killed again and again, ends all with a `UserError`; what is done is done.
    """
    pool = _Pool(task, jobs, on_event)
    try:
        for _ in range(min(num_workers, len(jobs))):
            pool.start()
        while pool.workers:
            pool.wait()
    finally:
        pool.stop()


class _Pool:
    def __init__(self, task: Task, jobs: Sequence[Job], on_event: OnEvent) -> None:
        self.task, self.on_event = task, on_event
        self.waiting = deque(jobs)
        self.workers: list[_Worker] = []
        self.killed: Counter[str] = Counter()

    def start(self) -> None:
        """Start one more process and give it a run."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self.task), daemon=True)
        # The command hears of Ctrl-C and ends its processes; they need not, and are started deaf to it.
        with _interrupts_held_back():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        self._give(worker)

    def wait(self) -> None:
        """Hear one thing from each process that has something to say."""
        for channel in connection.wait([worker.channel for worker in self.workers]):
            worker = next(worker for worker in self.workers if worker.channel is channel)
            try:
                event: Event = worker.channel.recv()
            except (EOFError, ConnectionResetError):
                self._replace(worker)
            else:
                self._hear(worker, event)

    def stop(self) -> None:
        """End all processes; what they were writing is not there."""
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.process.join(_SECONDS_TO_END)
            worker.process.kill()
        self.workers.clear()

    def _hear(self, worker: _Worker, event: Event) -> None:
        if event.kind == "refused":
            raise UserError(event.text)
        self.on_event(event)
        if event.kind == "done":
            self._give(worker)

    def _give(self, worker: _Worker) -> None:
        worker.job = self.waiting.popleft() if self.waiting else None
        try:
            worker.channel.send(worker.job)
        except BrokenPipeError:
            self._replace(worker)
            return
        if worker.job is None:
            worker.process.join()
            self.workers.remove(worker)

    def _replace(self, worker: _Worker) -> None:
        """Start a process in the place of one that ended by itself, with the same run."""
        worker.process.join()
        self.workers.remove(worker)
        code, job = worker.process.exitcode, worker.job
        if code is not None and code >= 0:
            raise RuntimeError(f"the process of {job.key if job else 'no run'} ended with exit code {code}")
        if job is None:
            return
        self.killed[job.key] += 1
        if self.killed[job.key] == _MOST_TRIES:
            raise UserError(
                f"{job.key}: its process was killed {_MOST_TRIES} times (too little memory?): try fewer"
                f" {option('jobs')}"
            )
        self.waiting.appendleft(job)
        self.start()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hear of a Ctrl-C that comes meanwhile only afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
