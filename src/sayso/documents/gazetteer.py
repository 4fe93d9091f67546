"""Finds names in text: one pass over the words with an automaton (a trie) of all names of the knowledge base."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import Any, Literal, NamedTuple

from sayso.documents.name_table import Names
from sayso.documents.stop_name import stop_reason

# A word keeps an apostrophe (O'Neill) unless what follows is a possessive or a short form (Rome's). `_` joins words as
# a space does, as in corpora that write el_paso.
_LETTERS = r"[^\W_]+"
_LETTERS_WITH_ACCENTS = r"(?:[^\W_][\u0300-\u036f]*)+"
_PIECE, _ACCENTED_PIECE = (
    re.compile(rf"({letters}(?:['’](?!(?:s|re|ve|ll|d|m)\b){letters})*|[^\w\s])")
    for letters in (_LETTERS, _LETTERS_WITH_ACCENTS)
)
_EMPTY_LINE = re.compile(r"\n\s*\n")
_HERE = ""
"""Key of the names that end at a node; no piece is empty."""

_SHORT = 3
"""Names with so many letters, or fewer, must be written exactly as they are: US is not us."""

Case = Literal["capitals", "exact", "ignore"]


class Found(NamedTuple):
    """A stretch of characters that is a name, and the entities that have the name."""

    start: int
    stop: int
    entity_ids: tuple[str, ...]


@dataclass
class StoppedNames:
    """Names that are not looked for: how many for each reason, and the first few."""

    counts: dict[str, int] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def count(self, name: str, reason: str) -> None:
        """Count a name."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        if len(self.shown) < 10:
            self.shown.append(name)


class Gazetteer:
    """All names, as a trie over folded words; `stopped` says which are left out."""

    def __init__(self, names: Names, case: Case = "capitals", stop_names: Collection[str] = ()) -> None:
        self.case = case
        self._root: dict[str, Any] = {}
        self._small: set[str] = set()  # first words, folded, of names that do not begin with a capital
        self.stopped = StoppedNames()
        self.num_names = self.num_ambiguous = 0
        for name, entity_ids in _by_name(names).items():
            if reason := stop_reason(name, stop_names):
                self.stopped.count(name, reason)
            else:
                self._add(name, tuple(entity_ids))

    def _add(self, name: str, entity_ids: tuple[str, ...]) -> None:
        pieces = _piece_of(name).split(name)[1::2]
        if self.case == "ignore" or not pieces[0][0].isupper():
            self._small.add(_folded(pieces[0]))
        node = self._root
        for piece in pieces:
            node = node.setdefault(_folded(piece), {})
        node.setdefault(_HERE, []).append((_composed("".join(pieces)), entity_ids))
        self.num_names += 1
        self.num_ambiguous += len(entity_ids) > 1

    def find(self, text: str) -> list[Found]:
        """Return the names in the text, in order: of those that overlap the longest counts, then the first."""
        lowered = text.lower()
        # A few letters have a lower case of two characters: then every piece is folded by itself.
        parts = _piece_of(text).split(lowered if len(lowered) == len(text) else text)
        words = parts[1::2]
        if not text.isascii():
            words = [_folded(word) for word in words]
        ends = list(accumulate(map(len, parts)))
        found: list[Found] = []
        for number in [number for number, word in enumerate(words) if word in self._root]:
            # Most words that begin some name are ordinary words in small letters, and are settled here.
            if words[number] in self._small or not text[ends[2 * number]].islower():
                found.extend(self._from(number, words, ends, text))
        return longest_first(found)

    def entity_ids_of(self, name: str) -> tuple[str, ...]:
        """Return the entities that may be called so."""
        found = self.find(name)
        is_whole = len(found) == 1 and (found[0].start, found[0].stop) == (0, len(name))
        return found[0].entity_ids if is_whole else ()

    def _from(self, number: int, words: Sequence[str], ends: Sequence[int], text: str) -> Iterator[Found]:
        """Yield the names that begin with this word; it stands between `ends[2 * number]` and the next end."""
        node, start = self._root, ends[2 * number]
        for index in range(number, len(words)):
            node = node.get(words[index])  # type: ignore[assignment]
            if node is None:
                return
            if _HERE in node:
                stop = ends[2 * index + 1]
                entity_ids = self._fitting(node[_HERE], text[start:stop])
                if entity_ids and not (index == number and _is_joined(text, start, stop)):
                    yield Found(start, stop, entity_ids)

    def _fitting(self, names: list[tuple[str, tuple[str, ...]]], stretch: str) -> tuple[str, ...]:
        """Return the entities with a name that the stretch may be; a name written just so goes before all others."""
        if "\n" in stretch and _EMPTY_LINE.search(stretch):
            return ()
        written = _composed("".join(stretch.replace("_", " ").split()))
        if len(names) == 1 and names[0][0] == written:
            return names[0][1]
        exact = [entity_ids for name, entity_ids in names if name == written]
        fitting = exact or [entity_ids for name, entity_ids in names if _may_be(written, name, self.case)]
        return fitting[0] if len(fitting) == 1 else tuple(sorted({each for ids in fitting for each in ids}))


