"""Subwords of a pretrained tokenizer for every word and entity type of a model.

A tokenizer splits a sentence word by word, so each distinct word is split once, and a sentence becomes a table look-up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import MissingExtraError
from sayso.features.mentions import ModelInput
from sayso.store.rows import Rows
from sayso.store.vocabulary import Numbering
from sayso.tokens import BRACKETS

_NUM_SPECIAL = 6
"""The special tokens of a sentence whose mentions occur once each."""


class SpecialIds(NamedTuple):
    """The ids of the tokens that begin and end a sentence and a mention, of padding and of unknown subwords."""

    begin: int
    end: int
    padding: int
    unknown: int
    head_begin: int
    head_end: int
    tail_begin: int
    tail_end: int


@dataclass(frozen=True, kw_only=True)
class SubwordTokenizer:
    """A tokenizer as the text of its `tokenizer.json`, with its special ids."""

    text: str
    special: SpecialIds

    def split(self, words: Iterable[str]) -> Rows:
        """Return the subword ids of each word, at least one per word."""
        # With a space in front, every kind of tokenizer treats the text as a word inside a sentence.
        spaced = [" " + BRACKETS.get(word.lower(), word.replace("_", " ")) for word in words]
        ids = [
            each.ids or [self.special.unknown] for each in self._backend.encode_batch(spaced, add_special_tokens=False)
        ]
        flat = np.fromiter((number for row in ids for number in row), np.int32)
        return Rows.of_lengths(flat, np.array([len(row) for row in ids], np.int64))

    @cached_property
    def _backend(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("a pretrained encoder", "transformers") from None
        backend = Tokenizer.from_str(self.text)
        backend.no_padding()
        backend.no_truncation()
        return backend


class Subwords:
    """The subwords of a model's tokens: its words, then its entity types, then words that are new to the model.

    A new word gets its id when `numbering` is asked for it, and its subwords when `rows` is next called.
    """

    def __init__(
        self, tokenizer: SubwordTokenizer, words: Sequence[str], types: Sequence[str], rows: Rows | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.numbering = OpenNumbering(words, len(types))
        self._num_kept = len(words) + len(types)
        self._rows = tokenizer.split([*words, *map(type_words, types)]) if rows is None else rows
        assert len(self._rows) == self._num_kept

    @property
    def rows(self) -> Rows:
        """The subword ids of each token."""
        added = self.numbering.added[len(self._rows) - self._num_kept :]
        if added:
            self._rows = Rows.concatenate([self._rows, self.tokenizer.split(added)])
        return self._rows

    @property
    def kept(self) -> Rows:
        """The subword ids of the model's own words and types, which are stored with the model."""
        return Rows(self._rows.value[: self._rows.start[self._num_kept]], self._rows.start[: self._num_kept + 1])


class OpenNumbering(Numbering):
    """A numbering that reserves ids for types after its first words, and gives new words the ids after those.

    >>> numbers = OpenNumbering(["a", "b"], num_types=3)
    >>> numbers["b"], numbers["c"], numbers["d"], numbers["c"], numbers.added
    (1, 5, 6, 5, ['c', 'd'])
    """

    def __init__(self, words: Iterable[str], num_types: int) -> None:
        super().__init__(words)
        self._num_types = num_types
        self.added: list[str] = []

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self) + self._num_types
        self.added.append(key)
        return number


def num_cut(inputs: ModelInput, rows: Rows, max_length: int) -> int:
    """Return how many sentences have more than `max_length` subwords, counting markers."""
    total = np.concatenate([[0], np.cumsum(rows.length[inputs.tokens.value])])
    num_S = np.diff(total[inputs.tokens.start]) + _NUM_SPECIAL
    return int((num_S > max_length).sum())


def text_order(inputs: ModelInput, rows: Rows) -> np.ndarray:
    """Return an order of the sentences in which those with the same subwords are adjacent."""
    hashes = []
    for part in inputs.tokens.slices():
        subwords = rows.take(part.value)
        hashes.append(Rows(subwords.value, subwords.start[part.start]).hashes())
    return np.argsort(np.concatenate(hashes), kind="stable")


def type_words(name: str) -> str:
    """Return the most specific part of a type's name as words.

    >>> type_words("/location/body_of_water")
    'body of water'
    """
    return name.rpartition("/")[2].replace("_", " ") or name
