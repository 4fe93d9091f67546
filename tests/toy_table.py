"""Bags as columns, from a few numbers; the words 1 and 2 of a sentence are its mentions."""

from typing import NamedTuple

import numpy as np

from sayso.store.rows import Rows
from sayso.store.table import BagTable, no_source

HEAD, TAIL = 1, 2
Words = tuple[int, ...]


class Pair(NamedTuple):
    """A bag; each sentence has the word HEAD once and the word TAIL once."""

    head: int
    tail: int
    relations: tuple[int, ...] = ()
    sentences: tuple[Words, ...] = ((HEAD, 7, TAIL),)


def table_of(*pairs: Pair) -> BagTable:
    """Return the bags."""
    sentences = [words for pair in pairs for words in pair.sentences]
    num, size_B = len(sentences), np.array([len(pair.sentences) for pair in pairs], np.int64)
    return BagTable(
        head_B=np.array([pair.head for pair in pairs], np.int32),
        tail_B=np.array([pair.tail for pair in pairs], np.int32),
        relations=_rows([pair.relations for pair in pairs]),
        first_B1=np.append(0, np.cumsum(size_B)),
        tokens=_rows(sentences),
        head_spans=_rows([_span(words, HEAD) for words in sentences]),
        tail_spans=_rows([_span(words, TAIL) for words in sentences]),
        window_N2=np.array([(0, len(words)) for words in sentences], np.int32).reshape(num, 2),
        **no_source(num),
    )


def _span(words: Words, mention: int) -> Words:
    return words.index(mention), words.index(mention) + 1


def _rows(values: list[Words]) -> Rows:
    flat = np.array([each for row in values for each in row], np.int32)
    return Rows.of_lengths(flat, np.array([len(row) for row in values], np.int64))
