"""Say why a name may be part of a longer name that is not in the list, such as the Einstein in Hans Albert Einstein.

Nearly every name is next to punctuation or a lower-case word, which a few character comparisons show; only the others
are examined closely.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sayso.documents.split import COMMON_WORDS, ENGLISH

_NEXT_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_POSSESSIVE = re.compile(r"['’](?:s|re|ve|ll|d|m)?$")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*\.|[^\W\d_]")
_COMPOUND = re.compile(r"-[^\W\d_A-Z]+$")
"""The end of an adjective: the Rome-based Ana."""
_ROMAN = re.compile(r"[IVX]{2,5}")
_GAPS, _LAST_LETTERS = " \n\xa0", '."”'
_OPENING = "\"'“‘«([{"
_SENTENCE_STOPS = ".!?:;\n\"'“”‘’«»()[]"

_TITLES, _PERSONAL_TITLES = ENGLISH["titles"], ENGLISH["personal_titles"]
SUFFIXES, _PREFIXES, _OF_NAMES = ENGLISH["suffixes"], ENGLISH["prefixes"], ENGLISH["of_names"]
_BEFORE = COMMON_WORDS | _TITLES | ENGLISH["demonyms"] - _PREFIXES
_AFTER = ENGLISH["beginners"] | _TITLES | ENGLISH["followers"] | ENGLISH["demonyms"]
_LONGEST_WORD = 40
_NEARBY = 50_000
"""How many characters on either side are searched for a word in lower case."""


class DoubtfulLink(NamedTuple):
    """A name whose link is doubtful, its place in the document, the entities that have it, and the reason."""

    document_id: str
    start: int
    stop: int
    name: str
    entity_ids: tuple[str, ...]
    reason: str

    @property
    def line(self) -> str:
        """The link as a line of tab-separated values."""
        columns = self.name, " ".join(self.entity_ids), self.reason
        end = "\t".join(columns if self.reason.isprintable() else (" ".join(each.split()) for each in columns))
        return f"{self.document_id}\t{self.start}\t{self.stop}\t{end}"


class Surroundings(NamedTuple):
    """What is next to a name: a title, initials, or a capitalised word that makes it part of a longer name.

    `reason` says why the link is doubtful; it is empty if it is not.
    """

    reason: str = ""
    title: str = ""
    initials: str = ""
    word_before: str = ""
    word_after: str = ""


NOTHING = Surroundings()


def stands_alone(text: str, start: int, stop: int) -> bool:
    """Return whether only punctuation or lower-case words are next to a name; False if a closer look is needed.

    >>> stands_alone("in Rome, of old", 3, 7), stands_alone("Hans Einstein", 5, 13), stands_alone("Rome, Italy", 0, 4)
    (True, False, False)
    """
    after = text[stop : stop + 3]
    if after[1:2].isupper() or (after[:2] == ", " and after[2:].isupper()):
        return False
    before = text[start - 2 : start] if start > 1 else ""
    if not before or before[1] not in _GAPS or not (before[0].isalnum() or before[0] in _LAST_LETTERS):
        return True
    first = text.rfind(" ", max(0, start - _LONGEST_WORD), start - 1) + 1
    is_known = first or start < _LONGEST_WORD
    return bool(is_known and text[first].islower() and text[first : start - 1] != "of")


def surroundings(text: str, start: int, stop: int, last_stop: int, next_start: int) -> Surroundings:
    """Return what is next to a name; `last_stop` and `next_start` are the edges of the names on either side.

    >>> text = "Mr. Hans Albert Einstein"
    >>> surroundings(text, 9, 24, 0, 99).reason, surroundings(text, 4, 8, 0, 99).reason
    ('part of "Hans Albert Einstein"', 'part of "Hans Albert"')
    """
    before, after = word_before(text, start), word_after(text, stop)
    if not before and not after:
        return NOTHING
    name = text[start:stop]
    # In a heading in capitals, every word has a capital.
    is_heading = stop - start > 3 and name.isupper()
    if after and next_start != stop + 1 and _extends(after, name, is_heading):
        return Surroundings(f'part of "{name} {after.rstrip(".")}"', word_after=after)
    if not before or last_stop == start - 1 or (is_heading and before.isupper()):
        return NOTHING
    return _told_by_word(text, start, before, name)


def word_after(text: str, stop: int) -> str:
    """Return the capitalised word after a name, or an empty string.

    >>> word_after("Lincoln Brewster sings", 7), word_after("Lincoln, Brewster", 7), word_after("Lincoln left", 7)
    ('Brewster', '', '')
    """
    beside = text[stop : stop + 2]
    if len(beside) < 2 or not beside[1].isupper() or not _is_gap(text, stop, beside[0]):
        return ""
    found = _NEXT_WORD.match(text, stop + 1, stop + _LONGEST_WORD)
    return _POSSESSIVE.sub("", found[0]) if found else ""


def word_before(text: str, start: int) -> str:
    """Return the capitalised word before a name, with a following "of" (`Bank of`), or an empty string.

    >>> word_before("Hans Albert", 5), word_before("the Bank of London", 12), word_before("in London", 3)
    ('Hans', 'Bank of', '')
    """
    beside = text[start - 2 : start] if start > 1 else ""
    if not beside or not (beside[0].isalnum() or beside[0] in _LAST_LETTERS) or not _is_gap(text, start - 1, beside[1]):
        return ""
    of = " of" if text[start - 4 : start - 1] == " of" else ""
    stop = start - 1 - len(of)
    begin = text.rfind(" ", max(0, stop - _LONGEST_WORD), stop) + 1 or max(0, stop - _LONGEST_WORD)
    written = text[begin:stop]
    if written.islower():
        return ""
    if "\n" in written:
        written = written.rpartition("\n")[2]
    word = written.lstrip(_OPENING)
    # A quote before a name is a nickname (Thomas "Tad" Lincoln) if it is one word.
    is_one = word[-1:] not in ('"', "”") or written[:1] in _OPENING
    return word.rstrip('"”') + of if word[:1].isupper() and is_one else ""


def _is_gap(text: str, place: int, gap: str) -> bool:
    """Return whether two words belong to one phrase; a line break separates them unless the text is wrapped."""
    return gap in " \xa0" or (gap == "\n" and place > _LONGEST_WORD and "\n" not in text[place - _LONGEST_WORD : place])


def _extends(after: str, name: str, is_heading: bool) -> bool:
    """Return whether the word after a name makes it a different, longer name."""
    word = after.rstrip(".").lower()
    if word in SUFFIXES or _ROMAN.fullmatch(after):
        return True
    if is_heading and after.isupper():
        return False
    # After an abbreviation, a capital may begin a sentence.
    return word not in _AFTER and word.rpartition("-")[2] not in _TITLES and not (name[-1] == "." and word in _BEFORE)


def _told_by_word(text: str, start: int, before: str, name: str) -> Surroundings:
    """Return what the word before a name says about it."""
    if before.isalpha() and len(before) > 1:
        word = before.lower()
    elif (found := _told_by_punctuation(before, name)) is not None:
        return found
    else:
        word = before.rstrip(".").lower().rpartition("-")[2]
    if word in _PREFIXES:
        return _longer(before, name)
    if word in _BEFORE:
        return Surroundings(title=word) if word in _PERSONAL_TITLES else NOTHING
    return NOTHING if _is_ordinary(text, start - 1 - len(before), word) else _longer(before, name)


def _told_by_punctuation(before: str, name: str) -> Surroundings | None:
    """Return what initials, `Bank of` or a possessive before a name say; None if only the word itself can tell."""
    word = before.lower()
    if _INITIALS.fullmatch(before):
        # A letter without a full stop may be a word: the article A, the Greek article.
        return (
            NOTHING
            if before in "AI" or not (before.isascii() or "." in before)
            else _longer(before, name)._replace(initials=word.replace(".", ""))
        )
    if word.endswith(" of"):
        return _longer(before, name) if word[:-3] in _OF_NAMES else NOTHING
    if word.partition("-")[0] in _PREFIXES:
        return _longer(before, name)
    ends_sentence = before[-1] == "." and word[:-1] not in ENGLISH["never_last"]
    return NOTHING if ends_sentence or _POSSESSIVE.search(before) or _COMPOUND.search(before) else None


def _longer(before: str, name: str) -> Surroundings:
    return Surroundings(f'part of "{before} {name}"', word_before=before)


def _is_ordinary(text: str, begin: int, word: str) -> bool:
    """Return whether a word is capitalised only because it begins a sentence: nearby it is also in lower case."""
    before = text[max(0, begin - 2) : begin].rstrip(" ")
    if before and before[-1] not in _SENTENCE_STOPS:
        return False
    return text.find(f" {word} ", max(0, begin - _NEARBY), begin + _NEARBY) >= 0


def surnames(names: Iterable[str]) -> frozenset[str]:
    """Return the last words of names with several words, except after "of".

    >>> sorted(surnames(("Ulysses S. Grant", "Grant", "Lord of Galena")))
    ['Grant']
    """
    words = (name.split() for name in names)
    return frozenset(each[-1] for each in words if len(each) > 1 and each[-2][0].isupper())


def fits_initials(initials: str, written: str, names: Sequence[str]) -> bool:
    """Return whether initials before a surname may be those of the entity.

    >>> fits_initials("us", "Grant", ("Ulysses S. Grant",)), fits_initials("h", "Grant", ("Ulysses S. Grant",))
    (True, False)
    """
    given = (name[: -len(written)].split() for name in names if name.endswith(f" {written}"))
    return any("".join(word[0].lower() for word in words).startswith(initials) for words in given)
