"""Tokens with their places in characters: those of `tokens.tokenise`, cut at the edges of mentions."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sayso.tokens import Span, tokenise

Stretch = tuple[int, int]


def tokens_with_places(text: str) -> tuple[list[str], list[int]]:
    """Return the tokens of one sentence and where each begins; a token is as long as the text it stands for.

    >>> tokens_with_places("Rome's  mayor.")
    (['Rome', "'s", 'mayor', '.'], [0, 4, 8, 13])
    """
    tokens, starts, position = tokenise(text), [], 0
    for token in tokens:
        while text[position].isspace():
            position += 1
        starts.append(position)
        position += len(token)
    return tokens, starts


def cut_at(tokens: Sequence[str], starts: Sequence[int], edges: Iterable[int]) -> tuple[list[str], list[int]]:
    """Return the tokens, those with an edge inside cut in two, and where each begins.

    >>> cut_at(["Boston-based", "Acme"], [0, 13], [6])
    (['Boston', '-based', 'Acme'], [0, 6, 13])
    """
    inside = sorted(set(edges), reverse=True)
    cut_tokens, cut_starts = [], []
    for token, start in zip(tokens, starts, strict=True):
        while inside and inside[-1] <= start:
            inside.pop()
        while inside and inside[-1] < start + len(token):
            edge = inside.pop()
            cut_tokens.append(token[: edge - start])
            cut_starts.append(start)
            token, start = token[edge - start :], edge
        cut_tokens.append(token)
        cut_starts.append(start)
    return cut_tokens, cut_starts


def spelling(text: str, tokens: Sequence[str], starts: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how a text writes its tokens: the numbers of those that are `glued` and `curly`, as `Source` has them.

    >>> spelling("Rome’s  mayor.", *tokens_with_places("Rome’s  mayor."))
    ((1, 3), (1,))
    """
    stops = [start + len(token) for token, start in zip(tokens, starts, strict=True)]
    glued = [number for number, stop in enumerate(stops[:-1], 1) if starts[number] == stop]
    places = enumerate(zip(tokens, starts, stops, strict=True)) if "’" in text else ()
    curly = [number for number, (token, start, stop) in places if text[start:stop] != token]
    return tuple(glued), tuple(curly)


def spans_of(stretches: Iterable[Stretch], starts: Sequence[int]) -> list[Span]:
    """Return stretches of characters, whose edges are edges of tokens, as stretches of tokens."""
    return [Span(bisect_left(starts, start), bisect_left(starts, stop)) for start, stop in stretches]
