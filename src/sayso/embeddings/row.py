"""What the readers of vector files share: the row they give, and the faults they name."""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from sayso.errors import BadInputError

MAX_WIDTH = 65_536
"""More columns than this are not a vector but a damaged file."""


class Row(NamedTuple):
    """A word and its vector as float32 bytes; `number` is its line (text) or its place from 1 (binary)."""

    number: int
    word: str
    vector: bytes


class Place(NamedTuple):
    """Which row of which file is being read."""

    path: Path
    unit: str
    """`word` in a binary file, where there are no lines."""

    def fault(self, number: int, what: str) -> BadInputError:
        """Return the error that names file, row and fault."""
        where = f"{self.path}:{number}" if self.unit == "line" else f"{self.path}: {self.unit} {number:,}"
        return BadInputError(f"{where}: {what}")

    def word(self, number: int, raw: bytes) -> str:
        """Return the word of the row."""
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(number, f"byte {error.start + 1} of the word is not UTF-8") from error
        if not word:
            raise self.fault(number, "the word is empty")
        return word


def is_wanted(word: str, wanted: Collection[str] | None) -> bool:
    """Say whether the word's vector is to be kept; None keeps all."""
    return wanted is None or word in wanted
