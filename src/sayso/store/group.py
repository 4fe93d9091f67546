"""Group sentences, as integer columns, into bags by entity pair.

A bag has each of its sentences once, and all their labels. Shapes: B bags, N sentences as read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from sayso.records import sentence_key
from sayso.store.collect import Lines
from sayso.store.rows import Rows, starts, take
from sayso.store.table import SENTENCE_COLUMNS, BagTable
from sayso.store.vocabulary import Numbering


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Bags, with a key per sentence (equal for the same sentence in other pairs) and counts of what was left out.

    `num_facts_unread` counts facts without a readable sentence; they stay in the denominator of recall.
    """

    table: BagTable
    key_N: np.ndarray
    num_sentences_read: int
    num_repeated: int
    num_too_far_apart: int
    num_facts_unread: int


def group_lines(lines: Lines, words: Iterable[str]) -> Grouped:
    """Group sentences into bags, in order of each pair's first appearance; `words` are the tokens by id."""
    table, _, order = group(lines.table)
    num_B = table.relations.length
    facts = (np.repeat(table.head_B, num_B), np.repeat(table.tail_B, num_B), table.relations.value)
    read = zip(*(number.tolist() for number in facts), strict=True) if lines.left_out else ()
    return Grouped(
        table=table,
        key_N=_key_hashes(table.tokens, words),
        num_sentences_read=lines.num_read,
        num_repeated=lines.table.num_sentences - len(order),
        num_too_far_apart=lines.num_too_far_apart,
        num_facts_unread=len(lines.left_out.difference(read)),
    )


def _key_hashes(tokens: Rows, words: Iterable[str]) -> np.ndarray:
    """Return a 64-bit hash of each sentence's `sentence_key`: the same whether or not names are joined by `_`."""
    numbers = Numbering(words)
    parts = [
        [numbers[part] for part in sentence_key(word).split(" ")] if "_" in word or " " in word else (number,)
        for word, number in list(numbers.items())
    ]
    of_word = Rows.of_lengths(np.fromiter(chain.from_iterable(parts), np.int64), np.array([*map(len, parts)], np.int64))
    found = []
    for some in tokens.slices():
        split = of_word.take(some.value)
        found.append(Rows(split.value, split.start[some.start]).hashes())
    return np.concatenate(found)


class Bags(NamedTuple):
    """Bags, the first sentence of each, and the kept sentences in bag order, as indices of those given."""

    table: BagTable
    first_B: np.ndarray
    order: np.ndarray


def group(single: BagTable, bag_N: np.ndarray | None = None) -> Bags:
    """Merge single-sentence bags into one bag per pair, in order of first appearance, without duplicates in a bag.

    If the bag of each sentence is given (in ascending order), the bags stay as they are: equal pairs are not merged and
    duplicates are kept.
    """
    if bag_N is None:
        bag_N, first_B = _numbered(combined(single.head_B, single.tail_B))
        kept = _distinct_in_bag(bag_N, single.tokens.hashes())
    else:
        first_B, kept = np.flatnonzero(np.diff(bag_N, prepend=-1)), np.arange(len(bag_N))
    order, num_bags = kept[np.argsort(bag_N[kept], kind="stable")], len(first_B)
    label = np.unique(combined(np.repeat(bag_N, single.relations.length), single.relations.value))
    table = BagTable(
        head_B=single.head_B[first_B],
        tail_B=single.tail_B[first_B],
        relations=Rows.of_lengths((label & 0xFFFFFFFF).astype(np.int32), np.bincount(label >> 32, minlength=num_bags)),
        first_B1=starts(np.bincount(bag_N[order], minlength=num_bags)),
        **{name: take(getattr(single, name), order) for name in SENTENCE_COLUMNS},  # type: ignore[arg-type]
    )
    return Bags(table, first_B, order)


def combined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Combine two non-negative integers into one."""
    both: np.ndarray = (high.astype(np.int64) << 32) | low.astype(np.int64)
    return both


def _numbered(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key's index in order of first appearance, and the position of each first appearance."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[inverse], first[order]


def _distinct_in_bag(bag_N: np.ndarray, text_N: np.ndarray) -> np.ndarray:
    """Return the position of each first appearance of a (bag, text), in order."""
    order = np.lexsort((text_N, bag_N))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(bag_N[order]) != 0) | (np.diff(text_N[order]) != 0)
    return np.sort(order[is_first])
