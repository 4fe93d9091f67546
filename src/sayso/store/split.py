"""Training and validation parts: split by unordered pair, no sentence in both.

One sentence serves many pairs, so a split by pair alone leaves most validation sentences in training too.
"""

from dataclasses import dataclass

import numpy as np

from sayso.seeding import sub_seed
from sayso.store.group import Grouped
from sayso.store.table import BagTable


@dataclass(frozen=True, kw_only=True)
class Split:
    """Two parts of the training data and what was left out to keep them apart."""

    train: BagTable
    validation: BagTable
    num_validation_sentences_shared: int
    num_train_sentences_left_out: int
    num_train_pairs_left_out: int
    num_train_facts_left_out: int


def split_by_pair(grouped: Grouped, validation_share: float, seed: int, keep_shared: bool = False) -> Split:
    """Return a random part of the unordered pairs as validation, and the rest as training.

    Training sentences that stand in validation, for whichever pair, are left out unless `keep_shared`.
    """
    table = grouped.table
    is_validation_N = _is_drawn(table, validation_share, seed)[table.bag_N]
    is_shared_N = np.isin(grouped.key_N, grouped.key_N[is_validation_N]) & ~is_validation_N
    shared_keys = np.unique(grouped.key_N[is_shared_N])
    is_train_N = ~is_validation_N if keep_shared else ~is_validation_N & ~is_shared_N
    train, validation = table.keep_sentences(is_train_N), table.keep_sentences(is_validation_N)
    num_facts, *num_kept = (len(each.relations.value) for each in (table, train, validation))
    return Split(
        train=train,
        validation=validation,
        num_validation_sentences_shared=int(
            np.isin(np.unique(grouped.key_N[is_validation_N]), shared_keys, assume_unique=True).sum()
        ),
        num_train_sentences_left_out=table.num_sentences - train.num_sentences - validation.num_sentences,
        num_train_pairs_left_out=table.num_bags - train.num_bags - validation.num_bags,
        num_train_facts_left_out=num_facts - sum(num_kept),
    )


def unordered_pair(table: BagTable) -> np.ndarray:
    """Return one number per bag, equal for a pair and its reverse."""
    low, high = np.minimum(table.head_B, table.tail_B), np.maximum(table.head_B, table.tail_B)
    pair_B: np.ndarray = (low.astype(np.int64) << 32) | high
    return pair_B


def _is_drawn(table: BagTable, share: float, seed: int) -> np.ndarray:
    """Return for each bag whether its unordered pair is among the share drawn at random."""
    pair, inverse = np.unique(unordered_pair(table), return_inverse=True)
    drawn = np.random.default_rng(sub_seed(seed, "split")).permutation(len(pair))[: round(share * len(pair))]
    is_drawn = np.zeros(len(pair), bool)
    is_drawn[drawn] = True
    drawn_B: np.ndarray = is_drawn[inverse]
    return drawn_B
