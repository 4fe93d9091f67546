"""Tokenise sentences and find names in them.

This is a low layer because both the file readers and records built by hand need it.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

Spans = tuple["Span", ...]

_ALONE = re.compile(r"(?:^|\s)(?:[,.;?!]|''|``|-[lr]rb-|n't|'(?:s|re|ve|ll|d|m))(?:\s|$)", re.IGNORECASE)
"""A text with one of these as a separate word is already tokenised."""

BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
"""How treebank tokenizers, and so FB-NYT, write brackets."""

_OPENING = "\"'([{“‘«¿¡"
_CLOSING = "\"')]}”’»,;:?!…"
_CLITIC = re.compile(r"(?<=.)(n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"mrs?|ms|dr|prof|rev|hon|gen|col|maj|capt|lt|sgt|sen|rep|gov|pres|ste?|mt|ft|jr|sr|inc|co|corp|ltd|llc|bros|vs|etc"
    r"|al|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|ave|blvd|rd|dept|univ|calif|conn|ky",
    re.IGNORECASE,
)

_LONG = 40
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that end a line, separate columns, or control a terminal."""


def control_character(*names: str) -> str:
    """Return the repr of the first control character in ids or names, or an empty string.

    >>> control_character("m.05bcl", "Windhoek"), control_character("Q1\\tP36")
    ('', "'\\\\t'")
    """
    together = "".join(names)
    # Nearly every name is printable, which is fast to check; names with unusual spaces are not.
    found = None if together.isprintable() else _CONTROL.search(together)
    return repr(found[0]) if found else ""


class Span(NamedTuple):
    """Tokens from `start` up to but not including `stop`."""

    start: int
    stop: int

    def overlaps(self, other: "Span") -> bool:
        """Return whether the two spans share a token."""
        return self.start < other.stop and other.start < self.stop


def tokenise(text: str) -> list[str]:
    """Split a sentence into tokens; punctuation and possessives become separate tokens.

    Abbreviations keep their full stops. Text that is already tokenised is only split on white space.

    >>> tokenise("Mr. Pohamba left Windhoek, Namibia's capital (in the U.S. press too).")[4:]
    [',', 'Namibia', "'s", 'capital', '(', 'in', 'the', 'U.S.', 'press', 'too', ')', '.']
    >>> tokenise("mr. pohamba left windhoek , namibia 's capital .")
    ['mr.', 'pohamba', 'left', 'windhoek', ',', 'namibia', "'s", 'capital', '.']
    """
    return tokenise_with_starts(text)[0]


def tokenise_with_starts(text: str) -> tuple[list[str], list[int]]:
    """Return the tokens of a sentence and their start offsets; a token is as long as the text it stands for.

    >>> tokenise_with_starts("Rome's  mayor.")
    (['Rome', "'s", 'mayor', '.'], [0, 4, 8, 13])
    """
    tokens, starts, position = list[str](), list[int](), 0
    words, is_tokenised = text.split(), _ALONE.search(text)
    # A sentence has one full stop, at its end; any other belongs to an abbreviation.
    last = len(words) - 1
    for index, word in enumerate(words):
        position = text.find(word, position)
        # Most words are letters and digits only, so there is nothing to split.
        if is_tokenised or word.isalnum():
            tokens.append(word)
            starts.append(position)
            position += len(word)
            continue
        for part in _known_parts(word, index == last) if len(word) < _LONG else _parts(word, index == last):
            tokens.append(part)
            starts.append(position)
            position += len(part)
    return tokens, starts


@lru_cache(2**16)
def _known_parts(word: str, is_last: bool) -> tuple[str, ...]:
    """Return the tokens of a word that is not too long to keep."""
    return tuple(_parts(word, is_last))


def _parts(word: str, is_last: bool) -> list[str]:
    begin = 0
    while begin < len(word) - 1 and word[begin] in _OPENING:
        begin += 1
    stem, after = _without_ending(word[begin:], is_last)
    if clitic := _CLITIC.search(stem):
        stem, closing = _without_ending(stem[: clitic.start()], is_last=False)
        after = [*closing, clitic[0].replace("’", "'"), *after]
    return [*word[:begin], stem, *after]


def _without_ending(word: str, is_last: bool) -> tuple[str, list[str]]:
    """Return the word without its final punctuation, and the punctuation characters."""
    end = len(word)
    while end > 1 and (word[end - 1] in _CLOSING or (is_last and _ends_sentence(word[:end]))):
        end -= 1
    return word[:end], [*word[end:]]


