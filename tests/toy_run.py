"""A small corpus with its tables, its store, and a model trained on it for one epoch."""

import json
from pathlib import Path

import numpy as np

from sayso.embeddings.word2vec import write_word_vectors
from sayso.features.mentions import Appearance
from sayso.model.aggregators.attention import AttentionConfig
from sayso.model.aggregators.base import AggregatorConfig
from sayso.model.encoders.cnn import CnnConfig
from sayso.model.extractor import ModelConfig
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from sayso.train.config import DataConfig, LossConfig, RunConfig, TrainConfig
from sayso.train.run import train

NUM_PAIRS = 24
MAX_TOKENS = 20


def corpus_lines() -> list[str]:
    """Return sentences in NRE format: capitals, birthplaces and pairs without a relation."""
    lines = []
    for i in range(NUM_PAIRS):
        land, town, person = f"north_land{i}", f"port_town{i}", f"ada_{i}"
        for text in (f"{town} is the capital of {land} .", f"in {land} , {town} is where the king lives .", town):
            text = text if " " in text else f"{land} and {town} , {town} and {land}"
            lines.append(_line(f"l{i}", f"t{i}", land, town, "capital", text))
        for text in (f"{person} was born in {town} .", f"{town} 's {person} sings ."):
            lines.append(_line(f"p{i}", f"t{i}", person, town, "born", text))
        lines.append(_line(f"p{i}", f"l{i}", person, land, "NA", f"{person} flew over {land} ."))
    return lines


def _line(*columns: str) -> str:
    return "\t".join((*columns, "###END###"))


def make_store(folder: Path, vectors: bool = True) -> Path:
    """Return a store of the corpus, with types and entity vectors; half of the names have no vector."""
    (folder / "train.txt").write_text("\n".join(corpus_lines()) + "\n")
    kinds = {"l": "/location/country", "t": "/location/city", "p": "/person"}
    types = {f"{letter}{i}": [kind] for letter, kind in kinds.items() for i in range(NUM_PAIRS)}
    (folder / "types.json").write_text(json.dumps(types))
    rng = np.random.default_rng(0)
    words = sorted({word for line in corpus_lines() for word in line.split("\t")[5].split()})
    words = [word for word in words if "_" not in word or word[-1] in "02468"]
    for name, keys, width in (("words.bin", words, 8), ("entities.bin", list(types)[::2], 4)):
        matrix = rng.normal(0, 0.5, (len(keys), width)).astype(np.float32)
        write_word_vectors(folder / name, keys, matrix, binary=True)
    inputs = Inputs(
        train=folder / "train.txt",
        types=folder / "types.json",
        vectors=folder / "words.bin" if vectors else None,
        entity_vectors=folder / "entities.bin",
    )
    settings = PrepareSettings(validation_share=0.3, max_tokens=MAX_TOKENS)
    prepare(inputs, settings, folder / "store", lambda *_: None)
    return folder / "store"


def toy_config(
    mentions: Appearance = "words", aggregator: AggregatorConfig | None = None, use_entities: bool = False
) -> RunConfig:
    """Return the config of a one-epoch run with a very small model."""
    encoder = CnnConfig(num_filters=4, output_width=6, position_width=2)
    return RunConfig(
        seed=1,
        data=DataConfig(mentions=mentions, random_width=5),
        model=ModelConfig(encoder=encoder, aggregator=aggregator or AttentionConfig(), use_entities=use_entities),
        loss=LossConfig(sentence=0.0),
        train=TrainConfig(max_epochs=1, batch_bags=16),
    )


def make_run(config: RunConfig, store: Path, out: Path) -> Path:
    """Return the folder of the run, trained on the CPU."""
    train(config, store, out, device="cpu")
    return out
