"""Bags as columns: what is in memory while preparing, and memory-mapped afterwards.

Shapes: B bags, N sentences of all bags together, bag after bag.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sayso.store.rows import Rows, ranges, starts, take

NO_DOCUMENT = -1
"""The document of a sentence whose corpus names none."""


@dataclass(frozen=True, kw_only=True)
class BagTable:
    """B bags and their N sentences; bag b has sentences `first_B1[b]` up to `first_B1[b + 1]`.

    Entities, relations and tokens are numbers of the store's vocabulary. `head_spans` and `tail_spans` hold start and
    stop of every occurrence one after the other. `window_N2` is the part of the sentence that a model reads.
    `expresses_N` is NaN where nobody has said. `document_N` is NO_DOCUMENT where the corpus names none; `place_N2` are
    the characters of the document that the sentence covers, `glued` and `curly` how it writes them (`records.Source`).
    """

    head_B: np.ndarray
    tail_B: np.ndarray
    relations: Rows
    first_B1: np.ndarray
    tokens: Rows
    head_spans: Rows
    tail_spans: Rows
    window_N2: np.ndarray
    expresses_N: np.ndarray
    document_N: np.ndarray
    place_N2: np.ndarray
    glued: Rows
    curly: Rows

    @property
    def num_bags(self) -> int:
        """B."""
        return len(self.head_B)

    @property
    def num_sentences(self) -> int:
        """N."""
        return len(self.tokens)

    @property
    def size_B(self) -> np.ndarray:
        """Sentences per bag."""
        return np.diff(self.first_B1)

    @property
    def bag_N(self) -> np.ndarray:
        """The bag of each sentence."""
        return np.repeat(np.arange(self.num_bags), self.size_B)

    @property
    def is_positive_B(self) -> np.ndarray:
        """Whether the knowledge base holds any relation for the pair."""
        return self.relations.length > 0

    def take_bags(self, index: np.ndarray) -> "BagTable":
        """Return these bags, in this order, with all their sentences."""
        sentences = ranges(self.first_B1[:-1][index], self.size_B[index])
        return self._take(index, sentences, self.size_B[index])

    def keep_sentences(self, is_kept_N: np.ndarray) -> "BagTable":
        """Return the table without the other sentences, and without the bags that have none left."""
        size_B = np.bincount(self.bag_N[is_kept_N], minlength=self.num_bags)
        bags = np.flatnonzero(size_B)
        return self._take(bags, np.flatnonzero(is_kept_N), size_B[bags])

    def _take(self, bags: np.ndarray, sentences: np.ndarray, size_B: np.ndarray) -> "BagTable":
        columns = {name: take(getattr(self, name), bags) for name in BAG_COLUMNS}
        columns |= {name: take(getattr(self, name), sentences) for name in SENTENCE_COLUMNS}
        return BagTable(**columns, first_B1=starts(size_B))  # type: ignore[arg-type]


BAG_COLUMNS = ("head_B", "tail_B", "relations")
SENTENCE_COLUMNS = tuple(field.name for field in fields(BagTable) if field.name not in (*BAG_COLUMNS, "first_B1"))


def no_source(num: int) -> dict[str, Any]:
    """Return the columns of `num` sentences that have neither a document nor a person's word on them."""
    return {
        "expresses_N": np.full(num, np.nan, np.float32),
        "document_N": np.full(num, NO_DOCUMENT, np.int32),
        "place_N2": np.zeros((num, 2), np.int64),
        "glued": Rows.empty(num),
        "curly": Rows.empty(num),
    }
