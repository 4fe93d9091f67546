"""Start-up time: importing the library, the first help page, and predicting a small file."""

import subprocess
import sys
import tempfile
from pathlib import Path

from drawn import draw_table, make_extractor, save_drawn_model, write_lines
from figure import amount, at_most, record
from measure import SAYSO, seconds_of

REPEATS = 7
FEW = 1_000


def seconds(*words: object) -> list[float]:
    """Return the seconds of repeated runs of a program; a first run, which fills the disk cache, does not count."""
    command = list(map(str, words))

    def start() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return [seconds_of(start) for _ in range(REPEATS + 1)][1:]


if __name__ == "__main__":
    interpreter = "including the interpreter's own start"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_drawn_model(folder / "model", make_extractor("attention"))
        write_lines(folder / "lines.jsonl", draw_table(FEW))
        options = ("--threshold", 0.0125, "--out", folder / "facts.jsonl")
        small = seconds(SAYSO, "predict", folder / "model", folder / "lines.jsonl", *options)
    record(
        [
            amount(
                "start: import sayso", seconds(sys.executable, "-c", "import sayso"), "s", at_most(0.2), interpreter
            ),
            amount("start: sayso --help", seconds(SAYSO, "--help"), "s", at_most(0.5), interpreter),
            amount(f"start: sayso predict, {FEW:,} sentences", small, "s", at_most(1.35), interpreter),
        ]
    )
