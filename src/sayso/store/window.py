"""The part of a long sentence that a model reads: a stretch that holds both mentions."""

from collections.abc import Sequence

from sayso.records import Span
from sayso.tokens import shortest_cover

DEFAULT_MAX_TOKENS = 130
"""The published setting of DirectSup."""


def find_window(num_tokens: int, head: Sequence[Span], tail: Sequence[Span], max_tokens: int) -> tuple[int, int] | None:
    """Return the first `max_tokens` tokens if they hold both mentions, else a stretch around the closest two.

    None where no stretch of `max_tokens` holds an occurrence of each.

    >>> find_window(200, [Span(150, 151)], [Span(160, 162)], 100)
    (100, 200)
    """
    if num_tokens <= max_tokens:
        return 0, num_tokens
    start, stop = shortest_cover(head, tail)
    if stop - start > max_tokens:
        return None
    if stop <= max_tokens:
        return 0, max_tokens
    first = start - (max_tokens - (stop - start)) // 2
    first = min(max(first, 0), num_tokens - max_tokens)
    return first, first + max_tokens
