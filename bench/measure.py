"""What the programs of this folder share: a command's time and peak memory, and what machine this is."""

import os
import platform
import subprocess
import sys
import time
from typing import Any


def run(*words: object) -> tuple[float, float]:
    """Run a program and return its seconds and its peak resident memory in MB."""
    began = time.monotonic()
    # A process of its own: the peak of all children is the highest of any, so each is measured alone.
    program = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True
    )
    seconds = time.monotonic() - began
    return seconds, int(result.stdout) / 1024


def machine() -> str:
    """Return a line that names the machine."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:  # noqa: PTH123
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores"


def row(name: str, value: float, budget: float, unit: str) -> dict[str, Any]:
    """Return one figure beside its budget."""
    return {"name": name, "value": round(value, 3), "budget": budget, "unit": unit, "machine": machine()}


def ratio_row(name: str, ours: float, reference: float, budget: float, unit: str) -> dict[str, Any]:
    """Return one ratio of two things measured side by side, beside its budget."""
    sizes = {"ours": round(ours, 4), "reference": round(reference, 4), "ratio": round(ours / reference, 3)}
    return {"name": name, **sizes, "budget": budget, "unit": unit, "machine": machine()}
