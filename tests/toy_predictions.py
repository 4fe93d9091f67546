"""A run's folder as an evaluation writes it, with random scores: what pages read, without training."""

import json
from pathlib import Path

import numpy as np

from sayso.features.mentions import Appearance, model_input
from sayso.readers import jsonl, nre
from sayso.records import Source
from sayso.store.columns import Column, write_columns
from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.predictions import PredictionColumns, write_predictions
from sayso.store.prepare import prepare
from sayso.store.rows import ranges
from sayso.store.store import Store
from sayso.store.table import BagTable

MECHANISMS = ("attention", "gradient_x_input", "shapley")
THRESHOLD = 0.5
NUM_WITH_WORDS = 3

HOSTILE = {
    "script": 'the <script>alert(1)</script> of {h} & " {t} " \'s <b>port</b> .',
    "right_to_left": "\u202eقال المتحدث إن {h} هي عاصمة {t} اليوم .",
    "long": f"{'x' * 10_000} lies between {{h}} and {{t}} .",
}
"""Sentences that break pages which do not take care."""


def hostile_lines() -> list[str]:
    """Return a bag with hostile sentences and names."""
    head, tail = "<i>land</i>", "o'town\"&amp;"
    texts = [text.format(h=head, t=tail) for text in HOSTILE.values()]
    return ["\t".join(("h<1>", "t'2", head, tail, "capital", text, "###END###")) for text in texts]


def documented(lines: list[str]) -> list[str]:
    """Return NRE lines in our format, as from documents without spaces before punctuation."""
    sentences = [nre.parse(line) for line in lines]
    glued = [tuple(n for n, token in enumerate(each.tokens) if n and token in (".", ",", "'s")) for each in sentences]
    sources = [Source(f"news/{n}", 0, len(each.text), glued[n]) for n, each in enumerate(sentences)]
    pairs = zip(sentences, sources, strict=True)
    return [jsonl.write(sentence._replace(source=source)) for sentence, source in pairs]


def make_plain_store(folder: Path, train: list[str], test: list[str]) -> Store:
    """Return a store of sentences in NRE format; test sentences come from documents."""
    for name, lines in (("train.txt", train), ("test.txt", documented(test))):
        (folder / name).write_text("\n".join(lines) + "\n")
    settings = PrepareSettings(validation_share=0.3, leak="allow")
    prepare(Inputs(train=folder / "train.txt", test=folder / "test.txt"), settings, folder / "store", lambda *_: None)
    return Store(folder / "store")


def make_run_folder(
    folder: Path,
    store: Store,
    seed: int = 0,
    mentions: Appearance = "type",
    with_words: bool = True,
    part: str = "test",
) -> Path:
    """Return a run's folder with predictions on a part: every label, and one random relation for each bag."""
    rng, table = np.random.default_rng(seed), store.part(part)
    num_words = len(store.words)
    (folder / "model").mkdir(parents=True)
    (folder / "model" / "config.json").write_text(json.dumps({"mentions": mentions}))
    write_columns(folder / "model" / "words.arrow", {"word": store.words.to_pylist()})
    facts_F2 = _facts(table, len(store.relations), rng)
    facts, evidence = _columns(store, table, facts_F2, rng)
    words = _words(table, facts, evidence, mentions, num_words, rng) if with_words else _no_words()
    manifest = {
        "run": folder.name,
        "variant": "CNNs+ATT+F",
        "model_fingerprint": f"model{seed}",
        "data_fingerprint": store.fingerprint,
        "part": part,
        "threshold": THRESHOLD,
        "num_top": 1,
        "mechanisms": list(MECHANISMS),
        "ranked_by": "shapley",
    }
    shown = {name: [store.words[token].as_py() for token in words[name]] for name in ["word"] if with_words}
    columns = PredictionColumns(facts=facts, evidence=evidence, words={**words, **shown}, manifest=manifest)
    write_predictions(folder / "predictions", columns)
    return folder


def _facts(table: BagTable, num_relations: int, rng: np.random.Generator) -> np.ndarray:
    labels = np.stack([np.repeat(np.arange(table.num_bags), table.relations.length), table.relations.value], axis=1)
    drawn = np.stack([np.arange(table.num_bags), rng.integers(0, num_relations, table.num_bags)], axis=1)
    return np.unique(np.concatenate([labels, drawn]), axis=0)


