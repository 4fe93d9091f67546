"""Turn templates into tokens and text; slots are filled at random, entities stay placeholders until they are named."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sayso.invent.names import WORDS
from sayso.invent.relations import Wording

HEAD, TAIL, THIRD = "\x01", "\x02", "\x03"
"""Placeholder tokens for the pair, and for a third entity mentioned in passing."""

_PLACEHOLDERS = {"head": HEAD, "tail": TAIL, "third": THIRD}
_SLOT = re.compile(r"\{(\w+)\}")

# With these shares a sentence has about 38 tokens, as in FB-NYT, and one in ten mentions an entity twice.
_LEAD_SHARE, _SECOND_TRAIL_SHARE, _ECHO_SHARE = 0.7, 0.55, 0.1

Template: TypeAlias = "tuple[str | list[Template], ...]"


class Draft(NamedTuple):
    """The tokens of a sentence in natural case, with placeholders for the entities, and its wording."""

    tokens: list[str]
    wording: Wording


class Phraser:
    """Writes sentences around wordings."""

    def __init__(self, bystanders: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        """`bystanders`: names for slots such as `person`, in natural case."""
        self._random = rng.random
        self._slots: dict[str, Sequence[str]] = {**WORDS["slots"], **bystanders}
        self._banks: dict[str, list[Template]] = {}
        self._templates: dict[str, Template] = {}
        self._filler = {name: [self._compiled(text) for text in texts] for name, texts in WORDS["filler"].items()}
        # Two lists, so that a sentence never has the same ending twice.
        trails = self._filler["trails"]
        self._filler |= {"trails": trails[::2], "last_trails": trails[1::2]}

    def sentence(self, wording: Wording, *, with_third: bool = False) -> Draft:
        """Return a sentence with the wording; `with_third` adds a placeholder for a third entity."""
        out: list[str] = []
        if self._random() < _LEAD_SHARE:
            self._add("leads", out)
        self._fill(self._compiled(wording.text), out)
        if with_third:
            self._add("asides", out)
        else:
            self._add("echoes" if self._random() < _ECHO_SHARE else "trails", out)
        if self._random() < _SECOND_TRAIL_SHARE:
            self._add("last_trails", out)
        out.append(".")
        return Draft(" ".join(out).split(), wording)

    def plain(self) -> list[str]:
        """Return the tokens of a sentence that mentions no entity."""
        out: list[str] = []
        self._add("plain", out)
        out.append(".")
        return " ".join(out).split()

    def _add(self, filler: str, out: list[str]) -> None:
        templates = self._filler[filler]
        self._fill(templates[int(self._random() * len(templates))], out)

    def _fill(self, template: Template, out: list[str]) -> None:
        for part in template:
            if isinstance(part, str):
                out.append(part)
            else:
                self._fill(part[int(self._random() * len(part))], out)

    def _compiled(self, text: str) -> Template:
        if text not in self._templates:
            self._templates[text] = tuple(self._parts(text))
        return self._templates[text]

    def _parts(self, text: str) -> Iterator[str | list[Template]]:
        for number, part in enumerate(_SLOT.split(text)):
            if number % 2 == 0:
                if part.strip():
                    yield part.strip()
            elif part in _PLACEHOLDERS:
                yield _PLACEHOLDERS[part]
            else:
                yield self._bank(part)

    def _bank(self, slot: str) -> list[Template]:
        if slot not in self._banks:
            self._banks[slot] = [self._compiled(text) for text in self._slots[slot]]
        return self._banks[slot]


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
