"""Cost of learning from distractors: time per epoch with +LD over time without, measured alternately."""

import subprocess
import tempfile
from pathlib import Path

import torch

from figure import Figure, at_most, ratio, record
from measure import SAYSO, side_by_side, threads
from sayso.model.extractor import Extractor
from sayso.store.store import Store
from sayso.train.config import config_of
from sayso.train.data import RunData
from sayso.train.epoch import ProcessShard
from sayso.train.loop import train_epoch
from sayso.train.objective import Objective

BUDGET = 1.25
NUM_SENTENCES, WIDTH = 8_000, 300
REPEATS = 4


class Trainee:
    """A model in training; each call trains one epoch."""

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

    def __call__(self) -> None:
        """Train one epoch."""
        train_epoch(
            self.objective,
            self.extractor,
            self.optimizer,
            self.data,
            epoch=1,
            shard=ProcessShard(),
            on_step=lambda _: None,
        )


def make_store(folder: Path) -> Path:
    """Return a store with an invented corpus in which, as in FB-NYT, one bag in fourteen is positive."""
    corpus, store, vectors = folder / "corpus", folder / "store", folder / "words.bin"
    size = ("--train-sentences", NUM_SENTENCES, "--test-sentences", 1000, "--na", 0.93)
    _sayso("invent", corpus, *size)
    train = corpus / "train.jsonl"
    _sayso("vectors", "train", train, "--out", vectors, "--width", WIDTH, "--epochs", 1, "--seed", 1)
    options = ("--relations", corpus / "relations.tsv", "--types", corpus / "types.json", "--vectors", vectors)
    _sayso("prepare", "--train", train, "--direct", corpus / "direct.txt", *options, "--out", store)
    return store


def _sayso(*words: object) -> None:
    subprocess.run([str(SAYSO), *map(str, words)], check=True, capture_output=True)


def measure(store: Path, aggregator: str, use_entities: bool) -> Figure:
    """Return the time ratio for one model."""
    weights = {"plain": 0.0, "+LD": 1.0}
    seconds = side_by_side(
        {name: Trainee(store, aggregator, use_entities, weight) for name, weight in weights.items()}, REPEATS
    )
    label = f"+LD vs. plain training, {aggregator}{', +E' if use_entities else ''}"
    corpus = f"an invented corpus of {NUM_SENTENCES:,} sentences and {len(Store(store).relations)} relations"
    note = f"{threads()}, {corpus}; each positive bag, one in fourteen, has one more sentence per relation"
    return ratio(label, seconds["+LD"], seconds["plain"], "s per epoch", at_most(BUDGET), note)


def main() -> None:
    """Measure each aggregator, with and without +E."""
    with tempfile.TemporaryDirectory() as name:
        store = make_store(Path(name))
        kinds = [(aggregator, use) for aggregator in ("attention", "direct") for use in (False, True)]
        record([measure(store, *kind) for kind in kinds])


if __name__ == "__main__":
    main()
