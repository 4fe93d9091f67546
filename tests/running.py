"""The workbench as a user runs it: `sayso serve` in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Running(NamedTuple):
    """A workbench's address, and the process that it is."""

    url: str
    process: subprocess.Popen[str]


def start(*options: object) -> Running:
    """Start a workbench on a free port, and return when it says where it is."""
    program = [sys.executable, "-c", "from sayso.cli import main; main()", "serve", *map(str, options)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if line.startswith("workbench: "):
            return Running(line.split()[1], process)
    raise AssertionError(f"the workbench ended with {process.wait()}")


@contextmanager
def serving(store: Path, database: Path, *options: object) -> Iterator[Running]:
    """Give a running workbench, and end it afterwards."""
    running = start("--data", store, "--db", database, *(options or ("--port", 0)))
    try:
        yield running
    finally:
        running.process.terminate()
        running.process.wait(300)
        assert running.process.stdout
        running.process.stdout.close()
