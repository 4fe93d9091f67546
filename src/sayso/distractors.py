"""Draw distractors for facts (sentences not known to state the fact) and rewrite them for the fact's bag.

Used by learning from distractors (+LD). Shapes: B bags, N sentences, M facts (bag, relation).
"""

from typing import NamedTuple

import numpy as np

from sayso.store.group import combined
from sayso.store.rows import Rows
from sayso.store.table import BagTable, first_mentions, no_source, replace_mentions

_NUM_TRIES = 16
_NONE = -1
"""Stands for a sentence if none was found."""


class Chosen(NamedTuple):
    """One distractor per fact: the fact's bag and relation, and the sentence drawn for it from the pool."""

    bag_M: np.ndarray
    relation_M: np.ndarray
    sentence_M: np.ndarray


class DistractorPool:
    """The sentences that distractors are drawn from, grouped by the entity types of their pair.

    For relation k, a distractor is drawn uniformly from the sentences whose bag has the same pair of types and is not
    labelled k. If there are none, a bag without a relation is drawn uniformly, then one of its sentences.
    """

    def __init__(self, table: BagTable, type_E: np.ndarray) -> None:
        self.table = table
        self.kind_B = combined(type_E[table.head_B], type_E[table.tail_B])
        self._bag_N = table.bag_N
        kind_N = self.kind_B[self._bag_N]
        order = np.argsort(kind_N, kind="stable")
        kinds, start = np.unique(kind_N[order], return_index=True)
        self._kinds = kinds
        self._sentences = Rows(order, np.append(start, len(order)))
        self._na_bags = np.flatnonzero(~table.is_positive_B)
        self._labels = np.unique(combined(*facts_of(table)))

    def draw(self, bag_M: np.ndarray, relation_M: np.ndarray, kind_M: np.ndarray, rng: np.random.Generator) -> Chosen:
        """Draw a distractor for each fact, given its pair of types; facts without a candidate are left out."""
        group_M = np.searchsorted(self._kinds, kind_M)
        has_group_M = (group_M < len(self._kinds)) & (self._kinds[np.minimum(group_M, len(self._kinds) - 1)] == kind_M)
        sentence_M = np.full(len(bag_M), _NONE)
        open_M = np.flatnonzero(has_group_M)
        for _ in range(_NUM_TRIES):
            drawn = self._draw_from_groups(group_M[open_M], rng)
            is_fit = ~self._is_labelled(drawn, relation_M[open_M])
            sentence_M[open_M[is_fit]] = drawn[is_fit]
            open_M = open_M[~is_fit]
        for index in open_M.tolist():
            sentence_M[index] = self._search(int(group_M[index]), int(relation_M[index]), rng)
        self._fall_back(sentence_M, rng)
        is_found = sentence_M != _NONE
        return Chosen(bag_M[is_found], relation_M[is_found], sentence_M[is_found])

    def _draw_from_groups(self, group_M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        size_M = self._sentences.length[group_M]
        drawn: np.ndarray = self._sentences.value[self._sentences.start[group_M] + rng.integers(0, size_M)]
        return drawn

    def _search(self, group: int, relation: int, rng: np.random.Generator) -> int:
        """Check every sentence in the group and draw one that fits; _NONE if there are none."""
        sentences = self._sentences.row(group)
        fitting = sentences[~self._is_labelled(sentences, np.full(len(sentences), relation))]
        return int(rng.choice(fitting)) if len(fitting) else _NONE

    def _fall_back(self, sentence_M: np.ndarray, rng: np.random.Generator) -> None:
        missing = np.flatnonzero(sentence_M == _NONE)
        if len(missing) and len(self._na_bags):
            bags = rng.choice(self._na_bags, len(missing))
            sentence_M[missing] = self.table.first_B1[bags] + rng.integers(0, self.table.size_B[bags])

    def _is_labelled(self, sentence_M: np.ndarray, relation_M: np.ndarray) -> np.ndarray:
        """Return whether each sentence's own bag is labelled with the relation."""
        return np.isin(combined(self._bag_N[sentence_M], relation_M), self._labels)


def facts_of(table: BagTable) -> tuple[np.ndarray, np.ndarray]:
    """Return the bag and the relation of every label."""
    return table.bag_L, table.relations.value.astype(np.int64)


def insert(bags: BagTable, pool: BagTable, chosen: Chosen) -> BagTable:
    """Return one bag per chosen fact: the pair of the fact's bag, with the distractor as its only sentence.

    The distractor is rewritten with the bag's own mentions, as they appear in the bag's first sentence. The label is
    the relation that it distracts from.
    """
    own = bags.read_part(bags.first_B1[:-1][chosen.bag_M])
    head, tail = first_mentions(own, own.head_spans), first_mentions(own, own.tail_spans)
    rewritten = replace_mentions(pool.read_part(chosen.sentence_M), head, tail)
    num = len(chosen.bag_M)
    return BagTable(
        head_B=bags.head_B[chosen.bag_M],
        tail_B=bags.tail_B[chosen.bag_M],
        relations=Rows(chosen.relation_M.astype(np.int32), np.arange(num + 1)),
        first_B1=np.arange(num + 1),
        **rewritten._asdict(),
        window_N2=np.stack([np.zeros(num, np.int64), rewritten.tokens.length], axis=1),
        **no_source(num),
    )
