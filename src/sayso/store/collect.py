"""Sentences as columns, in the order in which they are read: only numbers are held, about 200 bytes a sentence.

Shapes: N sentences.
"""

from array import array
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sayso.records import Mention, Span
from sayso.store.rows import Rows
from sayso.store.vocabulary import Numbering
from sayso.store.window import find_window


class Collected(NamedTuple):
    """N sentences; `text_N` is equal for equal tokens. The other columns are those of a `BagTable`."""

    head_N: np.ndarray
    tail_N: np.ndarray
    text_N: np.ndarray
    window_N2: np.ndarray
    tokens: Rows
    head_spans: Rows
    tail_spans: Rows


class _Spans:
    """The occurrences of one role's mentions, and the number of the entity."""

    def __init__(self, entities: Numbering, names: dict[int, str]) -> None:
        self._entities, self._names = entities, names
        self.entity, self.place, self.num = array("i"), array("i"), array("i")

    def add(self, mention: Mention) -> None:
        entity_id, name, spans = mention
        number = self._entities[entity_id]
        self._names.setdefault(number, name)
        self.entity.append(number)
        for span in spans:
            self.place.extend(span)
        self.num.append(2 * len(spans))


class Collector:
    """Takes sentences one by one, words and entities by number."""

    def __init__(self, words: Mapping[str, int], entities: Numbering, names: dict[int, str], max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._number_of = words.__getitem__
        self._head, self._tail = _Spans(entities, names), _Spans(entities, names)
        self._token, self._num_tokens = array("i"), array("i")
        self._window, self._text = array("i"), array("q")

    @property
    def num_tokens(self) -> int:
        """Tokens of all sentences that were taken."""
        return len(self._token)

    def add(self, tokens: tuple[str, ...], head: Mention, tail: Mention) -> bool:
        """Take a sentence; False, and nothing is taken, where no window of `max_tokens` holds both mentions."""
        num = len(tokens)
        window = (0, num) if num <= self.max_tokens else self._find_window(num, head.spans, tail.spans)
        if window is None:
            return False
        self._window.extend(window)
        self._token.extend(map(self._number_of, tokens))
        self._num_tokens.append(num)
        self._text.append(hash(tokens))
        self._head.add(head)
        self._tail.add(tail)
        return True

    def _find_window(self, num: int, head: tuple[Span, ...], tail: tuple[Span, ...]) -> tuple[int, int] | None:
        return find_window(num, head, tail, self.max_tokens)

    def columns(self) -> Collected:
        """Return what was taken; the columns are views, and nothing can be added while they are in use."""
        return Collected(
            head_N=column(self._head.entity),
            tail_N=column(self._tail.entity),
            text_N=column(self._text),
            window_N2=column(self._window).reshape(-1, 2),
            tokens=rows(self._token, self._num_tokens),
            head_spans=rows(self._head.place, self._head.num),
            tail_spans=rows(self._tail.place, self._tail.num),
        )


def column(values: array) -> np.ndarray:  # type: ignore[type-arg]
    """Return the numbers without copying them."""
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


def rows(values: array, lengths: array) -> Rows:  # type: ignore[type-arg]
    """Return rows of these lengths."""
    return Rows.of_lengths(column(values), column(lengths))
