"""What learning from distractors costs: seconds of an epoch with +LD over seconds without, side by side."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from measure import ratio_row
from sayso.bags.store import Store
from sayso.model.extractor import Extractor
from sayso.train.config import config_of
from sayso.train.data import RunData
from sayso.train.epoch import Shard
from sayso.train.loop import train_epoch
from sayso.train.objective import Objective

SAYSO = str(Path(sys.executable).with_name("sayso"))
BUDGET = 1.25
NUM_EPOCHS = 5


class Trainee:
    """A model in training, one epoch at a time."""

    def __init__(self, store: Path, aggregator: str, use_entities: bool, distractor: float) -> None:
        table = {
            "data": {"mentions": "type"},
            "model": {"use_entities": use_entities, "aggregator": {"kind": aggregator}},
            "loss": {"distractor": distractor},
        }
        self.config = config_of(table)
        self.data = RunData(Store(store), self.config)
        self.extractor = Extractor(self.config.model, self.data.tables(), self.config.seed)
        self.objective = Objective(self.extractor, self.config.loss)
        self.optimizer = torch.optim.Adam(self.extractor.parameters(), lr=1e-3)

    def seconds_of_epoch(self, epoch: int) -> float:
        """Train one epoch and return how long it took."""
        began = time.monotonic()
        train_epoch(self.objective, self.extractor, self.optimizer, self.data, epoch, Shard(), lambda _: None)
        return time.monotonic() - began


def make_store(folder: Path) -> Path:
    """Return a store of an invented corpus in which, as in FB-NYT, one bag in fourteen is positive."""
    corpus, store, vectors = folder / "corpus", folder / "store", folder / "words.bin"
    size = ("--train-sentences", "20000", "--test-sentences", "1000", "--na", "0.93")
    subprocess.run([SAYSO, "invent", corpus, *size], check=True, capture_output=True)
    train = str(corpus / "train.jsonl")
    subprocess.run(
        [SAYSO, "vectors", "train", train, "--out", vectors, "--width", "100", "--epochs", "1", "--seed", "1"],
        check=True,
        capture_output=True,
    )
    options = ("--relations", corpus / "relations.tsv", "--types", corpus / "types.json", "--vectors", vectors)
    words = [SAYSO, "prepare", "--train", train, "--direct", corpus / "direct.txt", *options, "--out", store]
    subprocess.run(words, check=True, capture_output=True)
    return store


def main() -> None:
    """Print one ratio for each aggregator, with and without +E."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        store = make_store(Path(name))
        for aggregator in ("attention", "direct"):
            for use_entities in (False, True):
                plain, distracted = (Trainee(store, aggregator, use_entities, weight) for weight in (0.0, 1.0))
                seconds = [(plain.seconds_of_epoch(e), distracted.seconds_of_epoch(e)) for e in range(NUM_EPOCHS)]
                without, with_ld = (statistics.median(column[1:]) for column in zip(*seconds, strict=True))
                label = f"+LD over plain, {aggregator}{', +E' if use_entities else ''}"
                rows.append(ratio_row(label, with_ld, without, BUDGET, "s an epoch"))
    for row in rows:
        print(
            f"{row['name']:32} {row['ours']:8.2f} / {row['reference']:6.2f} = {row['ratio']:.2f}"
            f"  budget {row['budget']}"
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
