"""Which sentences are of one pair, and which of them say the same twice.

Shapes: B bags, N sentences as they were read.
"""

from typing import NamedTuple

import numpy as np

from sayso.store.collect import Collected
from sayso.store.rows import Rows, starts
from sayso.store.table import BagTable


class Pairing(NamedTuple):
    """The bag of each sentence, the first sentence of each bag, and the sentences that are kept, bag after bag."""

    bag_N: np.ndarray
    first_B: np.ndarray
    order: np.ndarray

    @property
    def num_bags(self) -> int:
        """B."""
        return len(self.first_B)


class Claims(NamedTuple):
    """What the lines of N sentences claim: relations of the bags, and the columns of a `BagTable` of these names."""

    relations: Rows
    expresses_N: np.ndarray
    document_N: np.ndarray
    place_N2: np.ndarray
    glued: Rows
    curly: Rows


def no_claims(num_bags: int, num_sentences: int) -> Claims:
    """Return the claims of lines that say nothing about their pairs."""
    return Claims(
        relations=Rows.empty(num_bags),
        expresses_N=np.full(num_sentences, np.nan, np.float32),
        document_N=np.full(num_sentences, -1, np.int32),
        place_N2=np.zeros((num_sentences, 2), np.int64),
        glued=Rows.empty(num_sentences),
        curly=Rows.empty(num_sentences),
    )


def pair_up(collected: Collected, bag_N: np.ndarray | None = None) -> Pairing:
    """Return one bag for each pair, in order of first appearance, with each of its sentences once.

    Where the bag of each sentence is given (never decreasing), the bags stay as they are: equal pairs are not merged
    and repeated sentences are kept.
    """
    if bag_N is None:
        bag_N, first_B = _numbered(combined(collected.head_N, collected.tail_N))
        kept = _distinct_in_bag(bag_N, collected.text_N)
    else:
        first_B, kept = np.flatnonzero(np.diff(bag_N, prepend=-1)), np.arange(len(bag_N))
    return Pairing(bag_N, first_B, kept[np.argsort(bag_N[kept], kind="stable")])


def bag_table(collected: Collected, pairing: Pairing, claims: Claims) -> BagTable:
    """Return the bags."""
    order = pairing.order
    return BagTable(
        head_B=collected.head_N[pairing.first_B],
        tail_B=collected.tail_N[pairing.first_B],
        relations=claims.relations,
        first_B1=starts(np.bincount(pairing.bag_N[order], minlength=pairing.num_bags)),
        tokens=collected.tokens.take(order),
        head_spans=collected.head_spans.take(order),
        tail_spans=collected.tail_spans.take(order),
        window_N2=collected.window_N2[order],
        expresses_N=claims.expresses_N[order],
        document_N=claims.document_N[order],
        place_N2=claims.place_N2[order],
        glued=claims.glued.take(order),
        curly=claims.curly.take(order),
    )


def combined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return one number for two, none of them negative."""
    both: np.ndarray = (high.astype(np.int64) << 32) | low.astype(np.int64)
    return both


def _numbered(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key's number in order of first appearance, and where each first appears."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[inverse], first[order]


def _distinct_in_bag(bag_N: np.ndarray, text_N: np.ndarray) -> np.ndarray:
    """Return where each (bag, text) appears first, in order."""
    order = np.lexsort((text_N, bag_N))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(bag_N[order]) != 0) | (np.diff(text_N[order]) != 0)
    return np.sort(order[is_first])
