"""Run the property tests with new random examples until the time is up: `make fuzz SECONDS=600`.

A failure is printed with its example; add the example to the test as `@example(…)`, so that
`make test` has it from then on.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Return 1 as soon as a property fails, 0 if none fails within the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to search (default: 600)")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32, help="the first seed (default: the time)")
    parser.add_argument("paths", nargs="*", default=["tests"], help="tests to run (default: all)")
    arguments = parser.parse_args()
    stop, seed = time.monotonic() + arguments.seconds, arguments.seed
    while (left := stop - time.monotonic()) > 0:
        print(f"seed {seed}, {left:.0f} s left", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-m", "hypothesis and not slow"]
        command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *arguments.paths]
        try:
            code = subprocess.run(command, cwd=ROOT, timeout=left, check=False).returncode
        except subprocess.TimeoutExpired:
            break
        if code:
            return 1
        seed += 1
    print("time is up: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
