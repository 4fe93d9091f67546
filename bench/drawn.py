"""Random bags, models and files as large as FB-NYT's, for benchmarks that measure time, not quality.

39 tokens per sentence, words by Zipf's law, mostly one sentence per bag and sometimes many (mean 1.87), 53 relations.
The text is meaningless: only sizes and word frequencies affect the time.
"""

import json
from pathlib import Path

import numpy as np
import torch

from sayso.features.batch import Part
from sayso.features.lexicon import Lexicon
from sayso.features.mentions import model_input
from sayso.model.aggregators.attention import AttentionConfig
from sayso.model.aggregators.direct import DirectConfig
from sayso.model.checkpoint import ModelParts, save_model
from sayso.model.encoders.base import ModelTables
from sayso.model.extractor import Extractor, ModelConfig
from sayso.records import Relation
from sayso.store.columns import Column
from sayso.store.direct import CorpusForm
from sayso.store.rows import Rows, starts
from sayso.store.store import FORMAT, write_store
from sayso.store.table import BagTable, no_source
from sayso.store.vocabulary import OTHER_TYPE

NUM_WORDS, WORD_WIDTH, NUM_RELATIONS = 50_000, 300, 53
NUM_ENTITIES, ENTITY_WIDTH = 20_000, 100
MAX_TOKENS = 128
"""No random sentence is longer, so padding to this length truncates nothing."""
_BAG_TAIL = 0.553
"""Bag sizes u^-0.553, rounded down, have mean 1.87."""


def draw_sizes(num_sentences: int, rng: np.random.Generator) -> np.ndarray:
    """Return random bag sizes that sum to this many sentences."""
    size_B = np.minimum(rng.random(num_sentences) ** -_BAG_TAIL, 1000).astype(np.int64)
    size_B = size_B[: int(np.searchsorted(size_B.cumsum(), num_sentences)) + 1]
    size_B[-1] -= size_B.sum() - num_sentences
    return size_B


def draw_table(
    num_sentences: int,
    seed: int = 1,
    size_B: np.ndarray | None = None,
    num_relations: int = NUM_RELATIONS,
    length: int = 0,
) -> BagTable:
    """Return bags of random sentences, of random lengths or all of one; one bag in fourteen has a relation."""
    rng = np.random.default_rng(seed)
    size_B = draw_sizes(num_sentences, rng) if size_B is None else size_B
    num_bags = len(size_B)
    length_N = np.clip(rng.gamma(3.8, 39.1 / 3.8, num_sentences).round(), 4, MAX_TOKENS).astype(np.int64)
    if length:
        length_N[:] = length
    start_N1 = starts(length_N)
    # Word 0 is the unknown word and is not drawn.
    total = np.cumsum(1.0 / np.arange(1, NUM_WORDS))
    token_T = 1 + np.searchsorted(total, rng.random(start_N1[-1]) * total[-1]).astype(np.int32)
    head_N = (rng.random(num_sentences) * (length_N - 1)).astype(np.int32)
    tail_N = head_N + 1 + (rng.random(num_sentences) * (length_N - 1 - head_N)).astype(np.int32)
    num_labels_B = (rng.random(num_bags) < 1 / 14).astype(np.int64)
    return BagTable(
        head_B=rng.integers(0, NUM_ENTITIES, num_bags, np.int32),
        tail_B=rng.integers(0, NUM_ENTITIES, num_bags, np.int32),
        relations=Rows.of_lengths(rng.integers(0, num_relations, num_labels_B.sum(), np.int32), num_labels_B),
        first_B1=starts(size_B),
        tokens=Rows(token_T, start_N1),
        head_spans=_one_token(head_N),
        tail_spans=_one_token(tail_N),
        window_N2=np.stack([np.zeros_like(length_N), length_N], 1).astype(np.int32),
        **no_source(num_sentences),
    )


def _one_token(first_N: np.ndarray) -> Rows:
    return Rows(np.stack([first_N, first_N + 1], 1).ravel(), np.arange(len(first_N) + 1) * 2)


def make_part(table: BagTable, num_relations: int = NUM_RELATIONS) -> Part:
    """Return the bags as model input."""
    inputs = model_input(table, "words", NUM_WORDS, np.zeros(NUM_ENTITIES, np.int32))
    return Part(table=table, inputs=inputs, num_relations=num_relations)


