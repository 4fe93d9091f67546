"""Ids of words, entities, relations and documents; word order, word vectors and entity types."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.embeddings.pretrained import VectorKind, measure_coverage, read_entity_vectors, vectors_for
from sayso.store.rows import Rows
from sayso.store.table import BagTable

UNKNOWN_WORD = "<unknown>"
OTHER_TYPE = "/other"
_MOST = 2**31
"""Ids are stored as signed 32-bit integers."""


class Numbering(dict[str, int]):
    """A dict that assigns the next id to every new key.

    >>> numbers = Numbering(["a"])
    >>> [numbers["b"], numbers["a"], numbers["b"]]
    [1, 0, 1]
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        super().__init__((key, number) for number, key in enumerate(keys))

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class ClosedNumbering(Numbering):
    """A numbering that does not grow: an unknown key gets an id beyond the others, derived from its checksum.

    Different sentences thus stay different, although a model reads all unknown words as the same word.

    >>> numbers = ClosedNumbering(["<unknown>", "a"])
    >>> numbers["a"], numbers["b"] == numbers["b"] > len(numbers), numbers["b"] == numbers["c"]
    (1, True, False)
    """

    def __missing__(self, key: str) -> int:
        return len(self) + zlib.crc32(key.encode("utf-8", "surrogatepass")) % (_MOST - len(self))


class Vocabulary:
    """The ids shared by all parts of a store; word 0 is the unknown word."""

    def __init__(self, relations: Iterable[str] = ()) -> None:
        self.words = Numbering([UNKNOWN_WORD])
        self.entities = Numbering()
        self.relations = Numbering(relations)
        self.documents = Numbering()
        self.entity_name: dict[int, str] = {}


class TypedEntities(NamedTuple):
    """The type of every entity as an index into `names`; type 0 is `/other`, for entities without a type."""

    names: list[str]
    type_E: np.ndarray

    @property
    def num_other(self) -> int:
        """The number of entities without a type."""
        return int((self.type_E == 0).sum())


def finest_types(
    entity_ids: Sequence[str], types: Mapping[str, Sequence[str]], mentions_E: np.ndarray
) -> TypedEntities:
    """Return each entity's most specific type; ties are broken by frequency in training, then by name.

    `mentions_E` is the number of training sentences per entity, from which type frequencies are computed.
    """
    frequency: Counter[str] = Counter()
    for entity_id, count in zip(entity_ids, mentions_E.tolist(), strict=True):
        frequency.update(dict.fromkeys(types.get(entity_id, ()), count))

    def coarseness(name: str) -> tuple[int, int, str]:
        return -name.strip("/").count("/"), -frequency[name], name

    numbers = Numbering([OTHER_TYPE])
    type_E = [numbers[min(types[entity_id], key=coarseness)] if types.get(entity_id) else 0 for entity_id in entity_ids]
    return TypedEntities(list(numbers), np.array(type_E, np.int32))


def count_mentions(table: BagTable, num_entities: int) -> np.ndarray:
    """Return how many sentences in the table have each entity as head or tail."""
    entity, size = np.concatenate([table.head_B, table.tail_B]), np.tile(table.size_B, 2)
    return np.bincount(entity, weights=size, minlength=num_entities).astype(np.int64)


class WordOrder(NamedTuple):
    """Word 0 is the unknown word, followed by words with a vector, most frequent first, and then all others.

    `vector_VD` has a row for word 0 (zeros) and for each word with a vector, `name_vector_ED` a row for each entity's
    name (zeros if its words have no vectors). `number` maps old word ids to new ones.
    """

    words: list[str]
    frequency: np.ndarray
    vector_VD: np.ndarray
    name_vector_ED: np.ndarray
    report: dict[str, Any]
    number: np.ndarray

    def renumber(self, table: BagTable) -> BagTable:
        """Return the table with word ids in the new order."""
        return replace(table, tokens=Rows(self.number[table.tokens.value], table.tokens.start))


def order_words(words: Sequence[str], names: Sequence[str], train: BagTable, vectors: Path | None) -> WordOrder:
    """Order the words and read their vectors; without a vector file, all vectors have width 0."""
    count = np.bincount(train.tokens.value, minlength=len(words)).astype(np.int64)
    # A name of several words gets the same vector as the name joined by `_`.
    wanted = [*words, *(name.replace(" ", "_") for name in names)]
    if vectors is None:
        matrix, kind = np.zeros((len(wanted), 0), np.float32), np.zeros(len(wanted), np.uint8)
    else:
        matrix, kind = vectors_for(wanted, vectors)
    word_kind = kind[1 : len(words)]
    has_vector = word_kind != VectorKind.NONE
    order = np.concatenate([[0], 1 + np.lexsort((-count[1:], ~has_vector))])
    number = np.empty(len(words), np.int32)
    number[order] = np.arange(len(words), dtype=np.int32)
    vector_VD = matrix[order[: 1 + int(has_vector.sum())]]
    vector_VD[0] = 0.0
    return WordOrder(
        words=[words[i] for i in order.tolist()],
        frequency=count[order],
        vector_VD=vector_VD,
        name_vector_ED=matrix[len(words) :],
        report={"num": len(words) - 1, "vector_width": matrix.shape[1], **measure_coverage(word_kind, count[1:])},
        number=number,
    )


def entity_vectors(ids: Sequence[str], names: np.ndarray, path: Path | None) -> tuple[np.ndarray, dict[str, Any]]:
    """Return [name vector ‖ vector from the file] per entity, zeros if missing, and the counts."""
    found_ids, found = read_entity_vectors(path, set(ids)) if path else ([], np.zeros((0, 0), np.float32))
    number = {entity_id: row for row, entity_id in enumerate(ids)}
    graph = np.zeros((len(ids), found.shape[1]), np.float32)
    graph[[number[entity_id] for entity_id in found_ids]] = found
    return np.concatenate([names, graph], axis=1), {
        "name_width": names.shape[1],
        "num_named": int(names.any(axis=1).sum()),
        "graph_width": found.shape[1],
        "num_in_graph": len(found_ids),
    }
