"""Group sentences into bags by entity pair, without duplicates and with merged labels.

Shapes: B bags, N sentences as read.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from sayso.records import Sentence, Source, sentence_key
from sayso.store.collect import Collected, Collector, column, rows
from sayso.store.inputs import DEFAULT_MAX_TOKENS
from sayso.store.rows import Rows, starts, take
from sayso.store.table import NO_DOCUMENT, SENTENCE_COLUMNS, BagTable
from sayso.store.vocabulary import Numbering, Vocabulary

_NO_SOURCE = Source("", 0, 0)


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Bags, with a key per sentence (equal for the same sentence in other pairs) and counts of what was left out.

    `num_facts_unread` counts facts without a readable sentence; they stay in the denominator of recall.
    """

    table: BagTable
    key_N: np.ndarray
    num_sentences_read: int
    num_repeated: int
    num_too_far_apart: int
    num_facts_unread: int


class Lines(NamedTuple):
    """Sentences as read; `left_out` are (head, tail, relation) of the sentences that do not fit into a window."""

    collected: Collected
    left_out: frozenset[tuple[int, int, int]]
    num_read: int
    num_too_far_apart: int


class BagBuilder:
    """Collects sentences and their labels as columns; `finish` groups them into bags."""

    def __init__(self, vocabulary: Vocabulary, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self.vocabulary = vocabulary
        self.num_read = 0
        self.num_too_far_apart = 0
        self._collector = Collector(vocabulary.words, vocabulary.entities, vocabulary.entity_name, max_tokens)
        self._relation, self._num_relations = array("i"), array("i")
        self._expresses, self._label = array("f"), array("i")
        # Start and end of each sentence in its document, and how many of its tokens are glued and curly.
        self._document, self._place = array("i"), array("q")
        self._glued, self._curly = array("i"), array("i")
        self._left_out: set[tuple[int, int, int]] = set()

    def add(self, sentence: Sentence, label: int | None = None) -> None:
        """Add a sentence; if no window of `max_tokens` contains both mentions, it is counted and left out.

        `label` is its own relation, given for all sentences of a builder or for none.
        """
        self.num_read += 1
        tokens, head, tail, relations, source, expresses = sentence
        if not self._collector.add(tokens, head, tail):
            self._leave_out(sentence)
            return
        self._relation.extend(map(self.vocabulary.relations.__getitem__, relations))
        self._num_relations.append(len(relations))
        self._expresses.append(float("nan") if expresses is None else expresses)
        if label is not None:
            self._label.append(label)
        document_id, start, stop, glued, curly = source or _NO_SOURCE
        self._document.append(NO_DOCUMENT if source is None else self.vocabulary.documents[document_id])
        self._place.extend((start, stop, len(glued), len(curly)))
        self._glued.extend(glued)
        self._curly.extend(curly)

    def _leave_out(self, sentence: Sentence) -> None:
        self.num_too_far_apart += 1
        head, tail = map(self.vocabulary.entities.__getitem__, sentence.pair)
        self._left_out.update((head, tail, self.vocabulary.relations[relation]) for relation in sentence.relations)

    def lines(self) -> Lines:
        """Return the collected sentences as views; the builder cannot be used again."""
        place_N4 = column(self._place).reshape(-1, 4)
        columns = self._collector.columns()
        collected = columns._replace(
            relations=rows(self._relation, self._num_relations),
            expresses_N=column(self._expresses),
            label_N=column(self._label) if self._label else columns.label_N,
            document_N=column(self._document),
            place_N2=place_N4[:, :2],
            glued=Rows.of_lengths(column(self._glued), place_N4[:, 2]),
            curly=Rows.of_lengths(column(self._curly), place_N4[:, 3]),
        )
        return Lines(collected, frozenset(self._left_out), self.num_read, self.num_too_far_apart)

    def finish(self) -> Grouped:
        """Return the bags; the builder cannot be used again."""
        return group_lines(self.lines(), self.vocabulary.words)


def group_lines(lines: Lines, words: Iterable[str]) -> Grouped:
    """Group sentences into bags, in order of each pair's first appearance; `words` are the tokens by id."""
    pairing = pair_up(lines.collected)
    table = bag_table(lines.collected, pairing)
    return Grouped(
        table=table,
        key_N=_key_hashes(table.tokens, words),
        num_sentences_read=lines.num_read,
        num_repeated=len(pairing.bag_N) - len(pairing.order),
        num_too_far_apart=lines.num_too_far_apart,
        num_facts_unread=_num_unread(lines.left_out, table),
    )


def _key_hashes(tokens: Rows, words: Iterable[str]) -> np.ndarray:
    """Return a 64-bit hash of each sentence's `sentence_key`: the same whether or not names are joined by `_`."""
    numbers = Numbering(words)
    parts = [
        [numbers[part] for part in sentence_key(word).split(" ")] if "_" in word or " " in word else (number,)
        for word, number in list(numbers.items())
    ]
    of_word = Rows.of_lengths(np.fromiter(chain.from_iterable(parts), np.int64), np.array([*map(len, parts)], np.int64))
    found = []
    for some in tokens.slices():
        split = of_word.take(some.value)
        found.append(Rows(split.value, split.start[some.start]).hashes())
    return np.concatenate(found)


def _num_unread(left_out: frozenset[tuple[int, int, int]], table: BagTable) -> int:
    """Return how many facts of left-out sentences are not in the table."""
    num_B = table.relations.length
    facts = (np.repeat(table.head_B, num_B), np.repeat(table.tail_B, num_B), table.relations.value)
    read = zip(*(number.tolist() for number in facts), strict=True) if left_out else ()
    return len(left_out.difference(read))


class Pairing(NamedTuple):
    """The bag of each sentence, the first sentence of each bag, and the kept sentences in bag order."""

    bag_N: np.ndarray
    first_B: np.ndarray
    order: np.ndarray


def pair_up(collected: Collected, bag_N: np.ndarray | None = None) -> Pairing:
    """Assign sentences to one bag per pair, in order of first appearance, and drop duplicates within a bag.

    If the bag of each sentence is given (in ascending order), the bags stay as they are: equal pairs are not merged and
    duplicates are kept.
    """
    if bag_N is None:
        bag_N, first_B = _numbered(combined(collected.head_N, collected.tail_N))
        kept = _distinct_in_bag(bag_N, collected.tokens.hashes())
    else:
        first_B, kept = np.flatnonzero(np.diff(bag_N, prepend=-1)), np.arange(len(bag_N))
    return Pairing(bag_N, first_B, kept[np.argsort(bag_N[kept], kind="stable")])


def bag_table(collected: Collected, pairing: Pairing) -> BagTable:
    """Return the bags as a table."""
    order, num_bags = pairing.order, len(pairing.first_B)
    label_bag = np.repeat(pairing.bag_N, collected.relations.length)
    return BagTable(
        head_B=collected.head_N[pairing.first_B],
        tail_B=collected.tail_N[pairing.first_B],
        relations=_label_rows(label_bag, collected.relations.value, num_bags),
        first_B1=starts(np.bincount(pairing.bag_N[order], minlength=num_bags)),
        **{name: take(getattr(collected, name), order) for name in SENTENCE_COLUMNS},  # type: ignore[arg-type]
    )


def combined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Combine two non-negative integers into one."""
    both: np.ndarray = (high.astype(np.int64) << 32) | low.astype(np.int64)
    return both


def _label_rows(bag: np.ndarray, relation: np.ndarray, num_bags: int) -> Rows:
    """Return the distinct relations of every bag, in ascending order."""
    label = np.unique(combined(bag, relation))
    return Rows.of_lengths((label & 0xFFFFFFFF).astype(np.int32), np.bincount(label >> 32, minlength=num_bags))


def _numbered(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key's index in order of first appearance, and the position of each first appearance."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[inverse], first[order]


def _distinct_in_bag(bag_N: np.ndarray, text_N: np.ndarray) -> np.ndarray:
    """Return the position of each first appearance of a (bag, text), in order."""
    order = np.lexsort((text_N, bag_N))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(bag_N[order]) != 0) | (np.diff(text_N[order]) != 0)
    return np.sort(order[is_first])
