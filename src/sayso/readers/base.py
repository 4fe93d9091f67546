"""What a reader of sentences promises, and the loop that most of them share."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sayso.records import Sentence
from sayso.tokens import control_character

MAX_TOKENS = 5_000
"""A sentence with more tokens is a bad line: something went wrong when it was made."""


_QUOTED = re.compile("(?<!^)'[^']*'")


class BadLineError(Exception):
    """A line that cannot be read; the text is the reason, without file and line number."""


class BadLine(NamedTuple):
    """What a reader gives in place of a sentence it could not read."""

    reason: str


Line = tuple[int, str | BadLine]
"""A line's number, from 1, and its text without the line end; a `BadLine` where the bytes are not text."""

Item = tuple[int, Sentence | BadLine]
"""A line's number and what the line holds."""


class Reader(NamedTuple):
    """One form in which sentences are written.

    `read` gives one item per sentence or bad line, in order, holding no more than a few lines at a time, and raises
    nothing on any text. `recognises` says whether a file with this first line is of the form. `write` gives the
    sentence's line, which `read` reads back the same; None for forms we only read.
    """

    read: Callable[[Iterable[Line]], Iterator[Item]]
    recognises: Callable[[str], bool]
    write: Callable[[Sentence], str] | None
    about: str


def read_each(lines: Iterable[Line], parse: Callable[[str], Sentence]) -> Iterator[Item]:
    """Yield what `parse` makes of each line; blank lines are passed over."""
    for number, text in lines:
        if isinstance(text, BadLine):
            yield number, text
        elif text and not text.isspace():
            try:
                yield number, with_plain_names(parse(text))
            except BadLineError as error:
                yield number, BadLine(str(error))


def with_plain_names(sentence: Sentence) -> Sentence:
    """Return the sentence, whose ids and names must be without control characters."""
    _, (head_id, head_name, _), (tail_id, tail_name, _), relations, source, _ = sentence
    names = (head_id, head_name, tail_id, tail_name, *relations)
    if not "".join(names).isprintable():  # which nearly all are
        refuse_control(*names)
    if source:
        refuse_control(source.document_id)
    return sentence


def refuse_control(*names: str) -> None:
    """Refuse ids and names with a control character: one with a tab or a line end writes another fact into a table."""
    if found := control_character(*names):
        name = next(name for name in names if control_character(name))
        raise BadLineError(f"the id or name {name[:60]!r} has the control character {found} in it")


def kind_of_fault(reason: str) -> str:
    """Return the reason without what differs from line to line: what is quoted, except the key that it begins with.

    >>> kind_of_fault("'head' is missing"), kind_of_fault("relation '/born' is not in the inventory")
    ("'head' is missing", "relation '…' is not in the inventory")
    """
    return _QUOTED.sub("'…'", reason)


def checked_tokens(text: str) -> list[str]:
    """Return the tokens of a sentence, which is text with spaces between them."""
    tokens = text.split()
    check_length(tokens)
    return tokens


def check_length(tokens: list[str]) -> None:
    """Refuse a sentence without tokens or with absurdly many."""
    if not tokens:
        raise BadLineError("the sentence is empty")
    if len(tokens) > MAX_TOKENS:
        raise BadLineError(f"the sentence has {len(tokens):,} tokens, more than {MAX_TOKENS:,}")
