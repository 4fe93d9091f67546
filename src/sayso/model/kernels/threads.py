"""Compiled functions that release the interpreter, run in as many threads as torch uses."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


def shares(num: int) -> list[tuple[int, int]]:
    """Return `num` things as ranges of like size, one for each thread.

    >>> torch.set_num_threads(2)
    >>> shares(5)
    [(0, 2), (2, 5)]
    """
    parts = torch.get_num_threads()
    edges = [num * part // parts for part in range(parts + 1)]
    return [(start, stop) for start, stop in pairwise(edges) if start < stop]


def in_threads(function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Return what the function gives for each call's arguments, the first call in this thread."""
    if not calls:
        return []
    waiting = [_pool(len(calls) - 1).submit(function, *call) for call in calls[1:]]
    return [function(*calls[0]), *(future.result() for future in waiting)]


@cache
def _pool(num: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(num, 1), thread_name_prefix="sayso")
