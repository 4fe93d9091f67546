"""Turn templates into tokens and text; slots are filled at random, entities stay placeholders until they are named."""

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from sayso.invent.names import WORDS
from sayso.invent.relations import Wording

HEAD, TAIL, THIRD = "\x01", "\x02", "\x03"
"""Placeholder tokens for the pair, and for a third entity mentioned in passing."""

_PLACEHOLDERS = {"head": HEAD, "tail": TAIL, "third": THIRD}
_SLOT = re.compile(r"\{(\w+)\}")

# With these shares a sentence has about 38 tokens, as in FB-NYT, and one in ten mentions an entity twice.
_LEAD_SHARE, _SECOND_TRAIL_SHARE, _ECHO_SHARE = 0.7, 0.55, 0.1


class Draft(NamedTuple):
    """The tokens of a sentence in natural case, with placeholders for the entities, and its wording."""

    tokens: list[str]
    wording: Wording


class Phraser:
    """Writes sentences around wordings."""

    def __init__(self, bystanders: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        """`bystanders`: names for slots such as `person`, in natural case."""
        self._random = rng.random
        self._parts = cache(_SLOT.split)
        trails = WORDS["filler"]["trails"]
        # Two lists, so that a sentence never has the same ending twice.
        endings = {"trails": trails[::2], "last_trails": trails[1::2]}
        self._slots: dict[str, Sequence[str]] = {**WORDS["slots"], **bystanders, **WORDS["filler"], **endings}

    def sentence(self, wording: Wording, *, with_third: bool = False) -> Draft:
        """Return a sentence with the wording; `with_third` adds a placeholder for a third entity."""
        words = self._filled("{leads}") if self._random() < _LEAD_SHARE else []
        words += self._filled(wording.text)
        if with_third:
            words += self._filled("{asides}")
        else:
            words += self._filled("{echoes}" if self._random() < _ECHO_SHARE else "{trails}")
        if self._random() < _SECOND_TRAIL_SHARE:
            words += self._filled("{last_trails}")
        return Draft([*words, "."], wording)

    def plain(self) -> list[str]:
        """Return the tokens of a sentence that mentions no entity."""
        return [*self._filled("{plain}"), "."]

    def _filled(self, template: str) -> list[str]:
        """Return the words of a template, with its slots filled at random."""
        words: list[str] = []
        for number, part in enumerate(self._parts(template)):
            if number % 2 == 0:
                words += part.split()
            elif part in _PLACEHOLDERS:
                words.append(_PLACEHOLDERS[part])
            else:
                choices = self._slots[part]
                words += self._filled(choices[int(self._random() * len(choices))])
        return words


_NO_SPACE_BEFORE = frozenset({",", ".", ";", "'s"})


class NaturalText(NamedTuple):
    """A sentence, and the character spans of the name for each placeholder."""

    text: str
    spans: dict[str, list[tuple[int, int]]]


def capitalised(tokens: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Capitalise the first token unless it is a placeholder."""
    first, *rest = tokens
    return [first if first in names else first[0].upper() + first[1:], *rest]


def natural_text(tokens: Sequence[str], names: Mapping[str, str]) -> NaturalText:
    """Join the tokens into natural text, with names in place of placeholders.

    >>> natural_text(["\\x01", "'s", "house", "fell", "."], {"\\x01": "Dana Holt"}).text
    "Dana Holt's house fell."
    """
    text = ""
    spans: dict[str, list[tuple[int, int]]] = {placeholder: [] for placeholder in names}
    for token in capitalised(tokens, names):
        if text and token not in _NO_SPACE_BEFORE:
            text += " "
        if token in names:
            spans[token].append((len(text), len(text) + len(names[token])))
        text += names.get(token, token)
    return NaturalText(text, spans)
