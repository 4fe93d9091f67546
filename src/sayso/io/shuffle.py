"""Columns of numbers that need not fit into memory: on disk, filed by a key, taken back key by key.

What belongs together has one key, wherever in a stream it came; so a corpus can be grouped in bounded memory.
Shapes: N rows, K shelves.
"""

import errno
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sayso.errors import UserError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class _Block(NamedTuple):
    """What was put at one time: a file for each column, rows in order of their shelves."""

    files: dict[str, Path]
    start_K1: np.ndarray


class Shelves:
    """`num` shelves in a folder for temporary files, which goes away with the object."""

    def __init__(self, num: int) -> None:
        self.num = num
        self._folder = tempfile.TemporaryDirectory(prefix="sayso-")
        self._blocks: list[_Block] = []

    @property
    def size_K(self) -> np.ndarray:
        """Rows on each shelf."""
        sizes: np.ndarray = sum((np.diff(block.start_K1) for block in self._blocks), np.zeros(self.num, np.int64))
        return sizes

    def put(self, shelf_N: np.ndarray, columns: Mapping[str, np.ndarray]) -> None:
        """File rows on shelves; the columns have the same names and kinds each time. A full disk is a `UserError`."""
        # Of 16-bit numbers a stable sort is a few passes over the data.
        order = np.argsort(shelf_N.astype(np.uint16), kind="stable")
        start_K1 = np.concatenate([[0], np.bincount(shelf_N, minlength=self.num).cumsum()])
        folder = Path(self._folder.name)
        files = {name: folder / f"{len(self._blocks)}.{name}.npy" for name in columns}
        try:
            for name, column in columns.items():
                np.save(files[name], column[order])
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise UserError(
                f"{folder}: no room for temporary files: make some, or set TMPDIR to another place"
            ) from error
        self._blocks.append(_Block(files, start_K1))

    def take(self, first: int, stop: int) -> dict[str, np.ndarray]:
        """Return the rows of the shelves from `first` up to `stop`, those of one shelf in the order they were put."""
        pieces: dict[str, list[np.ndarray]] = {}
        for block in self._blocks:
            for name, file in block.files.items():
                rows = np.load(file, mmap_mode="r")[block.start_K1[first] : block.start_K1[stop]]
                pieces.setdefault(name, []).append(rows)
        return {name: np.concatenate(found) for name, found in pieces.items()}


def ranges_of_shelves(size_K: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Yield runs of shelves that together have at most this many rows, or one shelf that has more.

    >>> list(ranges_of_shelves(np.array([2, 2, 9, 1]), most=5))
    [(0, 2), (2, 3), (3, 4)]
    """
    end_K, first = size_K.cumsum(), 0
    while first < len(size_K):
        before = int(end_K[first] - size_K[first])
        stop = max(first + 1, int(np.searchsorted(end_K, before + most, side="right")))
        yield first, stop
        first = stop
