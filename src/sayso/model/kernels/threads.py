"""Compiled functions that release the GIL, run in as many threads as torch uses; `over_bags` splits bags among them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.ragged import bag_starts

Returned = TypeVar("Returned")


class _Sparing:
    """How many blocks of `compiled_only` are entered now, and how many threads torch had before the first of them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.num_blocks = 0
        self.num_threads = 0


_SPARING = _Sparing()


@contextmanager
def compiled_only() -> Iterator[None]:
    """Within the block torch works in one thread, and compiled functions in as many as torch had before.

    Where compiled functions do nearly all the work, torch's own threads would only wait for theirs, and they wait by
    running in a circle on the same cores. Several threads may be in such blocks at a time.
    """
    with _SPARING.lock:
        if not _SPARING.num_blocks:
            _SPARING.num_threads = torch.get_num_threads()
            torch.set_num_threads(1)
        _SPARING.num_blocks += 1
    try:
        yield
    finally:
        with _SPARING.lock:
            _SPARING.num_blocks -= 1
            if not _SPARING.num_blocks:
                torch.set_num_threads(_SPARING.num_threads)


def shares(num: int) -> list[tuple[int, int]]:
    """Return `num` things as ranges of like size, one for each thread.

    >>> torch.set_num_threads(2)
    >>> shares(5)
    [(0, 2), (2, 5)]
    """
    parts = _SPARING.num_threads if _SPARING.num_blocks else torch.get_num_threads()
    edges = [num * part // parts for part in range(parts + 1)]
    return [(start, stop) for start, stop in pairwise(edges) if start < stop]


def in_threads(function: Callable[..., Returned], calls: Sequence[tuple[Any, ...]]) -> list[Returned]:
    """Return what the function gives for each call's arguments, the first call in this thread."""
    if not calls:
        return []
    waiting = [_pool(len(calls) - 1).submit(function, *call) for call in calls[1:]]
    return [function(*calls[0]), *(future.result() for future in waiting)]


@cache
def _pool(num: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(num, 1), thread_name_prefix="sayso")


def is_compiled(device: torch.device) -> bool:
    """Say whether such functions can be used: on a CPU, and where no gradient is asked for."""
    return device.type == "cpu" and not torch.is_grad_enabled() and find_spec("numba") is not None


def compiled_if_possible(device: torch.device) -> AbstractContextManager[None]:
    """Within the block leave the threads to such functions where they can be used."""
    return compiled_only() if is_compiled(device) else nullcontext()


def over_bags(function: Callable[..., None], bags: BagIndex, *tensors: Tensor) -> None:
    """Call function(*arrays, start_B1, first bag, bag to stop at) so that every bag has its turn.

    The arrays are the tensors' own memory where it is contiguous, so results are written into fresh ones of these.
    """
    arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
    start_B1 = bag_starts(bags.bag_N, bags.num_bags).numpy()
    in_threads(function, [(*arrays, start_B1, first, stop) for first, stop in shares(bags.num_bags)])