def longest_first(found: Sequence[Found]) -> list[Found]:
    """Return the names, in order, that are left when of overlapping ones the longest is kept, then the first.

    >>> longest_first([Found(0, 8, ("a",)), Found(4, 20, ("b",)), Found(0, 3, ("c",))])
    [Found(start=0, stop=3, entity_ids=('c',)), Found(start=4, stop=20, entity_ids=('b',))]
    """
    kept: list[Found] = []
    for cluster in _clusters(sorted(found)):
        if len(cluster) == 1:
            kept += cluster
            continue
        taken: list[Found] = []
        for each in sorted(cluster, key=lambda one: (one.start - one.stop, one.start)):
            place = bisect_left(taken, each)
            beside = taken[max(0, place - 1) : place + 1]
            if all(each.stop <= other.start or other.stop <= each.start for other in beside):
                taken.insert(place, each)
        kept += taken
    return kept


def _clusters(found: Sequence[Found]) -> Iterator[list[Found]]:
    cluster: list[Found] = []
    end = 0
    for each in found:
        if cluster and each.start >= end:
            yield cluster
            cluster = []
        cluster.append(each)
        end = max(end, each.stop)
    if cluster:
        yield cluster


def _by_name(names: Names) -> Mapping[str, list[str]]:
    """Return the entities of each name, in order of their ids."""
    pairs = sorted((name.replace("_", " "), entity_id) for entity_id, found in names.items() for name in found)
    return {
        name: [entity_id for _, entity_id in group] for name, group in groupby(dict.fromkeys(pairs), lambda p: p[0])
    }


def _piece_of(text: str) -> re.Pattern[str]:
    return _PIECE if text.isascii() or unicodedata.is_normalized("NFC", text) else _ACCENTED_PIECE


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text).replace("’", "'")


def _folded(piece: str) -> str:
    return _composed(piece).lower()


def _may_be(written: str, name: str, case: Case) -> bool:
    """Say whether a name may be written so: with further capitals, but with none of its own missing.

    >>> _may_be("WINDHOEK", "Windhoek", "capitals"), _may_be("apple", "Apple", "capitals")
    (True, False)
    """
    if case == "exact" or len(name) <= _SHORT or len(written) != len(name):
        return False
    if case == "ignore":
        return True
    return all(mine in (letter, letter.upper()) for mine, letter in zip(written, name, strict=True))


def _is_joined(text: str, start: int, stop: int) -> bool:
    """Say whether a hyphen makes the word a part of another name (Jean-Paul), not of a compound (Oslo-based)."""
    before, after = text[max(0, start - 2) : start], text[stop : stop + 2]
    is_behind = len(before) == 2 and before[1] == "-" and before[0].isalnum()
    return is_behind or (len(after) == 2 and after[0] == "-" and after[1].isupper())
