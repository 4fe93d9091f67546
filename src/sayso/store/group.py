"""Sentences to bags: grouped by entity pair, every sentence of a pair once, labels united."""

from array import array
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sayso.records import Sentence, Source, sentence_key
from sayso.store.collect import Collected, Collector, column, rows
from sayso.store.pair import Claims, bag_table, combined, pair_up
from sayso.store.rows import Rows
from sayso.store.table import BagTable
from sayso.store.vocabulary import Vocabulary
from sayso.store.window import DEFAULT_MAX_TOKENS


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


_NO_SOURCE = Source("", 0, 0)


class Lines(NamedTuple):
    """N sentences in the order in which they were read, with what their lines claim; `relations` has a row for each.

    `left_out` are (head, tail, relation) of the lines of sentences that cannot be read.
    """

    collected: Collected
    relations: Rows
    expresses_N: np.ndarray
    document_N: np.ndarray
    place_N2: np.ndarray
    glued: Rows
    curly: Rows
    key_N: np.ndarray
    left_out: frozenset[tuple[int, int, int]]
    num_read: int
    num_too_far_apart: int


class BagBuilder:
    """Collects sentences, with what their lines claim, as columns; `finish` makes bags of them."""

    def __init__(self, vocabulary: Vocabulary, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self.vocabulary = vocabulary
        self.num_sentences_read = 0
        self.num_too_far_apart = 0
        self._collector = Collector(vocabulary.words, vocabulary.entities, vocabulary.entity_name, max_tokens)
        self._relation, self._num_relations = array("i"), array("i")
        self._expresses = array("f")
        # Where each sentence begins and ends in its document, and how many of its tokens are glued and curly.
        self._document, self._place = array("i"), array("q")
        self._glued, self._curly = array("i"), array("i")
        self._key = array("q")
        self._left_out: set[tuple[int, int, int]] = set()

    def add(self, sentence: Sentence) -> None:
        """Take one sentence; one whose mentions no window of `max_tokens` can hold is counted and left out."""
        self.num_sentences_read += 1
        tokens, head, tail, relations, source, expresses = sentence
        if not self._collector.add(tokens, head, tail):
            self._leave_out(sentence)
            return
        self._relation.extend(map(self.vocabulary.relations.__getitem__, relations))
        self._num_relations.append(len(relations))
        self._expresses.append(float("nan") if expresses is None else expresses)
        document_id, start, stop, glued, curly = source or _NO_SOURCE
        self._document.append(-1 if source is None else self.vocabulary.documents[document_id])
        self._place.extend((start, stop, len(glued), len(curly)))
        self._glued.extend(glued)
        self._curly.extend(curly)
        self._key.append(hash(sentence_key(" ".join(tokens))))

    def _leave_out(self, sentence: Sentence) -> None:
        self.num_too_far_apart += 1
        numbers, (head_id, tail_id) = self.vocabulary.entities, sentence.pair
        for relation in sentence.relations:
            self._left_out.add((numbers[head_id], numbers[tail_id], self.vocabulary.relations[relation]))

    def lines(self) -> Lines:
        """Return what was taken; the columns are views, and the builder is spent."""
        place_N4 = column(self._place).reshape(-1, 4)
        return Lines(
            collected=self._collector.columns(),
            relations=rows(self._relation, self._num_relations),
            expresses_N=column(self._expresses),
            document_N=column(self._document),
            place_N2=place_N4[:, :2],
            glued=Rows.of_lengths(column(self._glued), place_N4[:, 2]),
            curly=Rows.of_lengths(column(self._curly), place_N4[:, 3]),
            key_N=column(self._key),
            left_out=frozenset(self._left_out),
            num_read=self.num_sentences_read,
            num_too_far_apart=self.num_too_far_apart,
        )

    def finish(self) -> Grouped:
        """Return the bags; the builder is spent."""
        return group_lines(self.lines())


def group_lines(lines: Lines) -> Grouped:
    """Return the bags of sentences, in order of their pairs' first appearance."""
    collected, relations = lines.collected, lines.relations
    pairing = pair_up(collected)
    line_bag = np.repeat(pairing.bag_N, relations.length)
    claims = Claims(
        relations=_label_rows(line_bag, relations.value, pairing.num_bags),
        expresses_N=lines.expresses_N,
        document_N=lines.document_N,
        place_N2=lines.place_N2,
        glued=lines.glued,
        curly=lines.curly,
    )
    first = pairing.first_B[line_bag]
    facts = (collected.head_N[first], collected.tail_N[first], relations.value)
    return Grouped(
        table=bag_table(collected, pairing, claims),
        key_N=lines.key_N[pairing.order],
        num_sentences_read=lines.num_read,
        num_repeated=len(pairing.bag_N) - len(pairing.order),
        num_too_far_apart=lines.num_too_far_apart,
        num_facts_unread=_num_unread(lines.left_out, *facts),
    )


def _num_unread(left_out: frozenset[tuple[int, int, int]], *facts: np.ndarray) -> int:
    """Return how many facts of the sentences that were left out are not among these (head, tail, relation)."""
    read = zip(*(number.tolist() for number in facts), strict=True) if left_out else ()
    return len(left_out.difference(read))


def _label_rows(bag: np.ndarray, relation: np.ndarray, num_bags: int) -> Rows:
    """Return the distinct relations of every bag, in rising order."""
    label = np.unique(combined(bag, relation))
    return Rows.of_lengths((label & 0xFFFFFFFF).astype(np.int32), np.bincount(label >> 32, minlength=num_bags))