def _ends_sentence(word: str) -> bool:
    stem = word[:-1]
    return word[-1] == "." and "." not in stem and len(stem) > 1 and not _ABBREVIATION.fullmatch(stem)


def locate(tokens: Sequence[str], name: str) -> Spans:
    """Return every span that matches the name, whether or not its words are joined by `_`.

    >>> locate(["from", "el_paso", "to", "san_francisco", "bay"], "san_francisco_bay")
    (Span(start=3, stop=5),)
    """
    num_times = tokens.count(name)
    if num_times == 1:
        start = tokens.index(name)
        return (Span(start, start + 1),)
    if num_times:
        return tuple(Span(i, i + 1) for i, token in enumerate(tokens) if token == name)
    return _locate_words(tokens, name)


def _locate_words(tokens: Sequence[str], name: str) -> Spans:
    """Return the spans that match the name, treating `_` as a space."""
    wanted = " ".join(name.replace("_", " ").split())
    text = " ".join(tokens).replace("_", " ")
    if not wanted or wanted not in text:
        return ()
    ends = list(accumulate((len(token) + 1 for token in tokens), initial=0))
    spans, start = [], 0
    while start < len(tokens) and (position := text.find(wanted, ends[start])) >= 0:
        # Advance by tokens, not characters: a long token may contain the name many times.
        start = bisect_left(ends, position)
        stop = bisect_left(ends, position + len(wanted) + 1)
        if (ends[start], ends[stop]) == (position, position + len(wanted) + 1):
            spans.append(Span(start, stop))
            start = stop
        elif ends[start] == position:
            start += 1
    return tuple(spans)


def locate_freely(tokens: Sequence[str], name: str) -> Spans:
    """Return the spans of a name: as given, tokenised, or else ignoring case.

    The given case is tried first, so that the country US does not match every "us".

    >>> locate_freely(["WINDHOEK", ",", "Namibia", "'s", "capital"], "Windhoek")
    (Span(start=0, stop=1),)
    """
    spelled = (name, " ".join(tokenise(name)))
    folded = [token.casefold() for token in tokens]
    found = [locate(tokens, words) for words in spelled] + [locate(folded, words.casefold()) for words in spelled]
    return next((spans for spans in found if spans), ())


def apart_from(spans: Iterable[Span], taken: Sequence[Span]) -> Spans:
    """Return the spans that do not overlap any of `taken`.

    >>> apart_from([Span(0, 2), Span(3, 4)], [Span(1, 3)])
    (Span(start=3, stop=4),)
    """
    return tuple(filter(is_free_of(taken), spans))


def is_free_of(taken: Sequence[Span]) -> Callable[[Span], bool]:
    """Return a function that checks that a span does not overlap any of `taken`.

    `taken` is sorted only once: a sentence of 5,000 tokens may have thousands of mentions.
    """
    ordered = sorted(taken)
    starts = [start for start, _ in ordered]
    reach = list(accumulate((stop for _, stop in ordered), max, initial=0))
    return lambda span: reach[bisect_left(starts, span.stop)] <= span.start


def shortest_cover(first: Sequence[Span], second: Sequence[Span]) -> Span:
    """Return the shortest span that contains one span of each; the first if several are equally short.

    >>> shortest_cover((Span(0, 1), Span(8, 9)), (Span(5, 6),))
    Span(start=5, stop=9)
    """
    return min((*_covers(first, second), *_covers(second, first)), key=lambda span: (span.stop - span.start, span))


def _covers(begin: Sequence[Span], others: Sequence[Span]) -> Iterator[Span]:
    """Yield, for each span of `begin`, the shortest span from its start that also contains one of `others`."""
    ordered = sorted(others)
    starts = [start for start, _ in ordered]
    # nearest[i] is the smallest stop in ordered[i:].
    nearest = list(accumulate((stop for _, stop in reversed(ordered)), min))[::-1]
    for start, stop in begin:
        place = bisect_left(starts, start)
        if place < len(nearest):
            yield Span(start, max(stop, nearest[place]))


def keep_apart(head: Spans, tail: Spans) -> tuple[Spans, Spans]:
    """Drop the spans of the shorter name that overlap the longer one, and return both.

    Raises:
        ValueError: head or tail has no spans left.
    """
    if _width(head) >= _width(tail):
        tail = apart_from(tail, head)
    else:
        head = apart_from(head, tail)
    if not head or not tail:
        raise ValueError("head and tail mentions are the same words of the sentence")
    return head, tail


def _width(spans: Spans) -> int:
    return max(stop - start for start, stop in spans)
