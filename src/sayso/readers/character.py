"""From positions in characters to positions in tokens."""

from collections.abc import Iterable, Iterator

from sayso.readers.base import BadLineError
from sayso.records import Span

Stretch = tuple[int, int]


def occurrences(text: str, words: str) -> Iterator[Stretch]:
    """Yield where the words stand in the text, not as part of a longer word.

    >>> list(occurrences("Ana's aunt Ana, not Anabel", "Ana"))
    [(0, 3), (11, 14)]
    """
    start = text.find(words) if words else -1
    while start >= 0:
        stop = start + len(words)
        if not _is_inside_word(text, start) and not _is_inside_word(text, stop):
            yield start, stop
        start = text.find(words, stop)


def _is_inside_word(text: str, edge: int) -> bool:
    return 0 < edge < len(text) and text[edge - 1].isalnum() and text[edge].isalnum()


def split_at(text: str, stretches: Iterable[Stretch], also_at: Iterable[Stretch] = ()) -> tuple[list[str], list[Span]]:
    """Return the tokens of the text and each stretch of characters as a span of them.

    Tokens end at white space and at the edges of the stretches, so that a stretch is always whole tokens; likewise at
    the edges of `also_at`, for which no span is asked.

    >>> split_at("the dog's bone", [(4, 7)])
    (['the', 'dog', "'s", 'bone'], [Span(start=1, stop=2)])
    """
    wanted = list(stretches)
    for start, stop in wanted:
        if not 0 <= start < stop <= len(text):
            raise BadLineError(f"mention [{start}, {stop}] lies outside the {len(text)} characters of the sentence")
    tokens: list[str] = []
    num_before = {0: 0}
    last = 0
    for edge in sorted({edge for stretch in (*wanted, *also_at) for edge in stretch} | {len(text)}):
        tokens += text[last:edge].split()
        num_before[edge] = len(tokens)
        last = edge
    spans = [Span(num_before[start], num_before[stop]) for start, stop in wanted]
    for (start, stop), span in zip(wanted, spans, strict=True):
        if span.start == span.stop:
            raise BadLineError(f"mention [{start}, {stop}] has no word in it, only white space")
    return tokens, spans
