"""A text to sentences, by rules: full stops that end one, and those of abbreviations, initials and numbers."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

Stretch = tuple[int, int]

_CANDIDATE = re.compile(
    # Possessive, and only from the first stop of a row: thousands of stops in a row take one look, not one each.
    r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?:\ (?:''|-rrb-))*(?=\s|$)  # stops that end a word, and what closes behind
    |[。！？｡]+[」』”’）]*              # stops of scripts that need no space
    |\n(?:[^\S\n]*\n)+               # empty lines
    |\n""",
    re.VERBOSE,
)
_STOPS = ".!?…"
_CLOSING = "\"'”’»)]"
_FOLLOWING = re.compile(r"\s*[\"'“‘«(\[¿¡]*(\w\.|\w*)")
"""The next word; an initial with its stop, so that the A. of "a.k.a. A. Diaz" is not the word that begins sentences."""
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]*$")
_LINE_END = re.compile(r"(\S)[^\S\n]*\n(?=[^\S\n]*\S)")
_DOTTED = re.compile(r"(?:\w\.)+\w")

_NEVER_LAST_LIST = """
mr mrs ms messrs dr drs prof rev fr hon gen brig col maj capt cmdr lt sgt cpl pvt adm sen rep reps gov pres supt
st ste mt ft vs cf viz approx
"""
_NEVER_LAST = frozenset(_NEVER_LAST_LIST.split())
"""Abbreviations with a word to come."""

_SELDOM_LAST_LIST = """
inc co cos corp ltd llc plc bros jr sr etc al ave blvd rd dept univ assn bldg est jan feb mar apr jun jul aug
sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun ala ariz ark calif colo conn del fla ill ind
kan ky md mich minn miss mont neb nev okla ore pa tenn tex va wash wis wyo
"""
_SELDOM_LAST = frozenset(_SELDOM_LAST_LIST.split())
"""Abbreviations that end a sentence only where the next word begins one."""

_BEFORE_NUMBER = frozenset(("no", "nos", "p", "pp", "vol", "vols", "fig", "figs", "art", "sec", "ch", "ca", "c"))

_BEGINNERS_LIST = """
a after all although an and another as at because before both but by despite during each even every few for from
he her here his how however i if in instead it its many meanwhile more most mr mrs ms my no nor not now of on
once one only or other our she since so some still such than that the their then there these they this those
though to under until we what when where whether which while who why with yet you your
"""
_BEGINNERS = frozenset(_BEGINNERS_LIST.split())
"""Words that, with a capital, begin a sentence."""


def split(text: str, names: Sequence[Stretch] = ()) -> list[Stretch]:
    """Return the stretches that are sentences, in order, without white space at their edges.

    Nothing but white space lies outside of them. No sentence ends inside one of `names`, which are in order and do not
    overlap. An empty line ends a sentence; a single line end does where most lines of the text end like sentences.

    >>> text = "Mr. Holt of Acme Inc. paid 3.5 dollars. It was J. R. Smith's."
    >>> [text[start:stop] for start, stop in split(text)]
    ['Mr. Holt of Acme Inc. paid 3.5 dollars.', "It was J. R. Smith's."]
    """
    sentences, start = [], 0
    for end in (*_ends(text, [name[0] for name in names], names), len(text)):
        piece = text[start:end]
        first = start + len(piece) - len(piece.lstrip())
        last = start + len(piece.rstrip())
        if first < last:
            sentences.append((first, last))
        start = end
    return sentences


def _ends(text: str, name_starts: list[int], names: Sequence[Stretch]) -> Iterator[int]:
    lines_are_sentences = _lines_are_sentences(text)
    for match in _CANDIDATE.finditer(text):
        found, end = match[0], match.end()
        is_line_end = found == "\n" and lines_are_sentences
        is_end = _is_end(text, match.start(), end) if found[0] in _STOPS else found != "\n" or is_line_end
        if is_end and not _is_inside(end, name_starts, names):
            yield end


def _is_inside(position: int, name_starts: list[int], names: Sequence[Stretch]) -> bool:
    index = bisect_right(name_starts, position - 1) - 1
    return index >= 0 and position < names[index][1]


def _lines_are_sentences(text: str) -> bool:
    """Say whether most lines that another follows end with a stop, rather than being wrapped."""
    ends = _LINE_END.findall(text)
    return bool(ends) and 2 * sum(last in '"”’)' or last in _STOPS for last in ends) > len(ends)


def _is_end(text: str, start: int, end: int) -> bool:
    """Say whether the stop at `start`, with what closes behind it up to `end`, ends a sentence."""
    following = _FOLLOWING.match(text, end)
    word = following[1] if following else ""
    stops = text[start:end].partition(" ")[0].rstrip(_CLOSING)
    if len(stops) == 1 and start and text[start - 1].isspace():
        return True  # a stop that stands alone: the text is tokenised already, perhaps in lower case
    if word[:1].islower():
        return False
    return stops != "." or _full_stop_ends(text[max(0, start - 40) : start], word)


def _full_stop_ends(before: str, following: str) -> bool:
    found = _WORD_BEFORE.search(before)
    word = found[0] if found else ""
    folded = word.lower()
    if folded in _NEVER_LAST or (len(word) == 1 and word.isupper()):
        return False
    if folded in _BEFORE_NUMBER and following[:1].isdigit():
        return False
    if folded in _SELDOM_LAST or _DOTTED.fullmatch(word):
        return following.lower() in _BEGINNERS
    return True
