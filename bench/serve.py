"""Twenty concurrent annotators: the time until a mark is saved, and whether all 10,000 marks are there afterwards.

Each client sends the next mark as soon as the last is saved, so the load is higher than with real annotators. The
clients run on the same machine as the server.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from figure import amount, at_most, record
from load import make_room, num_lost, put_load
from measure import SAYSO, run, seconds_of
from running import serving, start

NUM_PEOPLE, NUM_MARKS = 20, 10_000
MEDIAN_MS, LATE_MS, START_SECONDS = 100.0, 300.0, 2.0


def make_store(folder: Path) -> Path:
    """Return a store with an invented corpus that has enough sentences in positive bags to mark."""
    run(SAYSO, "invent", folder / "corpus", "--size", "toy", "--test-sentences", 2500, "--documents", 0)
    files = [word for name in ("train", "test") for word in (f"--{name}", folder / "corpus" / f"{name}.jsonl")]
    run(SAYSO, "prepare", *files, "--relations", folder / "corpus" / "relations.tsv", "--out", folder / "store")
    return folder / "store"


def seconds_to_start(store: Path, database: Path) -> float:
    """Return the seconds until a workbench prints its URL."""

    def start_one() -> None:
        running = start("--data", store, "--db", database, "--port", 0)
        running.process.kill()
        running.process.wait()

    return seconds_of(start_one)


def main() -> None:
    """Run the load against a fresh workbench and record the results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store, database = make_store(folder), folder / "marks.db"
        starts = [seconds_to_start(store, folder / "start.db") for _ in range(3)]
        make_room(database)
        with serving(store, database) as running:
            load = asyncio.run(put_load(running.url, NUM_PEOPLE, NUM_MARKS))
        lost = num_lost(database, load)
    milliseconds = [1000 * each for each in load.seconds]
    late = statistics.quantiles(milliseconds, n=20)[-1]
    record(
        [
            amount("time to save a mark, 20 annotators, median", milliseconds, "ms", at_most(MEDIAN_MS)),
            amount("time to save a mark, 20 annotators, 95th percentile", [late], "ms", at_most(LATE_MS)),
            amount(f"marks lost of {NUM_MARKS:,}", [lost], "marks", at_most(0)),
            amount("sayso serve, time to first page", starts, "s", at_most(START_SECONDS)),
        ]
    )


if __name__ == "__main__":
    main()
