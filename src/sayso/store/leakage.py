"""Keep training, validation and test apart: find overlap between training and test, and split by pair.

A sentence can mention many pairs, so a split by pair alone would leave most validation sentences in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from sayso.errors import LeakageError, option
from sayso.records import Sentence
from sayso.seeding import sub_seed
from sayso.store.group import Grouped, combined
from sayso.store.table import BagTable
from sayso.tokens import BRACKETS

LEAKING_FBNYT_SENTENCES = 570_088
CLEAN_FBNYT_SENTENCES = 522_611
ABOUT_LEAKING_FBNYT = (
    f"this is the {LEAKING_FBNYT_SENTENCES:,}-sentence release of FB-NYT, which contains test pairs and inflates"
    f" results; the release without them has {CLEAN_FBNYT_SENTENCES:,} training sentences"
)


@dataclass(frozen=True, kw_only=True)
class Leakage:
    """How much of the test data is also in the training data."""

    test_pairs_in_train: int
    test_facts_in_train: int
    reversed_test_pairs_in_train: int
    test_sentences_in_train: int
    train_sentences_of_test_pairs: int


def find_leakage(train: Grouped, test: Grouped) -> Leakage:
    """Measure the overlap of two parts that share a vocabulary."""
    train_pair, test_pair = (
        combined(train.table.head_B, train.table.tail_B),
        combined(test.table.head_B, test.table.tail_B),
    )
    is_leaked_B = np.isin(train_pair, test_pair)
    return Leakage(
        test_pairs_in_train=int(is_leaked_B.sum()),
        test_facts_in_train=len(np.intersect1d(_facts(train.table, train_pair), _facts(test.table, test_pair))),
        reversed_test_pairs_in_train=int(
            (np.isin(unordered_pair(train.table), unordered_pair(test.table)) & ~is_leaked_B).sum()
        ),
        test_sentences_in_train=int(np.isin(np.unique(test.key_N), train.key_N).sum()),
        train_sentences_of_test_pairs=int(train.table.size_B[is_leaked_B].sum()),
    )


def refuse_leakage(leakage: Leakage, num_train_sentences: int) -> None:
    """Raise `LeakageError` if a test pair is in training, with a note on the FB-NYT release known for this."""
    if not leakage.test_pairs_in_train:
        return
    known = f" Note: {ABOUT_LEAKING_FBNYT}." if num_train_sentences == LEAKING_FBNYT_SENTENCES else ""
    drop, allow = option('leak="drop"', "--leak drop"), option('leak="allow"', "--leak allow")
    raise LeakageError(
        f"{leakage.test_pairs_in_train:,} test pairs are in the training data (in"
        f" {leakage.train_sentences_of_test_pairs:,} sentences; {leakage.test_facts_in_train:,} facts).{known}"
        f" Leave them out with {drop}, or keep them with {allow}."
    )


def without_pairs_of(train: Grouped, test: BagTable) -> Grouped:
    """Return the training bags whose pair is not a test pair."""
    is_kept_B = ~np.isin(combined(train.table.head_B, train.table.tail_B), combined(test.head_B, test.tail_B))
    is_kept_N = is_kept_B[train.table.bag_N]
    return replace(train, table=train.table.keep_sentences(is_kept_N), key_N=train.key_N[is_kept_N])


def are_in_test(sentences: Sequence[Sentence], test: BagTable, words: Sequence[str]) -> list[bool]:
    """Return whether each directly supervised sentence is in test; `words` are the table's words by id.

    Only letters and digits are compared, because the corpora differ in tokenisation, brackets and dropped commas.
    """
    bare = [_bare(word) for word in words]
    rows = map(test.tokens.row, range(test.num_sentences))
    tested = {"".join([bare[number] for number in row.tolist()]) for row in rows}
    return ["".join(map(_bare, sentence.tokens)) in tested for sentence in sentences]


@cache
def _bare(word: str) -> str:
    return "" if word.lower() in BRACKETS else "".join(filter(str.isalnum, word.lower()))


def _facts(table: BagTable, pair_B: np.ndarray) -> np.ndarray:
    """Return one comparable value per (pair, relation) fact."""
    fact = np.stack([pair_B[table.bag_L], table.relations.value.astype(np.int64)], axis=1)
    return np.ascontiguousarray(fact).view([("pair", np.int64), ("relation", np.int64)]).ravel()


@dataclass(frozen=True, kw_only=True)
class Split:
    """Training and validation parts, and counts of what was left out to keep them apart."""

    train: BagTable
    validation: BagTable
    num_validation_sentences_shared: int
    num_train_sentences_left_out: int
    num_train_pairs_left_out: int
    num_train_facts_left_out: int


def split_by_pair(grouped: Grouped, validation_share: float, seed: int, keep_shared: bool = False) -> Split:
    """Hold out a random sample of the unordered pairs as validation; the rest is training.

    Training sentences that are also in validation, for any pair, are left out unless `keep_shared`.
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
    """Return one id per bag, equal for a pair and its reverse."""
    return combined(np.minimum(table.head_B, table.tail_B), np.maximum(table.head_B, table.tail_B))


def _is_drawn(table: BagTable, share: float, seed: int) -> np.ndarray:
    """Return for each bag whether its unordered pair is in the random sample."""
    pair, inverse = np.unique(unordered_pair(table), return_inverse=True)
    drawn = np.random.default_rng(sub_seed(seed, "split")).permutation(len(pair))[: round(share * len(pair))]
    is_drawn = np.zeros(len(pair), bool)
    is_drawn[drawn] = True
    drawn_B: np.ndarray = is_drawn[inverse]
    return drawn_B
