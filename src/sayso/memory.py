"""Available memory, and a one-line error before running out of it."""

import contextlib
import os
import re
import resource
from pathlib import Path

from sayso.errors import UserError

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


def _free_bytes() -> int:
    with contextlib.suppress(OSError):
        if found := re.search(r"^MemAvailable:\s+(\d+) kB$", _MEMINFO.read_text(), re.MULTILINE):
            return int(found[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
