"""A long document in stretches of bounded length, cut where sentences end anyway if there is such a place."""

from collections.abc import Iterator

MAX_CHARACTERS = 100_000


def blocks(text: str, most: int = MAX_CHARACTERS) -> Iterator[tuple[int, int]]:
    """Yield stretches that make up the text: cut after an empty line, else a line, else a word, else anywhere.

    >>> list(blocks("one two\\nthree", most=9))
    [(0, 8), (8, 13)]
    """
    start = 0
    while len(text) - start > most:
        stop = _cut(text, start, start + most)
        yield start, stop
        start = stop
    if start < len(text):
        yield start, len(text)


def _cut(text: str, start: int, most: int) -> int:
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, start, most)
        if found >= start:
            return found + len(mark)
    return most
