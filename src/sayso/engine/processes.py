"""Processes on this machine that call a function with one shard after another; a killed process is replaced.

`concurrent.futures` is not used: if one process is killed, its whole pool breaks, and hours of other work are lost.
"""

import logging
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from multiprocessing.context import SpawnProcess
from types import ModuleType
from typing import Any, Generic, NoReturn, TypeVar

from sayso.errors import UserError, handled_warnings, option

_MOST_TRIES = 3
_SECONDS_TO_END = 5.0
_TERMINATED = 128 + signal.SIGTERM
_THREADS = "OMP_NUM_THREADS"
"""Read by numpy and torch when they are loaded."""

_Shard = TypeVar("_Shard")
_Result = TypeVar("_Result")
_Channel = connection.Connection
SendEvent = Callable[[Any], None]


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def in_processes(
    function: Callable[[_Shard, SendEvent], _Result],
    shards: Iterable[_Shard],
    num: int,
    name_of: Callable[[_Shard], str] = str,
    on_event: SendEvent = lambda _: None,
) -> Iterator[_Result]:
    """Yield the function's result for every shard from `num` processes, in order of completion.

    A shard is requested when a process is free for it. Each process receives the function once and keeps it, with
    everything that it loads. If a process is killed, another one repeats its shard.

    Args:
        function: Called in a process with a shard, and with a function that sends an event to this process.
        shards: Any number of shards.
        num: The number of processes; each uses an equal share of the cores.
        name_of: Returns the name of a shard, for errors.
        on_event: Called with each event.

    Raises:
        UserError: The process of a shard was killed several times.
    """
    pool = _Pool(function, iter(shards), max(1, num_cores() // num), name_of, on_event)
    try:
        while len(pool.workers) < num and pool.start():
            pass
        while pool.workers:
            yield from pool.wait()
    finally:
        pool.stop()


@dataclass
class _Worker(Generic[_Shard]):
    process: SpawnProcess
    channel: "_Channel[Any, Any]"
    shard: tuple[_Shard, ...]


class _Pool(Generic[_Shard, _Result]):
    """The processes, and the shards of those that were killed."""

    def __init__(
        self,
        function: Callable[[_Shard, SendEvent], _Result],
        shards: Iterator[_Shard],
        num_threads: int,
        name_of: Callable[[_Shard], str],
        on_event: SendEvent,
    ) -> None:
        # Pickled once, and sent when a process is ready: until then, sending it would block this process.
        self.function, self.shards, self.num_threads = pickle.dumps(function), shards, num_threads
        self.name_of, self.on_event = name_of, on_event
        self.workers: list[_Worker[_Shard]] = []
        self.ending: list[SpawnProcess] = []
        self.again: deque[_Shard] = deque()
        self.killed: Counter[str] = Counter()

    def start(self) -> bool:
        """Start a process for the next shard; return False if there is none."""
        found = self._next()
        if not found:
            return False
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        # On Ctrl-C this process stops the others itself, so they start with the signal blocked.
        with _interrupts_blocked(), _threads(self.num_threads), _without_main():
            process.start()
        theirs.close()
        self.workers.append(_Worker(process, ours, found))
        return True

    def wait(self) -> Iterator[_Result]:
        """Handle one message from each process that has sent one; yield the results."""
        for channel in connection.wait([worker.channel for worker in self.workers]):
            worker = next(worker for worker in self.workers if worker.channel is channel)
            try:
                data = worker.channel.recv_bytes()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            kind, value = pickle.loads(data)
            if kind == "raised":
                raise value
            if kind == "done":
                worker.shard = self._next()
            self._answer(worker, kind, value)
            if kind == "done":
                yield value

    def _answer(self, worker: _Worker[_Shard], kind: str, value: Any) -> None:
        """Send a process what its message asks for, or pass on the event or the warning."""
        if kind == "started":
            self._send(worker, self.function)
        elif kind in ("ready", "done"):
            self._send(worker, pickle.dumps(worker.shard))
            if not worker.shard:
                self.ending.append(worker.process)
                self.workers.remove(worker)
        elif kind == "warned":
            logging.getLogger("sayso").warning("%s", value)
        else:
            self.on_event(value)

    def stop(self) -> None:
        """Stop all processes; files they were writing do not appear."""
        for worker in self.workers:
            worker.process.terminate()
        for process in (*self.ending, *(worker.process for worker in self.workers)):
            process.join(_SECONDS_TO_END)
            process.kill()
        self.workers.clear()

    def _next(self) -> tuple[_Shard, ...]:
        """Return the next shard in a tuple, which is empty if there is none."""
        if self.again:
            return (self.again.popleft(),)
        return next(((shard,) for shard in self.shards), ())

    @staticmethod
    def _send(worker: _Worker[_Shard], data: bytes) -> None:
        with suppress(BrokenPipeError):  # it was killed: `wait` will notice
            worker.channel.send_bytes(data)

    def _replace(self, worker: _Worker[_Shard]) -> None:
        """Give the shard of a killed process to a new one."""
        worker.process.join()
        self.workers.remove(worker)
        code, (shard,) = worker.process.exitcode, worker.shard
        name = self.name_of(shard)
        if code is not None and code >= 0 and code != _TERMINATED:
            raise RuntimeError(f"the process of {name} exited with code {code}")
        self.killed[name] += 1
        if self.killed[name] == _MOST_TRIES:
            raise UserError(
                f"{name}: its process was killed {_MOST_TRIES} times (out of memory?): try fewer {option('jobs')}"
            )
        self.again.appendleft(shard)
        self.start()


def _serve(channel: "_Channel[Any, Any]") -> None:
    """Receive a function, then call it with the shards received until an empty tuple is received."""
    signal.signal(signal.SIGTERM, _end)
    _end_with_parent()
    with handled_warnings(lambda text: channel.send(("warned", text))):
        try:
            channel.send(("started", None))
            function = pickle.loads(channel.recv_bytes())
            channel.send(("ready", None))
            while found := channel.recv():
                channel.send(("done", function(found[0], lambda event: channel.send(("event", event)))))
        except Exception as error:  # noqa: BLE001, raised again by the command
            channel.send(("raised", _sendable(error)))


def _sendable(error: Exception) -> Exception:
    """Return the error in a form that another process can raise, with the traceback of this one."""
    if isinstance(error, MemoryError):
        return UserError(f"a process is out of memory: try fewer {option('jobs')}")
    if not isinstance(error, UserError):
        error.add_note(f"in a process that sayso started:\n{traceback.format_exc()}")
    with suppress(Exception):
        pickle.loads(pickle.dumps(error))
        return error
    return UserError(error.both) if isinstance(error, UserError) else RuntimeError(repr(error))


def _end(*_: object) -> NoReturn:
    """Exit so that temporary files are removed."""
    sys.exit(_TERMINATED)


def _end_with_parent() -> None:
    """Exit as soon as the command is killed: two processes must never write the same files."""

    def watch() -> None:
        parent = parent_process()
        assert parent is not None
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Delay Ctrl-C until the block ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _threads(num: int) -> Iterator[None]:
    """Let the processes that the block starts use this many threads."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = str(num)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep the processes that the block starts from importing the main program, which they do not need."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
