"""Templates to tokens: slots are filled at random, the entities stay as marks until a line is made."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sayso.invent import filler
from sayso.invent.slots import SLOTS
from sayso.invent.wording import Wording

HEAD, TAIL, THIRD = "\x01", "\x02", "\x03"
"""Tokens that stand for the pair, and for an entity named in passing, until their names are put in."""

_MARKS = {"head": HEAD, "tail": TAIL, "third": THIRD}
_SLOT = re.compile(r"\{(\w+)\}")

# Shares chosen so that a sentence has about 38 tokens, as in FB-NYT, and one in ten names an entity twice.
_LEAD_SHARE, _SECOND_TRAIL_SHARE, _ECHO_SHARE = 0.7, 0.55, 0.1

Template: TypeAlias = "tuple[str | list[Template], ...]"


class Draft(NamedTuple):
    """A sentence in natural case whose tokens are words and marks, and the wording at its heart."""

    tokens: list[str]
    wording: Wording


class Phraser:
    """Writes sentences around wordings, with its own random stream."""

    def __init__(self, bystanders: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        """Take the names to use for slots such as `person`, in natural case."""
        self._random = rng.random
        self._slots: dict[str, Sequence[str]] = {**SLOTS, **bystanders}
        self._banks: dict[str, list[Template]] = {}
        self._templates: dict[str, Template] = {}
        self._leads = [self._compiled(text) for text in filler.LEADS]
        trails = [self._compiled(text) for text in filler.TRAILS]
        self._trails, self._last_trails = trails[::2], trails[1::2]  # apart, so that no ending comes twice
        self._echoes = [self._compiled(text) for text in filler.ECHOES]
        self._asides = [self._compiled(text) for text in filler.ASIDES]
        self._plain = [self._compiled(text) for text in filler.PLAIN]

    def sentence(self, wording: Wording, *, with_third: bool = False) -> Draft:
        """Return a sentence that holds the wording; `with_third` leaves room for a third entity."""
        out: list[str] = []
        if self._random() < _LEAD_SHARE:
            self._fill(self._pick(self._leads), out)
        self._fill(self._compiled(wording.text), out)
        if with_third:
            self._fill(self._pick(self._asides), out)
        elif self._random() < _ECHO_SHARE:
            self._fill(self._pick(self._echoes), out)
        else:
            self._fill(self._pick(self._trails), out)
        if self._random() < _SECOND_TRAIL_SHARE:
            self._fill(self._pick(self._last_trails), out)
        out.append(".")
        return Draft(" ".join(out).split(), wording)

    def plain(self) -> list[str]:
        """Return the tokens of a sentence that names no entity of the knowledge base."""
        out: list[str] = []
        self._fill(self._pick(self._plain), out)
        out.append(".")
        return " ".join(out).split()

    def _pick(self, bank: list[Template]) -> Template:
        return bank[int(self._random() * len(bank))]

    def _fill(self, template: Template, out: list[str]) -> None:
        for piece in template:
            if isinstance(piece, str):
                out.append(piece)
            else:
                self._fill(piece[int(self._random() * len(piece))], out)

    def _compiled(self, text: str) -> Template:
        if text not in self._templates:
            self._templates[text] = tuple(self._pieces(text))
        return self._templates[text]

    def _pieces(self, text: str) -> Iterator[str | list[Template]]:
        for number, piece in enumerate(_SLOT.split(text)):
            if number % 2 == 0:
                if piece.strip():
                    yield piece.strip()
            elif piece in _MARKS:
                yield _MARKS[piece]
            else:
                yield self._bank(piece)

    def _bank(self, slot: str) -> list[Template]:
        if slot not in self._banks:
            self._banks[slot] = [self._compiled(text) for text in self._slots[slot]]
        return self._banks[slot]
