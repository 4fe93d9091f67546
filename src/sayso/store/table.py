"""Bags as columns, in memory or memory-mapped, with vectorised replacement of mentions.

Shapes: B bags, N sentences of all bags in order, T their tokens, P occurrences of mentions, L labels of all bags,
R relations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from sayso.store.rows import Rows, ranges, starts, take

NO_DOCUMENT = -1
"""The document id of a sentence without a document."""

NO_LABEL = -1
"""The label of a sentence that is not directly supervised with a relation."""


@dataclass(frozen=True, kw_only=True)
class BagTable:
    """B bags and their N sentences; bag b has sentences `first_B1[b]` up to `first_B1[b + 1]`.

    Entities, relations and tokens are ids in the store's vocabulary. `head_spans` and `tail_spans` contain start and
    stop of every occurrence in turn. `window_N2` is the part of the sentence that a model reads. `expresses_N` is NaN
    if unknown. `label_N` is a directly supervised sentence's own relation, an index into the store's direct labels, or
    NO_LABEL. `document_N` is NO_DOCUMENT if unknown; `place_N2` is the character range of the sentence in its
    document, and `glued` and `curly` are as in `records.Source`.
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
    label_N: np.ndarray
    document_N: np.ndarray
    place_N2: np.ndarray
    glued: Rows
    curly: Rows

    @classmethod
    def of_sentences(cls, **columns: np.ndarray | Rows) -> "BagTable":
        """Return a bag for every sentence, without labels and documents."""
        num = len(columns["head_B"])
        return cls(**columns, relations=Rows.empty(num), first_B1=np.arange(num + 1), **no_source(num))  # type: ignore[arg-type]

    @property
    def num_bags(self) -> int:
        """The number of bags, B."""
        return len(self.head_B)

    @property
    def num_sentences(self) -> int:
        """The number of sentences, N."""
        return len(self.tokens)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The head and tail of each bag."""
        return list(zip(self.head_B.tolist(), self.tail_B.tolist(), strict=True))

    @property
    def size_B(self) -> np.ndarray:
        """The number of sentences per bag."""
        return np.diff(self.first_B1)

    @property
    def bag_N(self) -> np.ndarray:
        """The index of each sentence's bag."""
        return np.repeat(np.arange(self.num_bags), self.size_B)

    @property
    def bag_L(self) -> np.ndarray:
        """The index of each label's bag; the labels are `relations.value`."""
        return np.repeat(np.arange(self.num_bags), self.relations.length)

    def label_BR(self, num_relations: int) -> np.ndarray:
        """Return whether each bag is labelled with each relation."""
        label_BR = np.zeros((self.num_bags, num_relations), np.bool_)
        label_BR[self.bag_L, self.relations.value] = True
        return label_BR

    @property
    def is_positive_B(self) -> np.ndarray:
        """Whether the knowledge base has any relation for the pair."""
        return self.relations.length > 0

    def take_bags(self, index: np.ndarray) -> "BagTable":
        """Return these bags, in this order, with all their sentences."""
        sentences = ranges(self.first_B1[:-1][index], self.size_B[index])
        return self._take(index, sentences, self.size_B[index])

    def keep_sentences(self, is_kept_N: np.ndarray) -> "BagTable":
        """Return a table of only these sentences, without bags that become empty."""
        size_B = np.bincount(self.bag_N[is_kept_N], minlength=self.num_bags)
        bags = np.flatnonzero(size_B)
        return self._take(bags, np.flatnonzero(is_kept_N), size_B[bags])

    @classmethod
    def concatenate(cls, parts: Sequence["BagTable"]) -> "BagTable":
        """Return the bags of all parts."""
        columns: dict[str, Any] = {}
        for name in (*BAG_COLUMNS, *SENTENCE_COLUMNS):
            of_parts = [getattr(part, name) for part in parts]
            columns[name] = (Rows if isinstance(of_parts[0], Rows) else np).concatenate(of_parts)
        return cls(**columns, first_B1=starts(np.concatenate([part.size_B for part in parts])))

    def read_part(self, sentences: np.ndarray) -> "SentenceRows":
        """Return the part of these sentences that a model reads, that is, their windows."""
        columns = (self.tokens, self.head_spans, self.tail_spans)
        return cut_to_window(SentenceRows(*(column.take(sentences) for column in columns)), self.window_N2[sentences])

    def _take(self, bags: np.ndarray, sentences: np.ndarray, size_B: np.ndarray) -> "BagTable":
        columns = {name: take(getattr(self, name), bags) for name in BAG_COLUMNS}
        columns |= {name: take(getattr(self, name), sentences) for name in SENTENCE_COLUMNS}
        return BagTable(**columns, first_B1=starts(size_B))  # type: ignore[arg-type]


