"""From files to bags: lines per second of `check` and `prepare`, and the time to open the store."""

import sys
import tempfile
from pathlib import Path

from figure import amount, at_least, at_most, record
from measure import SAYSO, run

NUM_TRAIN, NUM_TEST = 130_000, 43_000
"""A quarter of FB-NYT."""
REPEATS = 3
OPEN = """
from pathlib import Path
from sayso.store.store import Store
store = Store(Path({store!r}))
assert sum(store.part(part).num_sentences for part in store.parts) > 100_000
assert store.bag(store.part("test"), 0).sentences
"""


def main() -> None:
    """Invent a corpus, check it, prepare it, open the store."""
    with tempfile.TemporaryDirectory() as name:
        corpus, store = Path(name) / "corpus", Path(name) / "store"
        run(SAYSO, "invent", corpus, "--train-sentences", NUM_TRAIN, "--test-sentences", NUM_TEST)
        train, test = corpus / "train.jsonl", corpus / "test.jsonl"
        options = ("--relations", corpus / "relations.tsv", "--types", corpus / "types.json", "--overwrite")
        num_lines = sum(len(path.read_bytes().splitlines()) for path in (train, test))
        checked = [run(SAYSO, "check", train, test)[0] for _ in range(REPEATS)]
        prepare = (SAYSO, "prepare", "--train", train, "--test", test, *options, "--out", store)
        prepared = [run(*prepare)[0] for _ in range(REPEATS)]
        opened = [run(sys.executable, "-c", OPEN.format(store=str(store))) for _ in range(REPEATS)]
        note = f"{num_lines:,} JSON lines, start-up included, one thread"
        record(
            [
                amount("check", [num_lines / each for each in checked], "lines/s", at_least(50_000), note),
                amount("prepare", [num_lines / each for each in prepared], "lines/s", at_least(25_000), note),
                amount("open a store", [each[0] for each in opened], "s", at_most(1), note),
                amount("open a store, peak memory", [each[1] for each in opened], "MB", at_most(200), note),
            ]
        )


if __name__ == "__main__":
    main()
