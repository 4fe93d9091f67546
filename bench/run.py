"""What `make bench` runs: the programs of this folder one after the other, and one table of what they measured.

    python bench/run.py [PROGRAM …]

Each program puts its own rows into `bench/results.json`, also when it is run alone.
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
"""What takes minutes by itself or needs other hardware is run by hand: `growth`, `transe`, `gpu_training`."""


def main() -> None:
    """Run the programs and print the whole table; exit with 1 where a program failed."""
    busy = os.getloadavg()[0]
    if busy > BUSY:
        print(f"the machine is busy (load {busy:.1f}): ratios will be uncertain, and speeds too low", flush=True)
    # As `import sayso` has it; the programs load torch first, and the references shall have the same.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    failed = []
    for name in sys.argv[1:] or PROGRAMS:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        result = subprocess.run([sys.executable, str(FOLDER / f"{name}.py")])
        failed += [name] if result.returncode else []
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
    print("\n== all figures")
    print("\n".join(lines_of(read())))
    print(f"wrote {RESULTS}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
