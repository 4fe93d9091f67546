"""Small stores and settings to train with, built in seconds."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sayso.embeddings.word2vec import write_word_vectors
from sayso.invent.settings import InventSettings
from sayso.invent.write import invent
from sayso.readers.jsonl import write
from sayso.readers.mark import write_mark
from sayso.records import Mark, Sentence
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.store.store import Store
from sayso.train.config import RunConfig, config_of
from sayso.train.data import RunData


def toy_config(
    aggregator: str = "attention",
    mentions: str = "type",
    distractor: float = 1.0,
    entities: bool = False,
    seed: int = 13,
    **train: float,
) -> RunConfig:
    """Return a small run of a variant; without dropout, so that results can be checked exactly."""
    encoder = {"widths": [2, 3], "num_filters": 6, "output_width": 8, "dropout": 0.0}
    return config_of(
        {
            "seed": seed,
            "data": {"mentions": mentions, "random_width": 8},
            "model": {
                "encoder": {"kind": "cnn", "cnn": encoder},
                "aggregator": {"kind": aggregator, "direct": {"hidden_width": 6}},
                "use_entities": entities,
            },
            "loss": {"direct_sentences": 8, "distractor": distractor},
            "train": {"max_epochs": 2, "batch_bags": 32} | train,
        }
    )


def with_labels(config: RunConfig) -> RunConfig:
    """Return the run with the relation labels of directly supervised sentences as a second task."""
    return replace(config, loss=replace(config.loss, direct_task="relations"))


def invented_store(folder: Path) -> Path:
    """Return a store of an invented corpus with direct sentences, types, word and entity vectors."""
    corpus = folder / "corpus"
    settings = InventSettings.of_size("toy", train_sentences=400, test_sentences=40, direct_sentences=40, documents=1)
    invent(corpus, settings)
    inputs = Inputs(
        train=corpus / "train.jsonl",
        relations=corpus / "relations.tsv",
        types=corpus / "types.json",
        direct=(corpus / "direct.txt",),
        vectors=_random_vectors(folder / "words.bin", _words_of(corpus / "train.jsonl")),
        # Only every fifth entity has a vector.
        entity_vectors=_random_vectors(folder / "entities.bin", _entities_of(corpus / "triples.tsv")[::5]),
    )
    prepare(inputs, PrepareSettings(validation_share=0.2), folder / "store", lambda *_: None)
    return folder / "store"


def store_of(
    folder: Path,
    sentences: list[Sentence],
    validation_share: float = 0.3,
    relations: Sequence[str] = ("r",),
    types: Mapping[str, Sequence[str]] | None = None,
    marks: Sequence[Mark] = (),
) -> Path:
    """Return a store of these sentences, relations, types and marks, without vectors or direct sentences."""
    train, inventory = folder / "train.jsonl", folder / "relations.json"
    train.write_text("".join(write(sentence) + "\n" for sentence in sentences))
    inventory.write_text(json.dumps({name: number for number, name in enumerate(relations)}))
    settings = PrepareSettings(validation_share=validation_share)
    inputs = Inputs(train=train, relations=inventory)
    if types is not None:
        (folder / "types.json").write_text(json.dumps(types))
        inputs = replace(inputs, types=folder / "types.json")
    if marks:
        (folder / "marks.jsonl").write_text("".join(write_mark(mark) + "\n" for mark in marks))
        inputs = replace(inputs, marks=(folder / "marks.jsonl",))
    prepare(inputs, settings, folder / "store", lambda *_: None)
    return folder / "store"


def run_data(store: Path, config: RunConfig) -> RunData:
    """Return the store as the run reads it."""
    return RunData(Store(store), config)


def _random_vectors(path: Path, names: list[str]) -> Path:
    matrix = np.random.default_rng(1).normal(0.0, 0.3, (len(names), 8)).astype(np.float32)
    write_word_vectors(path, names, matrix, binary=True)
    return path


def _words_of(path: Path) -> list[str]:
    return sorted({word for line in path.read_text().splitlines() for word in json.loads(line)["tokens"]})


def _entities_of(path: Path) -> list[str]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return sorted({entity for row in rows for entity in (row[0], row[-1])})
