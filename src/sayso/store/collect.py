"""Collect sentences as integer columns, about 200 bytes each.

Shapes: N sentences as read.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, Self

import numpy as np

from sayso.records import Mention, Sentence, Source, Span
from sayso.store.block import SentenceBlock
from sayso.store.columns import take_texts
from sayso.store.inputs import DEFAULT_MAX_TOKENS
from sayso.store.rows import Rows
from sayso.store.table import NO_DOCUMENT, BagTable
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

    def number(self, block: SentenceBlock) -> np.ndarray:
        """Return the ids of the entities of a block, head and tail in turn, and keep the names of new ones."""
        numbers = np.array([self._entities[entity_id] for entity_id in block.entity.values], np.int32)
        new = [code for code, number in enumerate(numbers.tolist()) if number not in self._names]
        if new:
            _, first = np.unique(block.entity.code, return_index=True)
            names = take_texts(block.names, first[new]).to_pylist()
            self._names.update(zip(numbers[new].tolist(), names, strict=True))
        number_M: np.ndarray = numbers[block.entity.code]
        return number_M

    def add_block(self, entity_N: np.ndarray, spans: Rows) -> None:
        _extend(self.entity, entity_N)
        _extend(self.span, spans.value)
        _extend(self.length, spans.length)


class Collector:
    """Collects sentences, with words and entities as integer ids, without labels and documents."""

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

    def windows_of(self, block: SentenceBlock) -> np.ndarray | None:
        """Return the window of each sentence, or None if for one no window of `max_tokens` contains both mentions."""
        length_N = np.diff(block.start_N1)
        window_N2 = np.stack([np.zeros_like(length_N), length_N], 1).astype(np.int32)
        for row in np.flatnonzero(length_N > self.max_tokens).tolist():
            head, tail = (
                [Span(*span) for span in rows.row(row).reshape(-1, 2).tolist()]
                for rows in (block.head_spans, block.tail_spans)
            )
            window = find_window(int(length_N[row]), head, tail, self.max_tokens)
            if window is None:
                return None
            window_N2[row] = window
        return window_N2

    def add_block(self, block: SentenceBlock, window_N2: np.ndarray, words: np.ndarray) -> None:
        """Add the sentences of a block with these windows, whose distinct words have these ids."""
        _extend(self._window, window_N2)
        _extend(self._token, words[block.tokens.code])
        _extend(self._num_tokens, np.diff(block.start_N1))
        entities = self._head.number(block)
        for mentions, start, spans in ((self._head, 0, block.head_spans), (self._tail, 1, block.tail_spans)):
            mentions.add_block(entities[start::2], spans)

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


def _extend(values: array, more: np.ndarray) -> None:  # type: ignore[type-arg]
    """Append numbers, in the type of the array."""
    values.frombytes(np.ascontiguousarray(more, values.typecode).tobytes())


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

    def add_all(self, found: Iterable[Sentence | SentenceBlock]) -> Self:
        """Add sentences and blocks of them; return the builder."""
        for each in found:
            if isinstance(each, SentenceBlock):
                self._add_block(each)
            else:
                self.add(each)
        return self

    def _add_block(self, block: SentenceBlock) -> None:
        vocabulary, window_N2 = self.vocabulary, self._collector.windows_of(block)
        if window_N2 is None:
            for sentence in block.sentences():
                self.add(sentence)
            return
        numbers = np.array([vocabulary.relations[name] for name in block.relations.values], np.int32)
        words = np.array([vocabulary.words[word] for word in block.tokens.values], np.int32)
        self._collector.add_block(block, window_N2, words)
        self.num_read += len(block)
        _extend(self._relation, numbers[block.relations.code])
        _extend(self._num_relations, block.num_relations_N)
        _extend(self._expresses, block.expresses_N)
        documents = np.array([vocabulary.documents[name] for name in block.document.values] + [NO_DOCUMENT], np.int32)
        _extend(self._document, documents[block.document.code])
        lengths = (block.glued.length, block.curly.length)
        _extend(self._place, np.column_stack([block.place_N2, *lengths]))
        _extend(self._glued, block.glued.value)
        _extend(self._curly, block.curly.value)

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
