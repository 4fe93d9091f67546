"""Costly folders that all test processes share: the first that needs one makes it, the others wait for it."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` has filled, once per run of pytest; tests must not write to it."""
    base = factory.getbasetemp()
    # Each process of pytest-xdist has a folder of its own in that of the run.
    shared = base.parent if base.name.startswith("popen-") else base
    folder, done = shared / f"shared-{name}", shared / f"shared-{name}.done"
    with (shared / f"shared-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
