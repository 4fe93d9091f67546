"""Drafts as people write them: capitals, punctuation at the word, names with spaces."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_NO_SPACE_BEFORE = frozenset({",", ".", ";", "'s"})


class NaturalText(NamedTuple):
    """A sentence and, for each mark, where its names stand, in characters."""

    text: str
    spans: dict[str, list[tuple[int, int]]]


def capitalised(tokens: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the tokens, the first with a capital unless it is the mark of a name."""
    first, *rest = tokens
    return [first if first in names else first[0].upper() + first[1:], *rest]


def natural_text(tokens: Sequence[str], names: Mapping[str, str]) -> NaturalText:
    """Return the sentence with the names in place of their marks.

    >>> natural_text(["\\x01", "'s", "house", "fell", "."], {"\\x01": "Dana Holt"}).text
    "Dana Holt's house fell."
    """
    text = ""
    spans: dict[str, list[tuple[int, int]]] = {mark: [] for mark in names}
    for token in capitalised(tokens, names):
        if text and token not in _NO_SPACE_BEFORE:
            text += " "
        if token in names:
            spans[token].append((len(text), len(text) + len(names[token])))
        text += names.get(token, token)
    return NaturalText(text, spans)
