"""Work within the available memory: check it before allocating, split work into slices, shuffle data on disk.

The shuffle is for data larger than memory: values with the same key go to the same partition, wherever they are in a
stream; partitions are then read back one by one, so that a corpus can be grouped in bounded memory.
Shapes: N values (or rows of values), K partitions.
"""

import contextlib
import errno
import os
import re
import resource
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sayso.errors import UserError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_MEMINFO = Path("/proc/meminfo")
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def available_bytes() -> int:
    """Return how much more memory this process can allocate, within its limits."""
    limits = [_free_bytes()]
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            limits.append(int(path.read_text()))
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min(limits if limit == resource.RLIM_INFINITY else [*limits, limit])


def refuse_beyond_memory(num_bytes: int, what: str, remedy: str, available: int | None = None) -> None:
    """Raise `UserError` if this many bytes exceed the available memory (default: that of this machine)."""
    room = available_bytes() if available is None else available
    if num_bytes > room:
        raise UserError(f"{what} about {gigabytes(num_bytes)} of memory, but {gigabytes(room)} is available: {remedy}")


def gigabytes(num_bytes: int) -> str:
    """Format a size in gigabytes.

    >>> gigabytes(12_345_678_901)
    '12.3 GB'
    """
    return f"{num_bytes / 1e9:,.1f} GB"


def slices(num: int, at_a_time: int) -> Iterator[slice]:
    """Yield slices that cover 0 to `num`, each at most `at_a_time` long.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, num, at_a_time):
        yield slice(first, min(first + at_a_time, num))


def slices_by_cost(cost: Sequence[int] | np.ndarray, limit: int) -> Iterator[slice]:
    """Yield slices that cover all items, each with a total cost of at most `limit`, or with a single item.

    >>> list(slices_by_cost([3, 1, 9, 1], limit=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    total = np.concatenate([[0], np.cumsum(cost, dtype=np.int64)])
    first = 0
    while first < len(cost):
        stop = max(first + 1, int(np.searchsorted(total, total[first] + limit, side="right")) - 1)
        yield slice(first, stop)
        first = stop


def _free_bytes() -> int:
    with contextlib.suppress(OSError):
        if found := re.search(r"^MemAvailable:\s+(\d+) kB$", _MEMINFO.read_text(), re.MULTILINE):
            return int(found[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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

    def take(self, column: str, some: slice) -> np.ndarray:
        """Return a column's values in some consecutive partitions; within one, in the order of `put`."""
        blocks = self._blocks[column]
        return np.concatenate(
            [np.load(file, mmap_mode="r")[start[some.start] : start[some.stop]] for file, start in blocks]
        )
