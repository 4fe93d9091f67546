"""Work in pieces of bounded size, so that memory does not grow with the number of sentences."""

from collections.abc import Iterator, Sequence


def slices(num: int, at_a_time: int) -> Iterator[slice]:
    """Yield slices that cover 0 to `num`, each of `at_a_time` at most.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, num, at_a_time):
        yield slice(first, min(first + at_a_time, num))


def slices_by_cost(cost: Sequence[int], limit: int) -> Iterator[slice]:
    """Yield slices that cover all costs, each with a sum within the limit or with one member.

    >>> list(slices_by_cost([3, 1, 9, 1], limit=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    first, total = 0, 0
    for i, one in enumerate(cost):
        if i > first and total + one > limit:
            yield slice(first, i)
            first, total = i, 0
        total += one
    if first < len(cost):
        yield slice(first, len(cost))
