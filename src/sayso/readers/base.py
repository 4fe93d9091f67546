"""The sentence reader interface, and what all readers share: bad lines and checks on ids, names and lengths."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from sayso.errors import BadInputError
from sayso.records import Sentence
from sayso.tokens import control_character

MAX_TOKENS = 5_000
"""A sentence with more tokens is a bad line: it was probably not split correctly."""

CharSpan = tuple[int, int]
"""Start and stop character offsets, half-open."""

Parsed = TypeVar("Parsed")

_QUOTED = re.compile("(?<!^)'[^']*'")


class BadLineError(Exception):
    """A line or document that cannot be read; the message is the reason, without file and line number."""


class BadLine(NamedTuple):
    """A line that a reader could not read."""

    reason: str


Line = tuple[int, str | BadLine]
"""A line number (from 1) and the line without its newline, or a `BadLine` if the bytes are not UTF-8."""

SentenceItem = tuple[int, Sentence | BadLine]
"""A line number, and the sentence or bad line found there."""


class Reader(NamedTuple):
    """One file format for sentences.

    `read` yields one item per sentence or bad line, in order, with only a few lines in memory; it does not raise on
    malformed lines. `recognises` tells from the first line whether a file has this format. `write` returns a line that
    `read` reads back unchanged; it is None for read-only formats.
    """

    read: Callable[[Iterable[Line]], Iterator[SentenceItem]]
    recognises: Callable[[str], bool]
    write: Callable[[Sentence], str] | None
    about: str


def by_line(parse: Callable[[str], Sentence]) -> Callable[[Iterable[Line]], Iterator[SentenceItem]]:
    """Return the `read` of a format with one sentence per line."""
    return lambda lines: read_each(lines, lambda text: with_plain_names(parse(text)))


def read_each(lines: Iterable[Line], parse: Callable[[str], Parsed]) -> Iterator[tuple[int, Parsed | BadLine]]:
    """Yield the record on each line, or a `BadLine` if it cannot be parsed, skipping blank lines."""
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
        elif text and not text.isspace():
            try:
                yield number, parse(text)
            except BadLineError as error:
                yield number, BadLine(str(error))


def parse_each(
    lines: Iterable[Line], parse: Callable[[str], Iterable[Parsed]]
) -> Iterator[tuple[int, Parsed | BadLine]]:
    """Like `read_each`, for lines with several records."""
    for number, records in read_each(lines, lambda text: tuple(parse(text))):
        for record in (records,) if isinstance(records, BadLine) else records:
            yield number, record


def with_plain_names(sentence: Sentence) -> Sentence:
    """Return the sentence; raise `BadLineError` if an id or a name contains a control character."""
    _, (head_id, head_name, _), (tail_id, tail_name, _), relations, source, _ = sentence
    names = (head_id, head_name, tail_id, tail_name, *relations)
    if not "".join(names).isprintable():  # true of nearly all
        refuse_control(*names)
    if source:
        refuse_control(source.document_id)
    return sentence


def refuse_control(*names: str) -> None:
    """Raise `BadLineError` for a control character: a tab or newline in a name would corrupt tables."""
    if found := control_character(*names):
        name = next(name for name in names if control_character(name))
        raise BadLineError(f"the id or name {name[:60]!r} contains the control character {found}")


def kind_of_fault(reason: str) -> str:
    """Return the reason with quoted values replaced by '…', except for a key at the start.

    >>> kind_of_fault("'head' is missing"), kind_of_fault("relation '/born' is not in the inventory")
    ("'head' is missing", "relation '…' is not in the inventory")
    """
    return _QUOTED.sub("'…'", reason)


def check_length(tokens: list[str]) -> list[str]:
    """Return the tokens; raise `BadLineError` if there are none or more than `MAX_TOKENS`."""
    if not tokens:
        raise BadLineError("the sentence is empty")
    if len(tokens) > MAX_TOKENS:
        raise BadLineError(f"the sentence has {len(tokens):,} tokens, more than {MAX_TOKENS:,}")
    return tokens


@contextmanager
def located(where: str) -> Iterator[None]:
    """Turn a `BadLineError` of the block into a `BadInputError` that names the place."""
    try:
        yield
    except BadLineError as error:
        raise BadInputError(f"{where}: {error}") from None
