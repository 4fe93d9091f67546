"""What `make bench` runs: every program in this folder, and one table of what they measured."""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAMS = ("prepare.py", "distractors.py", "explain.py")


def main() -> None:
    """Run the programs one after the other; each prints its own figures and gives them as JSON on its last line."""
    rows = []
    for name in PROGRAMS:
        print(f"== {name}", flush=True)
        result = subprocess.run([sys.executable, str(FOLDER / name)], check=True, stdout=subprocess.PIPE, text=True)
        *lines, last = result.stdout.strip().splitlines()
        print("\n".join(lines), flush=True)
        rows += json.loads(last)
    path = FOLDER / "results.json"
    path.write_text(json.dumps(rows, indent=2) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
