"""Collect sentences as integer columns, about 200 bytes each, and group them into bags by entity pair.

A bag has each of its sentences once, and all their labels. Shapes: B bags, N sentences as read.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from sayso.records import Mention, Sentence, Source, Span, sentence_key
from sayso.store.inputs import DEFAULT_MAX_TOKENS
from sayso.store.rows import Rows, starts, take
from sayso.store.table import NO_DOCUMENT, SENTENCE_COLUMNS, BagTable
from sayso.store.vocabulary import Numbering, Vocabulary
from sayso.tokens import shortest_cover

_NO_SOURCE = Source("", 0, 0)


class _Mentions:
    """The entities in one role (head or tail), and the spans of their mentions."""

    def __init__(self, entities: Numbering, names: dict[int, str]) -> None:
        self._entities, self._names = entities, names
        self.entity, self.span, self.length = array("i"), array("i"), array("i")

    def add(self, mention: Mention) -> None:
        entity_id, name, spans = mention
        number = self._entities[entity_id]
        self._names.setdefault(number, name)
        self.entity.append(number)
        self.span.extend(chain.from_iterable(spans))
        self.length.append(2 * len(spans))


class Collector:
    """Collects sentences one by one, with words and entities as integer ids, without labels and documents."""

    def __init__(self, words: Mapping[str, int], entities: Numbering, names: dict[int, str], max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._number_of = words.__getitem__
        self._head, self._tail = _Mentions(entities, names), _Mentions(entities, names)
        self._token, self._num_tokens, self._window = array("i"), array("i"), array("i")

    @property
    def num_tokens(self) -> int:
        """The number of tokens in all collected sentences."""
        return len(self._token)

    def add(self, tokens: tuple[str, ...], head: Mention, tail: Mention) -> bool:
        """Add a sentence; return False, adding nothing, if no window of `max_tokens` contains both mentions."""
        window = find_window(len(tokens), head.spans, tail.spans, self.max_tokens)
        if window is None:
            return False
        self._window.extend(window)
        self._token.extend(map(self._number_of, tokens))
        self._num_tokens.append(len(tokens))
        self._head.add(head)
        self._tail.add(tail)
        return True

    def columns(self) -> BagTable:
        """Return the sentences as views, a bag for each; nothing can be added while they are in use."""
        return BagTable.of_sentences(
            head_B=_column(self._head.entity),
            tail_B=_column(self._tail.entity),
            window_N2=_column(self._window).reshape(-1, 2),
            tokens=_rows(self._token, self._num_tokens),
            head_spans=_rows(self._head.span, self._head.length),
            tail_spans=_rows(self._tail.span, self._tail.length),
        )


def _column(values: array) -> np.ndarray:  # type: ignore[type-arg]
    """Return the values as a numpy array without copying them."""
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


def _rows(values: array, lengths: array) -> Rows:  # type: ignore[type-arg]
    return Rows.of_lengths(_column(values), _column(lengths))


def find_window(num_tokens: int, head: Sequence[Span], tail: Sequence[Span], max_tokens: int) -> tuple[int, int] | None:
    """Return the first `max_tokens` tokens if they contain both mentions, else a window around the closest mentions.

    None if no window of `max_tokens` contains both.

    >>> find_window(200, [Span(150, 151)], [Span(160, 162)], 100)
    (100, 200)
    """
    if num_tokens <= max_tokens:
        return 0, num_tokens
    start, stop = shortest_cover(head, tail)
    if stop - start > max_tokens:
        return None
    if stop <= max_tokens:
        return 0, max_tokens
    first = start - (max_tokens - (stop - start)) // 2
    first = min(max(first, 0), num_tokens - max_tokens)
    return first, first + max_tokens


class Lines(NamedTuple):
    """Sentences as read, a bag for each; `left_out` are (head, tail, relation) of those that fit into no window."""

    table: BagTable
    left_out: frozenset[tuple[int, int, int]]
    num_read: int
    num_too_far_apart: int


class BagBuilder:
    """Collects sentences with their labels and documents; `finish` groups them into bags."""

    def __init__(self, vocabulary: Vocabulary, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self.vocabulary = vocabulary
        self.num_read = self.num_too_far_apart = 0
        self._collector = Collector(vocabulary.words, vocabulary.entities, vocabulary.entity_name, max_tokens)
        self._relation, self._num_relations = array("i"), array("i")
        self._expresses, self._label = array("f"), array("i")
        # Start and end of each sentence in its document, and how many of its tokens are glued and curly.
        self._document, self._place = array("i"), array("q")
        self._glued, self._curly = array("i"), array("i")
        self._left_out: set[tuple[int, int, int]] = set()

    def add(self, sentence: Sentence, label: int | None = None) -> None:
        """Add a sentence, or only count it if no window of `max_tokens` contains both mentions.

        `label` is the relation of a directly supervised sentence; pass it for all sentences or for none.
        """
        self.num_read += 1
        tokens, head, tail, relations, source, expresses = sentence
        numbers = [self.vocabulary.relations[relation] for relation in relations]
        if not self._collector.add(tokens, head, tail):
            self.num_too_far_apart += 1
            pair = self.vocabulary.entities[head.entity_id], self.vocabulary.entities[tail.entity_id]
            self._left_out.update((*pair, number) for number in numbers)
            return
        self._relation.extend(numbers)
        self._num_relations.append(len(numbers))
        self._expresses.append(float("nan") if expresses is None else expresses)
        if label is not None:
            self._label.append(label)
        document_id, start, stop, glued, curly = source or _NO_SOURCE
        self._document.append(NO_DOCUMENT if source is None else self.vocabulary.documents[document_id])
        self._place.extend((start, stop, len(glued), len(curly)))
        self._glued.extend(glued)
        self._curly.extend(curly)

    def lines(self) -> Lines:
        """Return the collected sentences as views; the builder cannot be used again."""
        place_N4 = _column(self._place).reshape(-1, 4)
        columns = self._collector.columns()
        table = replace(
            columns,
            relations=_rows(self._relation, self._num_relations),
            expresses_N=_column(self._expresses),
            label_N=_column(self._label) if self._label else columns.label_N,
            document_N=_column(self._document),
            place_N2=place_N4[:, :2],
            glued=Rows.of_lengths(_column(self._glued), place_N4[:, 2]),
            curly=Rows.of_lengths(_column(self._curly), place_N4[:, 3]),
        )
        return Lines(table, frozenset(self._left_out), self.num_read, self.num_too_far_apart)


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


def group_lines(lines: Lines, words: Iterable[str]) -> Grouped:
    """Group sentences into bags, in order of each pair's first appearance; `words` are the tokens by id."""
    table, _, order = group(lines.table)
    num_B = table.relations.length
    facts = (np.repeat(table.head_B, num_B), np.repeat(table.tail_B, num_B), table.relations.value)
    read = zip(*(number.tolist() for number in facts), strict=True) if lines.left_out else ()
    return Grouped(
        table=table,
        key_N=_key_hashes(table.tokens, words),
        num_sentences_read=lines.num_read,
        num_repeated=lines.table.num_sentences - len(order),
        num_too_far_apart=lines.num_too_far_apart,
        num_facts_unread=len(lines.left_out.difference(read)),
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


class Bags(NamedTuple):
    """Bags, the first sentence of each, and the kept sentences in bag order, as indices of those given."""

    table: BagTable
    first_B: np.ndarray
    order: np.ndarray


def group(single: BagTable, bag_N: np.ndarray | None = None) -> Bags:
    """Merge single-sentence bags into one bag per pair, in order of first appearance, without duplicates in a bag.

    If the bag of each sentence is given (in ascending order), the bags stay as they are: equal pairs are not merged and
    duplicates are kept.
    """
    if bag_N is None:
        bag_N, first_B = _numbered(combined(single.head_B, single.tail_B))
        kept = _distinct_in_bag(bag_N, single.tokens.hashes())
    else:
        first_B, kept = np.flatnonzero(np.diff(bag_N, prepend=-1)), np.arange(len(bag_N))
    order, num_bags = kept[np.argsort(bag_N[kept], kind="stable")], len(first_B)
    label = np.unique(combined(np.repeat(bag_N, single.relations.length), single.relations.value))
    table = BagTable(
        head_B=single.head_B[first_B],
        tail_B=single.tail_B[first_B],
        relations=Rows.of_lengths((label & 0xFFFFFFFF).astype(np.int32), np.bincount(label >> 32, minlength=num_bags)),
        first_B1=starts(np.bincount(bag_N[order], minlength=num_bags)),
        **{name: take(getattr(single, name), order) for name in SENTENCE_COLUMNS},  # type: ignore[arg-type]
    )
    return Bags(table, first_B, order)


def combined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Combine two non-negative integers into one."""
    both: np.ndarray = (high.astype(np.int64) << 32) | low.astype(np.int64)
    return both


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
