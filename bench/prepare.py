"""How long, and how much memory, the way from files to bags takes at the size of FB-NYT; and to open the store."""

import json
import sys
import tempfile
from pathlib import Path

from measure import row, run

SAYSO = Path(sys.executable).with_name("sayso")
OPEN = """
import resource, time
began = time.monotonic()
from pathlib import Path
from sayso.bags.store import Store
store = Store(Path({store!r}))
sizes = [store.part(part).num_sentences for part in store.parts]
bag = store.bag(store.part("test"), 0)
assert bag.sentences and sum(sizes) > 500_000
"""


def main() -> None:
    """Invent the corpus, check it, prepare it, open the store; print every figure with its budget."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, store = folder / "corpus", folder / "store"
        seconds, memory = run(SAYSO, "invent", corpus, "--size", "fbnyt")
        rows = [row("invent --size fbnyt", seconds, 90, "s"), row("invent --size fbnyt, peak", memory, 2500, "MB")]
        num = 522_611 + 172_448
        seconds, memory = run(SAYSO, "check", corpus / "train.jsonl", corpus / "test.jsonl")
        rows += [row("check, sentences/s", num / seconds, 50_000, "1/s"), row("check, peak", memory, 500, "MB")]
        seconds, memory = run(
            *(SAYSO, "prepare", "--train", corpus / "train.jsonl", "--test", corpus / "test.jsonl"),
            *("--relations", corpus / "relations.tsv", "--types", corpus / "types.json", "--out", store),
        )
        rows += [row("prepare --size fbnyt", seconds, 60, "s"), row("prepare --size fbnyt, peak", memory, 2500, "MB")]
        seconds, memory = run(sys.executable, "-c", OPEN.format(store=str(store)))
        rows += [row("open the store", seconds, 1, "s"), row("open the store, resident", memory, 200, "MB")]
    for entry in rows:
        print(f"{entry['name']:32} {entry['value']:>12,.1f} {entry['unit']:4} budget {entry['budget']:,}")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
