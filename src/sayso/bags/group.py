"""Sentences to bags: grouped by entity pair, every sentence of a pair once, labels united."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sayso.bags.collect import Collector, column, rows
from sayso.bags.pair import Claims, bag_table, combined, pair_up
from sayso.bags.rows import Rows
from sayso.bags.table import BagTable
from sayso.bags.vocabulary import Vocabulary
from sayso.bags.window import DEFAULT_MAX_TOKENS
from sayso.records import Sentence, sentence_key


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
    """Collects sentences, with what their lines claim, as columns; `finish` makes bags of them."""

    def __init__(self, vocabulary: Vocabulary, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self.vocabulary = vocabulary
        self.num_sentences_read = 0
        self.num_too_far_apart = 0
        self._collector = Collector(vocabulary.words, vocabulary.entities, vocabulary.entity_name, max_tokens)
        self._relation, self._num_relations = array("i"), array("i")
        self._expresses = array("f")
        self._document, self._place = array("i"), array("q")
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
        self._document.append(-1 if source is None else self.vocabulary.documents[source.document_id])
        self._place.extend((0, 0) if source is None else (source.start, source.stop))
        self._key.append(hash(sentence_key(" ".join(tokens))))

    def _leave_out(self, sentence: Sentence) -> None:
        self.num_too_far_apart += 1
        numbers, (head_id, tail_id) = self.vocabulary.entities, sentence.pair
        for relation in sentence.relations:
            self._left_out.add((numbers[head_id], numbers[tail_id], self.vocabulary.relations[relation]))

    def finish(self) -> Grouped:
        """Return the bags; the builder is spent."""
        collected = self._collector.columns()
        pairing = pair_up(collected)
        relations = rows(self._relation, self._num_relations)
        line_bag = np.repeat(pairing.bag_N, relations.length)
        claims = Claims(
            relations=_label_rows(line_bag, relations.value, pairing.num_bags),
            expresses_N=column(self._expresses),
            document_N=column(self._document),
            place_N2=column(self._place).reshape(-1, 2),
        )
        first = pairing.first_B[line_bag]
        facts = (collected.head_N[first], collected.tail_N[first], relations.value)
        return Grouped(
            table=bag_table(collected, pairing, claims),
            key_N=column(self._key)[pairing.order],
            num_sentences_read=self.num_sentences_read,
            num_repeated=len(pairing.bag_N) - len(pairing.order),
            num_too_far_apart=self.num_too_far_apart,
            num_facts_unread=self._num_unread(*facts),
        )

    def _num_unread(self, *facts: np.ndarray) -> int:
        """Return how many facts of the sentences that were left out are not among these (head, tail, relation)."""
        read = zip(*(number.tolist() for number in facts), strict=True) if self._left_out else ()
        return len(self._left_out.difference(read))


def _label_rows(bag: np.ndarray, relation: np.ndarray, num_bags: int) -> Rows:
    """Return the distinct relations of every bag, in rising order."""
    label = np.unique(combined(bag, relation))
    return Rows.of_lengths((label & 0xFFFFFFFF).astype(np.int32), np.bincount(label >> 32, minlength=num_bags))
