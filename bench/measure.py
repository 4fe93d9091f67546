"""Measuring: alternating calls, programs in separate processes, and a description of the machine."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SAYSO = Path(sys.executable).with_name("sayso")
_NAMED = ("torch", "numba", "numpy", "sayso")
_WATCHED = (
    "import resource, subprocess, sys\n"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    "sys.stderr.write(done.stderr if done.returncode else '')\n"
    "sys.exit(done.returncode)\n"
)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of the call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def side_by_side(calls: Mapping[str, Callable[[], object]], repeats: int = 5) -> dict[str, list[float]]:
    """Return the seconds of each call in each round; calls alternate, so that other load affects all of them equally.

    A warm-up round comes first, in which caches are filled and kernels compiled.
    """
    rounds = [{name: seconds_of(call) for name, call in calls.items()} for _ in range(repeats + 1)]
    return {name: [each[name] for each in rounds[1:]] for name in calls}


def run(*words: object) -> tuple[float, float]:
    """Run a program and return its seconds and its peak resident memory in MB."""
    began = time.perf_counter()
    # In a separate process, because RUSAGE_CHILDREN has the highest peak of all children.
    command = [sys.executable, "-c", _WATCHED, *map(str, words)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - began, int(result.stdout) / 1024


def threads() -> str:
    """Return the number of torch threads, as text."""
    import torch

    num = torch.get_num_threads()
    return "1 thread" if num == 1 else f"{num} threads"


def machine() -> str:
    """Return a one-line description of the machine."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores"


def versions() -> dict[str, str]:
    """Return the versions of the packages that affect speed."""
    found = {"python": platform.python_version()}
    for name in _NAMED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found
