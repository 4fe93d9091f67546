"""Run the benchmarks in this folder one after the other (`make bench`) and print a table of all results.

    python bench/run.py [PROGRAM …]

Each program writes its own rows to `bench/results.json`, also when run on its own.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from figure import RESULTS, lines_of, read

FOLDER = Path(__file__).parent
BUSY = 0.5
PROGRAMS = (
    "start_up",
    "reading",
    "predict",
    "extract_lines",
    "memory",
    "training",
    "distractors",
    "explain",
    "serve",
    "explore",
    "build",
)
"""Programs that take minutes or need other hardware are run by hand: `growth`, `transe`, `gpu_training`."""


def main() -> None:
    """Run the programs and print the whole table; exit with 1 if a program failed."""
    busy = os.getloadavg()[0]
    if busy > BUSY:
        print(f"the machine is busy (load {busy:.1f}): ratios will be noisy, and speeds too low", flush=True)
    # As set by `import sayso`: the programs load torch first, and the references should have the same setting.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    failed = []
    for name in sys.argv[1:] or PROGRAMS:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        result = subprocess.run([sys.executable, str(FOLDER / f"{name}.py")])
        failed += [name] if result.returncode else []
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
    print("\n== all results")
    print("\n".join(lines_of(read())))
    print(f"wrote {RESULTS}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
