"""Folds of pairs: each known fact is withheld once, and the model that does not know it may find it again.

The fold of a pair depends only on its two entities and the seed, so new documents or decisions do not move other pairs.
Shapes: B bags, N sentences of all bags together.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sayso.documents.align import pair_number
from sayso.documents.folder import na_share_of, num_rest_lines
from sayso.records import Sentence
from sayso.seeding import sub_seed
from sayso.store.group import Grouped
from sayso.store.inputs import Inputs, SentenceFiles
from sayso.store.table import BagTable

MAX_REST_LINES = 200_000
"""About how many lines of unlabelled pairs a store with folds has; more would not make its estimates better."""


@dataclass(frozen=True, kw_only=True)
class PairFolds:
    """The fold of each bag, from 1, and whether it would have been kept for training as an NA pair.

    A withheld fact is like a true fact that the knowledge base lacks: its pair is among the NA pairs, of which a share
    is kept for training.
    """

    fold_B: np.ndarray
    stays_B: np.ndarray

    def take(self, bags: np.ndarray) -> "PairFolds":
        """Return the folds of these bags."""
        return PairFolds(fold_B=self.fold_B[bags], stays_B=self.stays_B[bags])


def pair_folds(table: BagTable, ids: Sequence[str], num_folds: int, seed: int, na_share: float) -> PairFolds:
    """Return the folds of the bags; `ids` are the ids of the table's entities."""
    pairs = zip(table.head_B.tolist(), table.tail_B.tolist(), strict=True)
    drawn = np.array([_numbers(ids[head], ids[tail], seed) for head, tail in pairs], np.uint64).reshape(-1, 2)
    fold_B = (drawn[:, 0] % np.uint64(num_folds)).astype(np.int16) + 1
    # Compared in floating point: 2**64 does not fit the numbers.
    return PairFolds(fold_B=fold_B, stays_B=drawn[:, 1].astype(np.float64) < na_share * 2.0**64)


def _numbers(head_id: str, tail_id: str, seed: int) -> tuple[int, int]:
    """Return two numbers below 2**64, the same for a pair and its reverse."""
    text = "\t".join((str(seed), *sorted((head_id, tail_id))))
    digest = hashlib.blake2b(text.encode(), digest_size=16, person=b"folds").digest()
    return int.from_bytes(digest[:8]), int.from_bytes(digest[8:])


def fold_report(grouped: Grouped, fold_B: np.ndarray, num_folds: int) -> dict[str, Any]:
    """Return the facts of each fold, and what a split without shared sentences would leave out, as a mean per fold."""
    table, num_left_out = grouped.table, np.zeros((num_folds, 2), np.int64)
    fold_N = fold_B[table.bag_N]
    facts_B = table.relations.length
    for index in range(num_folds):
        is_held_N = fold_N == index + 1
        is_shared_N = np.isin(grouped.key_N, grouped.key_N[is_held_N]) & ~is_held_N
        left_B = np.bincount(table.bag_N[~is_held_N & ~is_shared_N], minlength=table.num_bags) > 0
        num_left_out[index] = is_shared_N.sum(), facts_B[(fold_B != index + 1) & ~left_B].sum()
    return {
        "num": num_folds,
        "num_facts": [int(facts_B[fold_B == number].sum()) for number in range(1, num_folds + 1)],
        "num_sentences_shared": round(float(num_left_out[:, 0].mean())),
        "num_facts_only_in_shared": round(float(num_left_out[:, 1].mean())),
    }


def na_shares(inputs: Inputs) -> dict[str, float]:
    """Return the fraction of NA pairs that `sayso build` kept for each part; validation is taken from training."""
    found = {part: na_share_of(path) for part, path in (("train", inputs.train), ("test", inputs.test)) if path}
    return {**found, "validation": found["train"]}


def rest_share(path: Path) -> float:
    """Return the fraction of the pairs of `rest` that a store with folds keeps; 1 unless there are very many."""
    return min(1.0, MAX_REST_LINES / max(num_rest_lines(path), 1))


def read_unlabelled(files: SentenceFiles, share: float, seed: int) -> Iterator[Sentence]:
    """Yield the sentences of a sample of the pairs of `rest`, chosen by their ids, without labels."""
    # Another seed than that of `sayso build`, which chose the pairs of `rest` by the same kind of number.
    bound, seed = round(share * 2**64), sub_seed(seed, "rest")
    files.tallies.pop("rest", None)  # read before, for decided pairs
    for sentence in files.read("rest", None):
        if pair_number(*sentence.pair, seed) < bound:
            yield sentence._replace(relations=())