def make_extractor(kind: str, use_entities: bool = False, num_relations: int = NUM_RELATIONS) -> Extractor:
    """Return a model as large as the paper's (300-d words, filters of widths 2 to 5) with random weights."""
    generator = torch.Generator().manual_seed(1)
    tables = ModelTables(
        word_VW=0.3 * torch.randn(NUM_WORDS, WORD_WIDTH, generator=generator),
        num_types=0,
        num_relations=num_relations,
        entity_EV=torch.randn(NUM_ENTITIES + 1, ENTITY_WIDTH, generator=generator),
    )
    aggregator = AttentionConfig() if kind == "attention" else DirectConfig()
    return Extractor(ModelConfig(aggregator=aggregator, use_entities=use_entities), tables, seed=1).eval()


def save_drawn_model(folder: Path, extractor: Extractor) -> None:
    """Write the model folder, for a lower-case corpus with joined names like FB-NYT."""
    lexicon = Lexicon(
        words=["<unknown>", *words()],
        entity_ids=[f"e{number}" for number in range(NUM_ENTITIES)],
        entity_names=[""] * NUM_ENTITIES,
        type_E=np.zeros(NUM_ENTITIES, np.int32),
        types=[OTHER_TYPE],
        form=CorpusForm(is_lower=True, is_joined=True),
        mentions="words",
        max_tokens=MAX_TOKENS,
    )
    relations = [Relation(f"relation-{number}") for number in range(extractor.scorer.bias_R.shape[0])]
    parts = ModelParts(extractor=extractor, lexicon=lexicon, relations=relations, variant="drawn", training={})
    save_model(folder, parts)


def make_store(folder: Path, table: BagTable) -> None:
    """Write a store with the bags as its training part and placeholder word vectors."""
    no_texts = [""] * NUM_RELATIONS
    files: dict[str, dict[str, Column]] = {
        "words": {"word": ["<unknown>", *words()], "count": np.bincount(table.tokens.value, minlength=NUM_WORDS)},
        "vectors": {"vector": np.zeros((NUM_WORDS, 1), np.float32)},
        "entities": {
            "id": [f"e{number}" for number in range(NUM_ENTITIES)],
            "name": [""] * NUM_ENTITIES,
            "type": np.zeros(NUM_ENTITIES, np.int32),
            "vector": np.zeros((NUM_ENTITIES, 0), np.float32),
        },
        "types": {"name": [OTHER_TYPE]},
        "documents": {"id": []},
        "marks": {"sentence": np.zeros(0, np.int64)},
        "relations": {
            "name": [f"relation-{number}" for number in range(NUM_RELATIONS)],
            "definition": no_texts,
            "example": no_texts,
            "functional": np.zeros(NUM_RELATIONS, np.uint8),
        },
    }
    write_store(folder, files, {"train": table}, {"format": FORMAT, "fingerprint": "drawn", "parts": {"train": {}}})


def words() -> list[str]:
    """Return the words from id 1 on; frequent words are short, as in natural language."""
    return [_spelled(number) for number in range(1, NUM_WORDS)]


def _spelled(number: int) -> str:
    letters = ""
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(97 + letter) + letters
    return letters


def write_lines(path: Path, table: BagTable, seed: int = 1) -> None:
    """Write the sentences as sayso's JSON lines, with a bag's sentences spread out as in a real corpus."""
    word = ["<unknown>", *words()]
    order = np.random.default_rng(seed).permutation(table.num_sentences)
    bag_N, start = table.bag_N, table.tokens.start
    with path.open("w", encoding="utf-8") as file:
        for row, bag in zip(order.tolist(), bag_N[order].tolist(), strict=True):
            tokens = [word[number] for number in table.tokens.value[start[row] : start[row + 1]].tolist()]
            record: dict[str, object] = {"tokens": tokens}
            for role, entity, spans in (
                ("head", table.head_B[bag], table.head_spans),
                ("tail", table.tail_B[bag], table.tail_spans),
            ):
                first, stop = spans.row(row).tolist()
                record[role] = {"id": f"e{entity}", "name": tokens[first], "spans": [[first, stop]]}
            record["relations"] = [f"relation-{number}" for number in table.relations.row(bag).tolist()]
            file.write(json.dumps(record) + "\n")
