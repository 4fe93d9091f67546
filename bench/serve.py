"""Twenty annotators at once: how long a mark takes until it is saved, and whether each of 10,000 is there afterwards.

Everybody sends the next mark as soon as the last is saved, so the server is always busy: harder than people are. The
clients share the machine with the server.
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
    """Return a store of an invented corpus with enough sentences of positive bags to mark."""
    run(SAYSO, "invent", folder / "corpus", "--size", "toy", "--test-sentences", 2500, "--documents", 0)
    files = [word for name in ("train", "test") for word in (f"--{name}", folder / "corpus" / f"{name}.jsonl")]
    run(SAYSO, "prepare", *files, "--relations", folder / "corpus" / "relations.tsv", "--out", folder / "store")
    return folder / "store"


def seconds_to_start(store: Path, database: Path) -> float:
    """Return how long a workbench takes until it says where it is."""

    def start_one() -> None:
        running = start("--data", store, "--db", database, "--port", 0)
        running.process.kill()
        running.process.wait()

    return seconds_of(start_one)


def main() -> None:
    """Put the load on a fresh workbench and record the figures."""
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
            amount("a mark until it is saved, 20 annotators, median", milliseconds, "ms", at_most(MEDIAN_MS)),
            amount("a mark until it is saved, 20 annotators, 95 %", [late], "ms", at_most(LATE_MS)),
            amount(f"marks lost of {NUM_MARKS:,}", [lost], "marks", at_most(0)),
            amount("sayso serve until the pages are there", starts, "s", at_most(START_SECONDS)),
        ]
    )


if __name__ == "__main__":
    main()
