"""Run functions that release the GIL in as many threads as torch; `over_bags` splits bags among them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
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

Item = TypeVar("Item")
Returned = TypeVar("Returned")


class _ActiveBlocks:
    """The number of active `compiled_only` blocks, and how many threads torch had before the first one."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.num_blocks = 0
        self.num_threads = 0


_ACTIVE = _ActiveBlocks()


@contextmanager
def compiled_only() -> Iterator[None]:
    """Limit torch to one thread and leave the others to compiled functions.

    If compiled functions do nearly all the work, torch's threads would only spin on the same cores. Blocks may
    overlap in several threads.
    """
    with _ACTIVE.lock:
        if not _ACTIVE.num_blocks:
            _ACTIVE.num_threads = torch.get_num_threads()
            torch.set_num_threads(1)
        _ACTIVE.num_blocks += 1
    try:
        yield
    finally:
        with _ACTIVE.lock:
            _ACTIVE.num_blocks -= 1
            if not _ACTIVE.num_blocks:
                torch.set_num_threads(_ACTIVE.num_threads)


def shares(num: int) -> list[tuple[int, int]]:
    """Split `num` items into ranges of about the same size, one per thread.

    >>> torch.set_num_threads(2)
    >>> shares(5)
    [(0, 2), (2, 5)]
    """
    parts = _num_threads()
    edges = [num * part // parts for part in range(parts + 1)]
    return [(start, stop) for start, stop in pairwise(edges) if start < stop]


def _num_threads() -> int:
    return _ACTIVE.num_threads if _ACTIVE.num_blocks else torch.get_num_threads()


def in_threads(function: Callable[..., Returned], calls: Sequence[tuple[Any, ...]]) -> list[Returned]:
    """Return the function's results for each tuple of arguments; the first call runs in this thread."""
    if not calls:
        return []
    waiting = [_pool(len(calls) - 1).submit(function, *call) for call in calls[1:]]
    return [function(*calls[0]), *(future.result() for future in waiting)]


def over_items(function: Callable[[Item], Returned], items: Iterable[Item]) -> list[Returned]:
    """Return the function's result for each item, without gradients; each thread takes the next item when it is free.

    Within the function, torch has one thread: for small products, this is faster than all threads on one item.

    >>> over_items(lambda number: number + 1, [1, 2, 3])
    [2, 3, 4]
    """
    waiting, found = deque(enumerate(items)), dict[int, Returned]()

    @torch.no_grad()
    def work() -> None:
        while waiting:
            torch.set_num_threads(1)
            try:
                number, item = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            found[number] = function(item)

    with compiled_only():
        try:
            in_threads(work, [()] * min(len(waiting), _num_threads()))
        finally:
            waiting.clear()  # after an error or an interrupt, other threads stop soon
    return [found[number] for number in range(len(found))]


def over_items_with_gradients(
    function: Callable[[Item], Tensor], items: Sequence[Item], inputs: Sequence[Tensor], leaves: Sequence[Tensor]
) -> list[Tensor]:
    """Return the function's result for each item, as `over_items` does, with gradients for the inputs.

    The function computes with the leaves, which have the values of the inputs, perhaps rounded. The backward pass, too,
    is divided among threads; gradients are added in the order of the items, so they do not depend on the threads.
    """
    return list(_OverItems.apply(function, items, leaves, *inputs)) if items else []  # type: ignore[no-untyped-call]


class _OverItems(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        function: Callable[[Any], Tensor],
        items: Sequence[Any],
        leaves: Sequence[Tensor],
        *inputs: Tensor,
    ) -> tuple[Tensor, ...]:
        def with_graph(item: Any) -> Tensor:
            with torch.enable_grad():
                return function(item)

        ctx.found, ctx.leaves, ctx.types = over_items(with_graph, items), leaves, [each.dtype for each in inputs]
        return tuple(each.detach() for each in ctx.found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        def gradients_of(number: int) -> tuple[Tensor | None, ...]:
            found: tuple[Tensor | None, ...] = torch.autograd.grad(
                ctx.found[number], ctx.leaves, gradients[number], allow_unused=True
            )
            return found

        of_items = over_items(gradients_of, range(len(gradients)))
        ctx.found = None
        totals = (_sum([each[number] for each in of_items], kind) for number, kind in enumerate(ctx.types))
        return None, None, None, *totals


def _sum(parts: Sequence[Tensor | None], kind: torch.dtype) -> Tensor | None:
    """Return the sum in this precision, always in the same order."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    total = found[0].to(kind, copy=True)
    for part in found[1:]:
        total += part
    return total


@cache
def _pool(num: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(num, 1), thread_name_prefix="sayso")


def is_compiled(device: torch.device) -> bool:
    """Return whether compiled functions can be used: on a CPU, without gradients, with numba installed."""
    return device.type == "cpu" and not torch.is_grad_enabled() and find_spec("numba") is not None


def compiled_if_possible(device: torch.device) -> AbstractContextManager[None]:
    """Return `compiled_only` if compiled functions can be used, else a context that does nothing."""
    return compiled_only() if is_compiled(device) else nullcontext()


def over_bags(function: Callable[..., None], bags: BagIndex, *tensors: Tensor) -> None:
    """Call function(*arrays, start_B1, first, stop) for ranges of bags that cover all of them.

    The arrays share memory with contiguous tensors, so results are written into tensors passed in.
    """
    arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
    start_B1 = bag_starts(bags.bag_N, bags.num_bags).numpy()
    in_threads(function, [(*arrays, start_B1, first, stop) for first, stop in shares(bags.num_bags)])
