"""Sentences as integer columns, in reading order: about 200 bytes per sentence.

Shapes: N sentences.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sayso.records import Mention, Span
from sayso.store.rows import Rows
from sayso.store.table import no_source
from sayso.store.vocabulary import Numbering
from sayso.tokens import shortest_cover


class Collected(NamedTuple):
    """N sentences with the columns of a `BagTable`, except that `relations` has a row per sentence, not per bag."""

    head_N: np.ndarray
    tail_N: np.ndarray
    window_N2: np.ndarray
    tokens: Rows
    head_spans: Rows
    tail_spans: Rows
    relations: Rows
    expresses_N: np.ndarray
    label_N: np.ndarray
    document_N: np.ndarray
    place_N2: np.ndarray
    glued: Rows
    curly: Rows

    @classmethod
    def without_claims(cls, **columns: np.ndarray | Rows) -> "Collected":
        """Return the sentences without their labels and documents."""
        num = len(columns["head_N"])
        return cls(**columns, relations=Rows.empty(num), **no_source(num))  # type: ignore[arg-type]


class _Mentions:
    """The entities in one role (head or tail), and the spans of their mentions."""

    def __init__(self, entities: Numbering, names: dict[int, str]) -> None:
        self._entities, self._names = entities, names
        self.entity, self.span, self.length = array("i"), array("i"), array("i")

    def add(self, mention: Mention) -> None:
        entity_id, name, spans = mention
        number = self._entities[entity_id]
        self._names.setdefault(number, name)
        self.entity.append(number)
        for span in spans:
            self.span.extend(span)
        self.length.append(2 * len(spans))


class Collector:
    """Collects sentences one by one, with words and entities as integer ids."""

    def __init__(self, words: Mapping[str, int], entities: Numbering, names: dict[int, str], max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self._number_of = words.__getitem__
        self._head, self._tail = _Mentions(entities, names), _Mentions(entities, names)
        self._token, self._num_tokens, self._window = array("i"), array("i"), array("i")

    @property
    def num_tokens(self) -> int:
        """The number of tokens in all collected sentences."""
        return len(self._token)

    def add(self, tokens: tuple[str, ...], head: Mention, tail: Mention) -> bool:
        """Add a sentence; return False, adding nothing, if no window of `max_tokens` contains both mentions."""
        num = len(tokens)
        window = (0, num) if num <= self.max_tokens else find_window(num, head.spans, tail.spans, self.max_tokens)
        if window is None:
            return False
        self._window.extend(window)
        self._token.extend(map(self._number_of, tokens))
        self._num_tokens.append(num)
        self._head.add(head)
        self._tail.add(tail)
        return True

    def columns(self) -> Collected:
        """Return the collected sentences as views; nothing can be added while they are in use."""
        return Collected.without_claims(
            head_N=column(self._head.entity),
            tail_N=column(self._tail.entity),
            window_N2=column(self._window).reshape(-1, 2),
            tokens=rows(self._token, self._num_tokens),
            head_spans=rows(self._head.span, self._head.length),
            tail_spans=rows(self._tail.span, self._tail.length),
        )


def column(values: array) -> np.ndarray:  # type: ignore[type-arg]
    """Return the values as a numpy array without copying them."""
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, values.typecode)


def rows(values: array, lengths: array) -> Rows:  # type: ignore[type-arg]
    """Return rows of these lengths."""
    return Rows.of_lengths(column(values), column(lengths))


def find_window(num_tokens: int, head: Sequence[Span], tail: Sequence[Span], max_tokens: int) -> tuple[int, int] | None:
    """Return the first `max_tokens` tokens if they contain both mentions, else a window around the closest mentions.

    None if no window of `max_tokens` contains both.

    >>> find_window(200, [Span(150, 151)], [Span(160, 162)], 100)
    (100, 200)
    """
    if num_tokens <= max_tokens:
        return 0, num_tokens
    start, stop = shortest_cover(head, tail)
    if stop - start > max_tokens:
        return None
    if stop <= max_tokens:
        return 0, max_tokens
    first = start - (max_tokens - (stop - start)) // 2
    first = min(max(first, 0), num_tokens - max_tokens)
    return first, first + max_tokens
