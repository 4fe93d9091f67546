"""The interface of a sentence reader, and what all readers share: bad lines, and checks of ids, names and lengths."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from sayso.records import Sentence
from sayso.tokens import control_character

MAX_TOKENS = 5_000
"""A sentence with more tokens is a bad line: something went wrong when it was made."""

CharSpan = tuple[int, int]
"""Start and stop of a part of a text in characters, half open."""

Parsed = TypeVar("Parsed")

_QUOTED = re.compile("(?<!^)'[^']*'")


class BadLineError(Exception):
    """A line that cannot be read; the text is the reason, without file and line number."""


class BadLine(NamedTuple):
    """A line that a reader could not read."""

    reason: str


Line = tuple[int, str | BadLine]
"""A line's number, from 1, and its text without the line end; a `BadLine` where the bytes are not UTF-8."""

SentenceItem = tuple[int, Sentence | BadLine]
"""A line's number and its content."""


class Reader(NamedTuple):
    """One file format for sentences.

    `read` yields one item per sentence or bad line, in order, holding only a few lines at a time; no input makes it
    raise. `recognises` tells from the first line whether a file has this format. `write` returns the sentence's line,
    which `read` reads back unchanged; None for formats that are only read.
    """

    read: Callable[[Iterable[Line]], Iterator[SentenceItem]]
    recognises: Callable[[str], bool]
    write: Callable[[Sentence], str] | None
    about: str


def read_each(lines: Iterable[Line], parse: Callable[[str], Sentence]) -> Iterator[SentenceItem]:
    """Yield the sentence of each line; blank lines are skipped."""
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
        elif text and not text.isspace():
            try:
                yield number, with_plain_names(parse(text))
            except BadLineError as error:
                yield number, BadLine(str(error))


def parse_each(
    lines: Iterable[Line], parse: Callable[[str], Iterable[Parsed]]
) -> Iterator[tuple[int, Parsed | BadLine]]:
    """Yield the records of each line; a line that cannot be parsed gives one bad line and no records."""
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
        elif text and not text.isspace():
            try:
                records = tuple(parse(text))
            except BadLineError as error:
                yield number, BadLine(str(error))
            else:
                yield from ((number, record) for record in records)


def with_plain_names(sentence: Sentence) -> Sentence:
    """Return the sentence; raise `BadLineError` if an id or a name has a control character."""
    _, (head_id, head_name, _), (tail_id, tail_name, _), relations, source, _ = sentence
    names = (head_id, head_name, tail_id, tail_name, *relations)
    if not "".join(names).isprintable():  # nearly all are
        refuse_control(*names)
    if source:
        refuse_control(source.document_id)
    return sentence


def refuse_control(*names: str) -> None:
    """Raise `BadLineError` for a control character: a tab or line end in a name would write another fact to a table."""
    if found := control_character(*names):
        name = next(name for name in names if control_character(name))
        raise BadLineError(f"the id or name {name[:60]!r} contains the control character {found}")


def kind_of_fault(reason: str) -> str:
    """Return the reason without the quoted parts, which differ from line to line; a key at its start stays.

    >>> kind_of_fault("'head' is missing"), kind_of_fault("relation '/born' is not in the inventory")
    ("'head' is missing", "relation '…' is not in the inventory")
    """
    return _QUOTED.sub("'…'", reason)


def checked_tokens(text: str) -> list[str]:
    """Return the tokens of a sentence given as text with spaces between them."""
    tokens = text.split()
    check_length(tokens)
    return tokens


def check_length(tokens: list[str]) -> None:
    """Raise `BadLineError` for a sentence with no tokens or more than `MAX_TOKENS`."""
    if not tokens:
        raise BadLineError("the sentence is empty")
    if len(tokens) > MAX_TOKENS:
        raise BadLineError(f"the sentence has {len(tokens):,} tokens, more than {MAX_TOKENS:,}")
