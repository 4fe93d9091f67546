"""What training shares with test data: pairs, reversed pairs, sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from sayso.errors import LeakageError, option
from sayso.records import Sentence
from sayso.store.group import Grouped
from sayso.store.split import unordered_pair
from sayso.store.table import BagTable

LEAKING_FBNYT_SENTENCES = 570_088
CLEAN_FBNYT_SENTENCES = 522_611
ABOUT_LEAKING_FBNYT = (
    f"this is the {LEAKING_FBNYT_SENTENCES:,}-sentence release of FB-NYT, which contains test pairs and inflates"
    f" results; the one without them has {CLEAN_FBNYT_SENTENCES:,} training sentences"
)

_BRACKETS = frozenset(f"-{side}{kind}b-" for side in "lr" for kind in "rsc")
"""How tokenised corpora spell brackets: -lrb- and the like."""


@dataclass(frozen=True, kw_only=True)
class Leakage:
    """How much of the test data stands in the training data too."""

    test_pairs_in_train: int
    test_facts_in_train: int
    reversed_test_pairs_in_train: int
    test_sentences_in_train: int
    train_sentences_of_test_pairs: int


def find_leakage(train: Grouped, test: Grouped) -> Leakage:
    """Return what the two parts, numbered by one vocabulary, have in common."""
    train_pair, test_pair = _pair(train.table), _pair(test.table)
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
    """Raise `LeakageError` if a test pair stands in training, naming the release of FB-NYT that is known for it."""
    if not leakage.test_pairs_in_train:
        return
    known = f" Beware: {ABOUT_LEAKING_FBNYT}." if num_train_sentences == LEAKING_FBNYT_SENTENCES else ""
    drop, allow = option('leak="drop"', "--leak drop"), option('leak="allow"', "--leak allow")
    raise LeakageError(
        f"{leakage.test_pairs_in_train:,} test pairs stand in the training data (in"
        f" {leakage.train_sentences_of_test_pairs:,} sentences; {leakage.test_facts_in_train:,} facts).{known}"
        f" Leave them out with {drop}, or keep them with {allow}."
    )


def without_pairs_of(train: Grouped, test: BagTable) -> Grouped:
    """Return the training bags whose pair is not a test pair."""
    is_kept_B = ~np.isin(_pair(train.table), _pair(test))
    is_kept_N = is_kept_B[train.table.bag_N]
    return replace(train, table=train.table.keep_sentences(is_kept_N), key_N=train.key_N[is_kept_N])


def not_in_test(sentences: Sequence[Sentence], test: BagTable, words: Sequence[str]) -> list[Sentence]:
    """Return the directly supervised sentences that test does not have; `words` are the words of the table by number.

    They are compared by their letters and digits alone: they come from corpora that cut words, spell brackets and
    leave out commas otherwise than the one tested on.
    """
    bare = [_bare(word) for word in words]
    rows = map(test.tokens.row, range(test.num_sentences))
    tested = {"".join([bare[number] for number in row.tolist()]) for row in rows}
    return [sentence for sentence in sentences if "".join(map(_bare, sentence.tokens)) not in tested]


@cache
def _bare(word: str) -> str:
    return "" if word.lower() in _BRACKETS else "".join(filter(str.isalnum, word.lower()))


def _pair(table: BagTable) -> np.ndarray:
    pair_B: np.ndarray = (table.head_B.astype(np.int64) << 32) | table.tail_B
    return pair_B


def _facts(table: BagTable, pair_B: np.ndarray) -> np.ndarray:
    """Return one row of (pair, relation) per fact, as bytes that compare."""
    fact = np.stack([np.repeat(pair_B, table.relations.length), table.relations.value.astype(np.int64)], axis=1)
    return np.ascontiguousarray(fact).view([("pair", np.int64), ("relation", np.int64)]).ravel()