def _columns(
    store: Store, table: BagTable, facts_F2: np.ndarray, rng: np.random.Generator
) -> tuple[dict[str, Column], dict[str, Column]]:
    bag_F, relation_F = facts_F2.T
    num, size_F = len(bag_F), table.size_B[bag_F]
    label_keys = np.repeat(np.arange(table.num_bags), table.relations.length) * 10_000 + table.relations.value
    is_label_F = np.isin(bag_F * 10_000 + relation_F, label_keys)
    probability_F = np.where(is_label_F, rng.random(num), rng.uniform(THRESHOLD, 1.0, num))
    fact_E = np.repeat(np.arange(num), size_F)
    scores = {name: rng.normal(size=len(fact_E)).astype(np.float32) for name in MECHANISMS}
    order = np.lexsort((-scores["shapley"], fact_E))
    rank_E = np.empty(len(order), np.int32)
    rank_E[order] = np.arange(len(order)) - np.repeat(np.cumsum(size_F) - size_F, size_F) + 1
    is_predicted_F = probability_F >= THRESHOLD
    without_F = probability_F * rng.random(num)
    enough_F = np.where(without_F < THRESHOLD, "one_sentence", "several_sentences")
    names = {name: store.entities[name].to_pylist() for name in ("id", "name")}
    sides = {"head": table.head_B[bag_F].tolist(), "tail": table.tail_B[bag_F].tolist()}
    facts: dict[str, Column] = {
        "bag": bag_F.astype(np.int64),
        **{f"{side}_{key}": [names[key][one] for one in numbers] for side, numbers in sides.items() for key in names},
        **{f"{side}_type": [f"/{side}"] * num for side in sides},
        "relation": [store.relations[number].name for number in relation_F.tolist()],
        "probability": probability_F,
        "is_label": is_label_F.astype(np.uint8),
        "num_sentences": size_F.astype(np.int32),
        "first_evidence": (np.cumsum(size_F) - size_F).astype(np.int64),
        "support": np.where(is_predicted_F, enough_F, "not_predicted").tolist(),
        "smallest_size": is_predicted_F.astype(np.int32),
        "probability_with_smallest": probability_F,
        "probability_without_smallest": without_F,
        "probability_of_none": np.full(num, 0.01),
        "disagreement": rng.choice([0.0, 1 / 3, 2 / 3], num).astype(np.float32),
    }
    for name in MECHANISMS:
        facts[f"probability_with_top.{name}"] = probability_F.astype(np.float32)
        facts[f"probability_without_top.{name}"] = without_F.astype(np.float32)
        facts[f"distractor_rank.{name}"] = np.where(np.arange(num) % 5, 2.0, np.nan).astype(np.float32)
    evidence: dict[str, Column] = {
        "fact": fact_E.astype(np.int64),
        "sentence": ranges(table.first_B1[:-1][bag_F], size_F).astype(np.int64),
        "rank": rank_E,
        "is_in_smallest": ((rank_E == 1) & np.repeat(is_predicted_F, size_F)).astype(np.uint8),
        "mark": rng.integers(-1, 2, len(fact_E)).astype(np.int8),
        **{f"score.{name}": score_E for name, score_E in scores.items()},
    }
    return facts, evidence


def _words(
    table: BagTable,
    facts: dict[str, Column],
    evidence: dict[str, Column],
    mentions: Appearance,
    num_words: int,
    rng: np.random.Generator,
) -> dict[str, Column]:
    """Return a random score for every token of the first sentences; types are stored as the unknown word."""
    tokens = model_input(
        table, mentions, num_words, np.zeros(int(table.head_B.max() + table.tail_B.max()) + 1, int)
    ).tokens
    kept = np.flatnonzero(np.asarray(evidence["rank"]) <= NUM_WITH_WORDS)
    sentence_W = np.asarray(evidence["sentence"])[kept]
    rows = tokens.take(sentence_W)
    return {
        "fact": np.repeat(np.asarray(evidence["fact"])[kept], rows.length),
        "sentence": np.repeat(sentence_W, rows.length),
        "place": (np.arange(len(rows.value)) - np.repeat(rows.start[:-1], rows.length)).astype(np.int32),
        "word": np.where(rows.value < num_words, rows.value, 0),
        "score": rng.normal(size=len(rows.value)).astype(np.float32),
    }


def _no_words() -> dict[str, Column]:
    numbers = {name: np.zeros(0, np.int64) for name in ("fact", "sentence", "place")}
    return {**numbers, "word": [], "score": np.zeros(0, np.float32)}
