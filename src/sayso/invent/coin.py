"""Words that do not exist but could: the raw material of invented names."""

import random
import re
from collections.abc import Iterable

_ONSETS = [
    "b",
    "br",
    "c",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "sh",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
]
_VOWELS = ["a", "a", "a", "e", "e", "e", "i", "i", "o", "o", "u", "ai", "ea", "ou"]
_CODAS = ["n", "r", "l", "s", "m", "n", "r", "l", "rn", "lt", "nd", "sk", "st", "lm"]
_ENDINGS = ["a", "an", "ar", "en", "el", "er", "ia", "is", "on", "or", "um", "ana", "eda", "ello", "ida", "ova", "una"]
_SURNAME_ENDINGS = ["son", "sky", "ez", "man", "ov", "elli", "wick", "sen", "berg", "ola", "ard", "ham", "ins", "ett"]


class Coiner:
    """Coins words, each once, none of them a word of the given texts."""

    def __init__(self, texts: Iterable[str], rng: random.Random) -> None:
        self._rng = rng
        self._taken = {word for text in texts for word in re.findall(r"[a-z]+", text.lower())}

    def word(self) -> str:
        """Return a new word of two or three syllables, with a capital."""
        return self._new(_ENDINGS)

    def words(self, number: int) -> list[str]:
        """Return so many new words."""
        return [self.word() for _ in range(number)]

    def surnames(self, number: int) -> list[str]:
        """Return so many new words that sound like surnames."""
        return [self._new(_SURNAME_ENDINGS) for _ in range(number)]

    def _new(self, endings: list[str]) -> str:
        choice = self._rng.choice
        while True:
            # The longer kind keeps the supply from drying up when tens of thousands are asked for.
            middle = choice(_ONSETS) + choice(_VOWELS) if self._rng.random() < 0.4 else ""
            word = choice(_ONSETS) + choice(_VOWELS) + middle + choice(_CODAS) + choice(endings)
            if len(word) >= 5 and word not in self._taken and not re.search(r"[aeiou]{3}|[^aeiou]{4}", word):
                self._taken.add(word)
                return word.capitalize()
