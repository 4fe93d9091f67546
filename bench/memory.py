"""Peak memory and speed of `check`, `predict` and `extract` with thirty times the sentences: whole commands."""

import tempfile
from pathlib import Path

from drawn import draw_table, make_extractor, save_drawn_model, write_lines
from figure import Figure, amount, at_least, at_most, ratio, record
from measure import SAYSO, run
from sayso.engine.processes import num_cores

FEW, MANY = 10_000, 300_000
THRESHOLD = 0.0125
"""Threshold that some of the random model's facts reach, but most do not."""
FLAT = 1.3
SPEEDS = {"predict": at_least(40_000), "extract": at_least(25_000)}
"""Sentences per second on two cores."""


def measure(name: str, few: tuple[float, float], many: tuple[float, float]) -> list[Figure]:
    """Return the rows for a command, from the seconds and megabytes of both runs."""
    note = f"{MANY:,} vs. {FEW:,} sentences"
    return [
        ratio(
            f"peak memory of {name}, {note}",
            [many[1]],
            [few[1]],
            "MB",
            at_most(FLAT),
            "one run each; `extract` uses a process per core for the larger corpus: the largest process counts",
        ),
        amount(
            f"sayso {name}, {MANY:,} sentences, start-up included",
            [MANY / many[0]],
            "sentences/s",
            SPEEDS.get(name),
            f"all {num_cores()} cores",
        ),
    ]


def main() -> None:
    """Write both random files and run the commands on them."""
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        save_drawn_model(folder / "model", make_extractor("attention"))
        found: dict[str, list[tuple[float, float]]] = {"check": [], "predict": [], "extract": []}
        for num in (FEW, MANY):
            lines = folder / f"{num}.jsonl"
            write_lines(lines, draw_table(num))
            found["check"].append(run(SAYSO, "check", lines))
            options = (folder / "model", lines, "--threshold", THRESHOLD, "--out")
            found["predict"].append(run(SAYSO, "predict", *options, folder / "facts.jsonl"))
            found["extract"].append(run(SAYSO, "extract", *options, folder / f"facts-{num}"))
        record([figure for name, runs in found.items() for figure in measure(name, *runs)])


if __name__ == "__main__":
    main()
