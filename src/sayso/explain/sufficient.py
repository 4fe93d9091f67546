"""Faithfulness: how a prediction changes when sentences are removed, and what it rests on.

Shapes: F facts, E sentences of all facts, fact after fact. Probabilities are those of the fact's relation.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from sayso.explain.sub_bag import subset_logits
from sayso.features.batch import BagIndex
from sayso.model.extractor import Extractor
from sayso.records import NOT_PREDICTED, NOT_SENTENCES, ONE_SENTENCE, SENTENCES_TOGETHER, SEVERAL_SENTENCES
from sayso.store.rows import Rows, ranges

KEEPS_WITHIN = 0.05
"""A set of sentences keeps a prediction if the probability stays above the threshold and falls by at most this."""
LARGEST_SET = 32
"""The search stops at this size; the smallest set is then the whole bag."""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """Encoded bags and the facts to explain: each one's bag and relation."""

    extractor: Extractor
    vector_ND: Tensor
    bags: BagIndex
    bag_F: np.ndarray
    relation_F: np.ndarray

    def probability(self, sentences: Rows, facts: np.ndarray) -> np.ndarray:
        """Return the probability of these facts if each one's bag has only its row of sentences."""
        bag_F, relation_F = self.bag_F[facts], self.relation_F[facts]
        return sigmoid(subset_logits(self.extractor, self.vector_ND, self.bags, bag_F, relation_F, sentences))

    @property
    def all_facts(self) -> np.ndarray:
        """The indices of the facts."""
        return np.arange(len(self.bag_F))


@dataclass(frozen=True, kw_only=True)
class Sufficient:
    """The smallest set of each fact: its size, and the probability with it, without it, and without any sentence.

    `num_enough_F` is the number of sentences that reach the threshold alone, in facts that stay predicted without their
    smallest set; else −1, not counted.
    """

    size_F: np.ndarray
    with_set_F: np.ndarray
    without_set_F: np.ndarray
    without_any_F: np.ndarray
    num_enough_F: np.ndarray
    kinds: list[str]


def sigmoid(logit: np.ndarray) -> np.ndarray:
    """Return probabilities, in float64 and without overflow."""
    probability: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * logit.astype(np.float64)))
    return probability


def first_of(ranked: Rows, num_F: np.ndarray) -> Rows:
    """Return the first `num_F` sentences of each row."""
    return Rows.of_lengths(ranked.value[ranges(ranked.start[:-1], num_F)], num_F)


def after(ranked: Rows, num_F: np.ndarray) -> Rows:
    """Return each row without its first `num_F` sentences."""
    left_F = ranked.length - num_F
    return Rows.of_lengths(ranked.value[ranges(ranked.start[:-1] + num_F, left_F)], left_F)


def smallest_sets(encoded: Encoded, ranked: Rows, probability_F: np.ndarray, threshold: float) -> Sufficient:
    """Return the shortest prefix of the ranked sentences that keeps each prediction, and its probabilities.

    A fact that is not predicted, or is predicted without any sentence, has a set of size 0.
    """
    num = len(ranked)
    without_any_F = encoded.probability(first_of(ranked, np.zeros(num, np.int64)), encoded.all_facts)
    is_predicted_F = probability_F >= threshold
    floor_F = np.maximum(threshold, probability_F - KEEPS_WITHIN)
    size_F = _search(encoded, ranked, floor_F, is_predicted_F & (without_any_F < floor_F))
    without_set_F = encoded.probability(after(ranked, size_F), encoded.all_facts)
    is_repeated_F = is_predicted_F & (without_any_F < threshold) & (without_set_F >= threshold)
    num_enough_F = _num_enough(encoded, ranked, threshold, is_repeated_F)
    kinds = np.where((size_F == 1) & ~is_repeated_F, ONE_SENTENCE, SENTENCES_TOGETHER)
    kinds = np.where(num_enough_F >= 2, SEVERAL_SENTENCES, kinds)
    kinds = np.where(without_any_F >= threshold, NOT_SENTENCES, kinds)
    kinds = np.where(is_predicted_F, kinds, NOT_PREDICTED)
    return Sufficient(
        size_F=size_F,
        with_set_F=encoded.probability(first_of(ranked, size_F), encoded.all_facts),
        without_set_F=without_set_F,
        without_any_F=without_any_F,
        num_enough_F=num_enough_F,
        kinds=kinds.tolist(),
    )


def _search(encoded: Encoded, ranked: Rows, floor_F: np.ndarray, is_open_F: np.ndarray) -> np.ndarray:
    """Return the number of sentences that keep each open fact at its floor, trying 1, 2, … for all facts at once."""
    size_F = np.where(is_open_F, ranked.length, 0)
    open_facts = np.flatnonzero(is_open_F)
    for size in range(1, LARGEST_SET + 1):
        open_facts = open_facts[ranked.length[open_facts] > size]
        if not len(open_facts):
            break
        tried = first_of(ranked.take(open_facts), np.full(len(open_facts), size))
        keeps = encoded.probability(tried, open_facts) >= floor_F[open_facts]
        size_F[open_facts[keeps]] = size
        open_facts = open_facts[~keeps]
    return size_F


def _num_enough(encoded: Encoded, ranked: Rows, threshold: float, is_counted_F: np.ndarray) -> np.ndarray:
    """Return the number of sentences of each fact that reach the threshold alone; −1 for facts not counted."""
    facts = np.flatnonzero(is_counted_F)
    counted = ranked.take(facts)
    fact_E = np.repeat(facts, counted.length)
    alone = Rows.of_lengths(counted.value, np.ones(len(fact_E), np.int64))
    is_enough_E = encoded.probability(alone, fact_E) >= threshold
    return np.where(is_counted_F, np.bincount(fact_E[is_enough_E], minlength=len(ranked)), -1)
