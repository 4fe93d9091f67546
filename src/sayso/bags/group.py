"""Sentences to bags: grouped by entity pair, every sentence of a pair once, labels united.

A `BagBuilder` takes the sentences one by one and holds only numbers, about 200 bytes a sentence.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sayso.bags.rows import Rows, starts
from sayso.bags.table import BagTable
from sayso.bags.vocabulary import Vocabulary
from sayso.bags.window import DEFAULT_MAX_TOKENS, find_window
from sayso.records import Mention, Sentence, sentence_key


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Bags, with the key of each sentence (equal for the same sentence of other pairs) and what was left out.

    `num_facts_unread` are facts all of whose sentences were left out; they stay in the denominator of recall.
    """

    table: BagTable
    key_N: np.ndarray
    num_sentences_read: int
    num_repeated: int
    num_too_far_apart: int
    num_facts_unread: int


def group_by_pair(sentences: Iterable[Sentence], vocabulary: Vocabulary) -> Grouped:
    """Return the bags of the sentences, in order of their pairs' first appearance."""
    builder = BagBuilder(vocabulary)
    for sentence in sentences:
        builder.add(sentence)
    return builder.finish()


class BagBuilder:
    """Collects sentences as columns; `finish` makes bags of them."""

    def __init__(self, vocabulary: Vocabulary, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self.vocabulary = vocabulary
        self.max_tokens = max_tokens
        self.num_sentences_read = 0
        self.num_too_far_apart = 0
        self._token, self._num_tokens = array("i"), array("i")
        self._relation, self._num_relations = array("i"), array("i")
        self._spans = {"head": (array("i"), array("i")), "tail": (array("i"), array("i"))}
        self._head, self._tail = array("i"), array("i")
        self._window = array("i")
        self._expresses = array("f")
        self._document, self._place = array("i"), array("q")
        self._text, self._key = array("q"), array("q")
        self._left_out: set[tuple[int, int, int]] = set()

    def add(self, sentence: Sentence) -> None:
        """Take one sentence; one whose mentions no window of `max_tokens` can hold is counted and left out."""
        self.num_sentences_read += 1
        tokens, head, tail, relations, source, expresses = sentence
        window = find_window(len(tokens), head.spans, tail.spans, self.max_tokens)
        if window is None:
            self._leave_out(sentence)
            return
        self._window.extend(window)
        self._token.extend(map(self.vocabulary.words.__getitem__, tokens))
        self._num_tokens.append(len(tokens))
        self._head.append(self._add_mention("head", head))
        self._tail.append(self._add_mention("tail", tail))
        self._relation.extend(map(self.vocabulary.relations.__getitem__, relations))
        self._num_relations.append(len(relations))
        self._expresses.append(float("nan") if expresses is None else expresses)
        self._document.append(-1 if source is None else self.vocabulary.documents[source.document_id])
        self._place.extend((0, 0) if source is None else (source.start, source.stop))
        self._text.append(hash(tokens))
        self._key.append(hash(sentence_key(" ".join(tokens))))

    def _leave_out(self, sentence: Sentence) -> None:
        self.num_too_far_apart += 1
        numbers, (head_id, tail_id) = self.vocabulary.entities, sentence.pair
        for relation in sentence.relations:
            self._left_out.add((numbers[head_id], numbers[tail_id], self.vocabulary.relations[relation]))

    def _add_mention(self, role: str, mention: Mention) -> int:
        values, lengths = self._spans[role]
        for span in mention.spans:
            values.extend(span)
        lengths.append(2 * len(mention.spans))
        number = self.vocabulary.entities[mention.entity_id]
        self.vocabulary.entity_name.setdefault(number, mention.name)
        return number

    def finish(self, bag_N: np.ndarray | None = None) -> Grouped:
        """Return the bags; the builder is spent.

        Where the bag of each sentence is given (never decreasing, none of them left out), the bags stay as they are:
        equal pairs are not merged and repeated sentences are kept.
        """
        head, tail = _column(self._head), _column(self._tail)
        relations = _rows(self._relation, self._num_relations)
        if bag_N is None:
            pair, first = _numbered(_combined(head, tail))
            kept = _distinct_in_pair(pair, _column(self._text))
        else:
            assert len(bag_N) == len(head), "a sentence was left out, or its bag is missing"
            pair, first, kept = bag_N, np.flatnonzero(np.diff(bag_N, prepend=-1)), np.arange(len(bag_N))
        line_pair, line_relation = np.repeat(pair, relations.length), relations.value
        facts = set(
            zip(head[first][line_pair].tolist(), tail[first][line_pair].tolist(), line_relation.tolist(), strict=True)
        )
        order = kept[np.argsort(pair[kept], kind="stable")]
        table = BagTable(
            head_B=head[first],
            tail_B=tail[first],
            relations=_label_rows(line_pair, line_relation, len(first)),
            first_B1=starts(np.bincount(pair[order], minlength=len(first))),
            tokens=_rows(self._token, self._num_tokens).take(order),
            head_spans=_rows(*self._spans["head"]).take(order),
            tail_spans=_rows(*self._spans["tail"]).take(order),
            window_N2=_column(self._window).reshape(-1, 2)[order],
            expresses_N=_column(self._expresses)[order],
            document_N=_column(self._document)[order],
            place_N2=_column(self._place).reshape(-1, 2)[order],
        )
        return Grouped(
            table=table,
            key_N=_column(self._key)[order],
            num_sentences_read=self.num_sentences_read,
            num_repeated=len(pair) - len(kept),
            num_too_far_apart=self.num_too_far_apart,
            num_facts_unread=len(self._left_out - facts) if self._left_out else 0,
        )


def _column(values: array) -> np.ndarray:  # type: ignore[type-arg]
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


def _rows(values: array, lengths: array) -> Rows:  # type: ignore[type-arg]
    return Rows.of_lengths(_column(values), _column(lengths))


def _combined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return one number for two, none of them negative."""
    return (high.astype(np.int64) << 32) | low.astype(np.int64)


def _numbered(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key's number in order of first appearance, and where each first appears."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[inverse], first[order]


def _distinct_in_pair(pair: np.ndarray, text: np.ndarray) -> np.ndarray:
    """Return where each (pair, text) appears first, in order."""
    order = np.lexsort((text, pair))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(pair[order]) != 0) | (np.diff(text[order]) != 0)
    return np.sort(order[is_first])


def _label_rows(pair: np.ndarray, relation: np.ndarray, num_bags: int) -> Rows:
    """Return the distinct relations of every bag, in rising order."""
    label = np.unique(_combined(pair, relation))
    return Rows.of_lengths((label & 0xFFFFFFFF).astype(np.int32), np.bincount(label >> 32, minlength=num_bags))
