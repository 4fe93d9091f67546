"""Find the entities that are named near an ambiguous name."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sayso.documents.doubt import SUFFIXES
from sayso.documents.gazetteer import NameMatch
from sayso.documents.split import COMMON_WORDS

_REACH = 20
"""How many names before and after an ambiguous one may help to decide."""
_HALVING = 300
"""Distance in characters at which the weight of an entity halves."""
_MOST = 1.5
"""An entity that is named often weighs at most this much."""
_LIST = re.compile(r",? (?:and |or |& )?|/| – |-")
_LONGEST_GAP = 8
_AFTER_TOWN = re.compile(r"(?:^|\s)([^\W\d_a-z][\w'’.]*), $")
"""A comma between a capitalised word and a name: Roslyn, Washington."""
_LONGEST_TOWN = 40
_NO_TOWNS = SUFFIXES | COMMON_WORDS
"""Publishers, months and the first words of sentences."""
LIST_GOES_ON = re.compile(r",? (?:and|or) |, [^\W\d_a-z]")


class Near(NamedTuple):
    """The entities near a name: their weights, those in one list with it, and those before it, the nearest first."""

    weights: dict[str, float]
    listed: list[str]
    before: list[str]


def entities_near(text: str, found: Sequence[NameMatch], clear: Sequence[str | None], number: int) -> Near:
    """Return the entities near a name of a document.

    Args:
        text: The document.
        found: Its names, in order.
        clear: Their entities, None if undecided or doubtful.
        number: The index of the name.
    """
    start, stop, _ = found[number]
    near = Near({}, [], [each for each in clear[max(0, number - _REACH) : number] if each][::-1])
    for index in range(max(0, number - _REACH), min(len(found), number + _REACH + 1)):
        other = clear[index]
        if other is None:
            continue
        begin, end, _ = found[index]
        distance = start - end if index < number else begin - stop
        near.weights[other] = min(_MOST, near.weights.get(other, 0.0) + 1 / (1 + distance / _HALVING))
        if distance < _LONGEST_GAP and _LIST.fullmatch(text, min(end, stop), max(begin, start)):
            near.listed.append(other)
    return near


def shares(amounts: Mapping[str, float], candidates: Sequence[str]) -> dict[str, float]:
    """Return each candidate's share of the sum of their amounts, or 0 if the sum is 0."""
    total = sum(amounts.get(each, 0) for each in candidates)
    return {each: amounts.get(each, 0) / total if total else 0.0 for each in candidates}


def is_after_town(text: str, start: int, stop: int) -> bool:
    """Return whether a name follows a capitalised word and a comma, and no list goes on.

    >>> is_after_town("in Roslyn, Washington.", 11, 21), is_after_town("Utah, Washington and Ohio", 6, 16)
    (True, False)
    """
    before = _AFTER_TOWN.search(text[max(0, start - _LONGEST_TOWN) : start])
    return bool(before and before[1].lower() not in _NO_TOWNS and not LIST_GOES_ON.match(text, stop))
