"""Rows of hashes, as many as a corpus has sentences, from which distinct ones are counted exactly in little memory.

Shapes: N rows.
"""

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from sayso.io.shuffle import Shelves, ranges_of_shelves

_NUM_SHELVES = 256


class HashedRows:
    """Rows of `width` 64-bit hashes; from `most_held` on they wait on disk, filed by the first of them."""

    def __init__(self, width: int, most_held: int = 50_000) -> None:
        self.width, self.most_held = width, most_held
        self._waiting = array("q")
        self._shelves: Shelves | None = None

    def add(self, row: tuple[int, ...]) -> None:
        """Take a row."""
        self._waiting.extend(row)
        if len(self._waiting) >= self.most_held * self.width:
            self.file()

    def file(self) -> Shelves:
        """Bring all rows to disk and return where they are."""
        if self._shelves and not self._waiting:
            return self._shelves
        self._shelves = self._shelves or Shelves(_NUM_SHELVES)
        row_N = np.frombuffer(self._waiting, np.int64).reshape(-1, self.width)
        self._shelves.put(row_N[:, 0] & (_NUM_SHELVES - 1), {"row": row_N})
        self._waiting = array("q")
        return self._shelves

    def held(self) -> np.ndarray | None:
        """Return the rows where all of them are in memory, None otherwise."""
        return None if self._shelves else np.array(self._waiting, np.int64).reshape(-1, self.width)


def portions(streams: Sequence[HashedRows]) -> Iterator[np.ndarray]:
    """Yield the rows of all streams, some at a time; rows that begin with the same hash come together."""
    held = [stream.held() for stream in streams]
    if all(rows is not None for rows in held):
        yield np.concatenate(held)  # type: ignore[arg-type]
        return
    filed = [stream.file() for stream in streams]
    size_K = np.sum([shelves.size_K for shelves in filed], axis=0)
    for run in ranges_of_shelves(size_K, streams[0].most_held):
        yield np.concatenate([shelves.take(*run)["row"] for shelves in filed])


def num_distinct(streams: Sequence[HashedRows], column: int) -> int:
    """Return how many different hashes a column has; equal ones must stand in rows that begin alike."""
    return sum(len(np.unique(rows[:, column])) for rows in portions(streams))
