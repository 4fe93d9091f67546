"""An on-disk shuffle by key, for data larger than memory.

Values with the same key go to the same partition, wherever they are in a stream; partitions are then read back one by
one, so that a corpus can be grouped in bounded memory. Shapes: N values (or rows of values), K partitions.
"""

import errno
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sayso.errors import UserError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class DiskShuffle:
    """Named columns in temporary files, by partition; the files are removed with the object."""

    def __init__(self, num_partitions: int) -> None:
        self.num_partitions = num_partitions
        self._folder = tempfile.TemporaryDirectory(prefix="sayso-")
        self._blocks: dict[str, list[tuple[Path, np.ndarray]]] = {}

    def size_K(self, column: str) -> np.ndarray:
        """Return the number of values of a column in each partition."""
        sizes = (np.diff(start_K1) for _, start_K1 in self._blocks.get(column, ()))
        return sum(sizes, np.zeros(self.num_partitions, np.int64))

    def put(self, column: str, partition_N: np.ndarray, value_N: np.ndarray) -> None:
        """Append values to a column, by partition; all must have the same dtype. A full disk raises `UserError`."""
        # A stable sort of 16-bit integers takes only a few passes over the data.
        order = np.argsort(partition_N.astype(np.uint16), kind="stable")
        start_K1 = np.concatenate([[0], np.bincount(partition_N, minlength=self.num_partitions).cumsum()])
        blocks, folder = self._blocks.setdefault(column, []), Path(self._folder.name)
        file = folder / f"{column}.{len(blocks)}.npy"
        try:
            np.save(file, value_N[order])
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise UserError(
                f"{folder}: no space for temporary files: free some, or set TMPDIR to another folder"
            ) from error
        blocks.append((file, start_K1))

    def take(self, column: str, first: int, stop: int) -> np.ndarray:
        """Return a column's values in the partitions from `first` up to `stop`; within one, in the order of `put`."""
        blocks = self._blocks[column]
        return np.concatenate([np.load(file, mmap_mode="r")[start[first] : start[stop]] for file, start in blocks])


def partition_ranges(size_K: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of partitions with at most `most` values in total, or a single larger partition.

    >>> list(partition_ranges(np.array([2, 2, 9, 1]), most=5))
    [(0, 2), (2, 3), (3, 4)]
    """
    end_K, first = size_K.cumsum(), 0
    while first < len(size_K):
        before = int(end_K[first] - size_K[first])
        stop = max(first + 1, int(np.searchsorted(end_K, before + most, side="right")))
        yield first, stop
        first = stop
