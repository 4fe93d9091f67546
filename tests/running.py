"""The workbench as a user runs it: `sayso serve` in its own process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Running(NamedTuple):
    """A workbench's URL and its process."""

    url: str
    process: subprocess.Popen[str]


def start(*options: object) -> Running:
    """Start a workbench on a free port, and return once it has printed its URL."""
    program = [sys.executable, "-c", "from sayso.cli import main; main()", "serve", *map(str, options)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    return Running(url_of(process), process)


def url_of(process: subprocess.Popen[str]) -> str:
    """Return the URL of a workbench, once it has printed it."""
    assert process.stdout
    for line in process.stdout:
        if line.startswith("workbench: "):
            return line.split()[1]
    raise AssertionError(f"the workbench ended with {process.wait()}")


@contextmanager
def serving(store: Path, database: Path, *options: object) -> Iterator[Running]:
    """Yield a running workbench, and stop it afterwards."""
    running = start("--data", store, "--db", database, *(options or ("--port", 0)))
    try:
        yield running
    finally:
        running.process.terminate()
        running.process.wait(300)
        assert running.process.stdout
        running.process.stdout.close()