BAG_COLUMNS = ("head_B", "tail_B", "relations")
SENTENCE_COLUMNS = tuple(field.name for field in fields(BagTable) if field.name not in (*BAG_COLUMNS, "first_B1"))


def no_source(num: int) -> dict[str, Any]:
    """Return the columns for `num` sentences without a document and without a sentence label."""
    return {
        "expresses_N": np.full(num, np.nan, np.float32),
        "label_N": np.full(num, NO_LABEL, np.int32),
        "document_N": np.full(num, NO_DOCUMENT, np.int32),
        "place_N2": np.zeros((num, 2), np.int64),
        "glued": Rows.empty(num),
        "curly": Rows.empty(num),
    }


class SentenceRows(NamedTuple):
    """Tokens of sentences, with the head and tail spans of each sentence (start, stop, start, stop, …)."""

    tokens: Rows
    head_spans: Rows
    tail_spans: Rows


def replace_mentions(sentences: SentenceRows, head: Rows, tail: Rows) -> SentenceRows:
    """Replace every occurrence of a mention with the sentence's row in `head` or `tail`.

    No row may be empty.
    """
    tokens = sentences.tokens
    span_P2, sentence_P, is_head_P = all_spans(sentences)
    first_P = tokens.start[sentence_P] + span_P2[:, 0]
    width_P = span_P2[:, 1] - span_P2[:, 0]
    replacement = Rows.concatenate([head, tail]).take(np.where(is_head_P, sentence_P, sentence_P + len(head)))
    # The first token of a mention becomes the whole replacement, its other tokens nothing; the rest stay as they are.
    given_T = np.ones(len(tokens.value), np.int64)
    given_T[ranges(first_P, width_P)] = 0
    given_T[first_P] = replacement.length
    place_T = starts(given_T)
    value = np.repeat(tokens.value, given_T)
    new_first_P = place_T[first_P]
    value[ranges(new_first_P, replacement.length)] = replacement.value
    new_tokens = Rows(value, place_T[tokens.start])
    new_stop_P = new_first_P + replacement.length
    new_span_P2 = np.stack([new_first_P, new_stop_P], axis=1) - new_tokens.start[sentence_P][:, None]
    return SentenceRows(
        new_tokens,
        Rows(new_span_P2[is_head_P].ravel().astype(np.int32), sentences.head_spans.start),
        Rows(new_span_P2[~is_head_P].ravel().astype(np.int32), sentences.tail_spans.start),
    )


def cut_to_window(sentences: SentenceRows, window_N2: np.ndarray) -> SentenceRows:
    """Cut each sentence to its window; mentions outside are dropped, and those across an edge are shortened."""
    length_N = window_N2[:, 1] - window_N2[:, 0]
    kept = ranges(sentences.tokens.start[:-1] + window_N2[:, 0], length_N)
    return SentenceRows(
        Rows.of_lengths(sentences.tokens.value[kept], length_N),
        _cut_spans(sentences.head_spans, window_N2, length_N),
        _cut_spans(sentences.tail_spans, window_N2, length_N),
    )


def first_mentions(sentences: SentenceRows, spans: Rows) -> Rows:
    """Return the tokens of the first occurrence in each sentence."""
    first_N, stop_N = spans.value[spans.start[:-1]], spans.value[spans.start[:-1] + 1]
    length_N = (stop_N - first_N).astype(np.int64)
    return Rows.of_lengths(sentences.tokens.value[ranges(sentences.tokens.start[:-1] + first_N, length_N)], length_N)


def _cut_spans(spans: Rows, window_N2: np.ndarray, length_N: np.ndarray) -> Rows:
    span_P2, sentence_P = spans.value.reshape(-1, 2), np.repeat(np.arange(len(spans)), spans.length // 2)
    moved = span_P2 - window_N2[sentence_P, :1]
    moved = np.clip(moved, 0, length_N[sentence_P][:, None])
    is_left_P = moved[:, 1] > moved[:, 0]
    num_N = np.bincount(sentence_P[is_left_P], minlength=len(spans))
    return Rows.of_lengths(moved[is_left_P].ravel().astype(np.int32), 2 * num_N)


def all_spans(sentences: SentenceRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return span, sentence and is_head of every occurrence, heads first."""
    parts = (sentences.head_spans, sentences.tail_spans)
    span_P2 = np.concatenate([spans.value.reshape(-1, 2) for spans in parts]).astype(np.int64)
    sentence_P = np.concatenate([np.repeat(np.arange(len(spans)), spans.length // 2) for spans in parts])
    num_heads = len(parts[0].value) // 2
    return span_P2, sentence_P, np.arange(len(span_P2)) < num_heads
