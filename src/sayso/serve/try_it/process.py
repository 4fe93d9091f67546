"""The server's side of a worker process: starts it when needed, and recovers if it fails."""

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from sayso.errors import UserError

_log = logging.getLogger(__name__)

START_SECONDS, ANSWER_SECONDS, IDLE_SECONDS = 180.0, 60.0, 600.0
MAX_WAITING = 4
"""The maximum number of pending requests: each blocks one of the threads that all pages share."""
_MAX_ANSWER = 8_000_000
_LAST_SECONDS, _LAST_BYTES = 2.0, 4_000


class WorkerError(UserError):
    """The model's process could not answer; the next question restarts it."""


class Worker:
    """One model's process, shared by all threads; it answers one question at a time.

    `command` starts a process that writes a JSON line when it is ready, and then one for each line that it reads.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._answer_seconds = ANSWER_SECONDS
        self._lock = threading.Lock()
        self._seats = threading.BoundedSemaphore(MAX_WAITING)
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None

    @classmethod
    def of_run(cls, folder: Path) -> "Worker":
        """Return the worker for a run's model, without starting it."""
        return cls([sys.executable, "-m", "sayso.serve.try_it.worker", str(folder), str(IDLE_SECONDS)])

    @property
    def is_running(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer; raise `UserError` if the worker refuses the question, `WorkerError` if it fails."""
        if not self._seats.acquire(blocking=False):
            raise WorkerError("the model is busy with other requests; try again in a minute")
        try:
            with self._lock:
                if not self.is_running:
                    self._start()
                return self._exchange(question)
        finally:
            self._seats.release()

    def close(self) -> None:
        """Stop the process if it is running; pending requests fail."""
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            # Leaving the context waits and closes the pipes; unsent data is lost with the process.
            with contextlib.suppress(OSError), process:
                process.kill()
        if self._complaints is not None:
            self._complaints.close()
            self._complaints = None

    def _start(self) -> None:
        self._clear()
        # A file, not a pipe: nobody reads it, and a full pipe would block the process.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints
        )
        greeting = self._read_line(START_SECONDS, "load")
        if "ready" not in greeting:
            self._clear()
            raise WorkerError(str(greeting.get("error", "the model's process did not report that it is ready")))

    def _exchange(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None
        reply = self._read_line(self._answer_seconds, "answer")
        if "answer" not in reply:
            raise UserError(str(reply.get("error")))
        answer: dict[str, Any] = reply["answer"]
        return answer

    def _read_line(self, seconds: float, what: str) -> dict[str, Any]:
        """Return the next line; stop a process that is too slow, writes too much or ends."""
        assert self._process
        assert self._process.stdout
        deadline = time.monotonic() + seconds
        stop = threading.Timer(seconds, self._process.kill)
        stop.start()
        line = self._process.stdout.readline(_MAX_ANSWER)
        stop.cancel()
        if line.endswith(b"\n"):
            reply: dict[str, Any] = json.loads(line)
            return reply
        if time.monotonic() < deadline:
            raise self._ended()
        self._clear()
        raise WorkerError(
            f"the model took more than {seconds:g} seconds to {what} and was stopped; try fewer sentences"
        )

    def _ended(self) -> WorkerError:
        """Clean up after a process that ended, and return the error to report."""
        process, complaints = self._process, self._complaints
        assert process
        assert complaints
        status: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may still be running
            status = process.wait(_LAST_SECONDS)
        complaints.seek(max(0, complaints.seek(0, os.SEEK_END) - _LAST_BYTES))
        _log.error("the model's process ended (%s): %s", status, complaints.read().decode(errors="replace"))
        self._clear()
        return WorkerError("the model's process ended without an answer and will be restarted; try again")
