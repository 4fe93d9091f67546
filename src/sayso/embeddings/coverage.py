"""Find vectors for the words of a vocabulary: their own, the mean of their parts, or none.

Corpora join the words of a name (`el_paso`), but vector files seldom contain the joined form. Such a word gets the mean
of its parts' vectors, ignoring parts without one.
Shapes: V words of the vocabulary, D width of a vector.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sayso.embeddings.word2vec import read_word_vectors


class VectorKind(IntEnum):
    """Where a word's vector comes from; NONE is a row of zeros."""

    NONE = 0
    OWN = 1
    PARTS = 2


def vectors_for(words: Sequence[str], path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return vectors [V, D] and `VectorKind`s [V] for the words, in one pass over a word vector file."""
    wanted = set(words).union(*(parts_of(word) for word in words if "_" in word))
    found = read_word_vectors(path, wanted)
    row_of = {word: row for row, word in enumerate(found.words)}
    matrix_VD = np.zeros((len(words), found.width), dtype=np.float32)
    kind_V = np.zeros(len(words), dtype=np.uint8)
    for index, word in enumerate(words):
        if (row := row_of.get(word)) is not None:
            matrix_VD[index], kind_V[index] = found.matrix[row], VectorKind.OWN
        elif (mean_D := parts_mean(word, row_of, found.matrix)) is not None:
            matrix_VD[index], kind_V[index] = mean_D, VectorKind.PARTS
    return matrix_VD, kind_V


def parts_of(word: str) -> list[str]:
    """Return the parts of a joined name; an empty list for other words.

    >>> parts_of("el_paso"), parts_of("paso"), parts_of("_")
    (['el', 'paso'], [], [])
    """
    return [part for part in word.split("_") if part] if "_" in word else []


def parts_mean(word: str, row_of: Mapping[str, int], matrix: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the mean vector of a joined name's parts, ignoring parts without one; None if no part has one."""
    rows = [row_of[part] for part in parts_of(word) if part in row_of]
    return matrix[rows].mean(axis=0) if rows else None


def measure_coverage(kind_V: NDArray[np.uint8], count_V: NDArray[np.int64]) -> dict[str, int]:
    """Return the numbers of words and of tokens with each kind of vector, given each word's number of occurrences.

    >>> measure_coverage(np.array([VectorKind.OWN, VectorKind.PARTS]), np.array([90, 9]))["own_tokens"]
    90
    """
    order = (VectorKind.OWN, VectorKind.PARTS, VectorKind.NONE)
    words = {f"{kind.name.lower()}_words": int((kind_V == kind).sum()) for kind in order}
    return words | {f"{kind.name.lower()}_tokens": int(count_V[kind_V == kind].sum()) for kind in order}
