"""Bags as columns: what is in memory while preparing, and memory-mapped afterwards.

Shapes: B bags, N sentences of all bags together, bag after bag.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from sayso.store.rows import Rows, ranges, starts


@dataclass(frozen=True, kw_only=True)
class BagTable:
    """B bags and their N sentences; bag b has sentences `first_B1[b]` up to `first_B1[b + 1]`.

    Entities, relations and tokens are numbers of the store's vocabulary. `head_spans` and `tail_spans` hold start and
    stop of every occurrence one after the other. `window_N2` is the part of the sentence that a model reads.
    `expresses_N` is NaN where nobody has said. `document_N` is -1 where the corpus names none; `place_N2` are the
    characters of the document that the sentence covers, `glued` and `curly` how it writes them (`records.Source`).
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
        taken: dict[str, object] = {"first_B1": starts(size_B)}
        for field in fields(self):
            column, index = getattr(self, field.name), bags if field.name in _BAG_COLUMNS else sentences
            if field.name not in taken:
                taken[field.name] = column.take(index) if isinstance(column, Rows) else column[index]
        return replace(self, **taken)  # type: ignore[arg-type]


_BAG_COLUMNS = frozenset({"head_B", "tail_B", "relations"})
