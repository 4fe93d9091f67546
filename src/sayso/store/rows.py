"""Rows of different lengths, stored end to end: the values, and where each row starts."""

from typing import NamedTuple

import numpy as np


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
        """Return so many rows with nothing in them."""
        return cls(np.zeros(0, np.int32), np.zeros(num + 1, np.int64))

    def __len__(self) -> int:
        """Return the number of rows, not of fields."""
        return len(self.start) - 1

    @property
    def length(self) -> np.ndarray:
        """Values per row."""
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
        """Return where these rows start and how long they are, without looking at the others."""
        first = self.start[:-1][index]
        return first, self.start[1:][index] - first


def starts(length: np.ndarray) -> np.ndarray:
    """Return where rows of these lengths start when stored end to end, and where the last one ends."""
    start = np.zeros(len(length) + 1, np.int64)
    np.cumsum(length, out=start[1:])
    return start


def ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the ranges [start, start + length) one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    end = starts(length)
    index: np.ndarray = np.arange(end[-1]) + np.repeat(start - end[:-1], length)
    return index
