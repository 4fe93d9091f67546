"""Rows of different lengths, stored end to end: the values, and the start of each row."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

_ROWS_PER_SLICE = 4_096
"""Small enough that intermediate columns stay in the processor's cache."""


class Rows(NamedTuple):
    """Row i is `value[start[i] : start[i + 1]]`."""

    value: np.ndarray
    start: np.ndarray

    @classmethod
    def of_lengths(cls, value: np.ndarray, length: np.ndarray) -> "Rows":
        """Return rows of these lengths."""
        return cls(value, starts(length))

    @classmethod
    def empty(cls, num: int) -> "Rows":
        """Return `num` empty rows."""
        return cls(np.zeros(0, np.int32), np.zeros(num + 1, np.int64))

    @classmethod
    def concatenate(cls, parts: Sequence["Rows"]) -> "Rows":
        """Concatenate the rows of all parts."""
        return cls.of_lengths(np.concatenate([p.value for p in parts]), np.concatenate([p.length for p in parts]))

    def __len__(self) -> int:
        """Return the number of rows, not of fields."""
        return len(self.start) - 1

    @property
    def length(self) -> np.ndarray:
        """The number of values per row."""
        return np.diff(self.start)

    def row(self, index: int) -> np.ndarray:
        """Return the values of one row."""
        return self.value[self.start[index] : self.start[index + 1]]

    def take(self, index: np.ndarray) -> "Rows":
        """Return these rows, in this order.

        >>> Rows.of_lengths(np.array([1, 2, 3, 4]), np.array([1, 0, 3])).take(np.array([2, 0])).value.tolist()
        [2, 3, 4, 1]
        """
        first, length = self.extent(index)
        return Rows.of_lengths(self.value[ranges(first, length)], length)

    def extent(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and lengths of these rows."""
        first = self.start[:-1][index]
        return first, self.start[1:][index] - first

    def slices(self) -> Iterator["Rows"]:
        """Yield the rows in small slices, at least one."""
        for first in range(0, max(len(self), 1), _ROWS_PER_SLICE):
            start = self.start[first : first + _ROWS_PER_SLICE + 1]
            yield Rows(self.value[start[0] : start[-1]], start - start[0])

    def hashes(self) -> np.ndarray:
        """Return a 64-bit hash per row of integers, the same in every process.

        >>> Rows.of_lengths(np.array([1, 2, 1, 2, 2, 1]), np.array([2, 2, 2])).hashes().tolist()
        [14564686857275666874, 14564686857275666874, 13006918422034393304]
        """
        return np.concatenate([_hashes(part) for part in self.slices()])


def starts(length: np.ndarray) -> np.ndarray:
    """Return the starts of consecutive rows of these lengths, and the end of the last one."""
    start = np.zeros(len(length) + 1, np.int64)
    np.cumsum(length, out=start[1:])
    return start


def ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the ranges [start, start + length), concatenated.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    end = starts(length)
    index: np.ndarray = np.arange(end[-1]) + np.repeat(start - end[:-1], length)
    return index


def take(column: np.ndarray | Rows, index: np.ndarray) -> np.ndarray | Rows:
    """Return the values or rows of a column at these indices."""
    return column.take(index) if isinstance(column, Rows) else column[index]


def _hashes(rows: Rows) -> np.ndarray:
    """Return, per row, the sum of the splitmix64 hashes of each value with its position."""
    mixed = ranges(np.zeros(len(rows), np.int64), rows.length).astype(np.uint64)
    mixed <<= np.uint64(32)
    mixed |= rows.value.astype(np.uint64)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    total = np.zeros(len(mixed) + 1, np.uint64)
    np.cumsum(mixed, out=total[1:])
    return np.diff(total[rows.start])
