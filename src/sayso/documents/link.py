"""Link names to entities: decide between entities with the same name, and leave out links that are doubtful."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sayso.documents.doubt import Surroundings, fits_initials, is_short_for, surroundings
from sayso.documents.entity_graph import EntityGraph
from sayso.documents.gazetteer import NameMatch
from sayso.documents.settings import AmbiguityPolicy, DoubtPolicy

_PLACE_BEFORE = re.compile(r"\b(?:in|near|at|around|outside|inside|from|to|into) $")
_AFTER_COMMA = re.compile(r", ([^\W_][\w.]*)")
_LIST_GOES_ON = re.compile(r",? (?:and|or) |, [^\W\d_a-z]")
_INVERTED = re.compile(r", ([^\W\d_a-z])(?:\.|\w+ [A-Z]\.)")
"""The given name in a list of references: Grant, Hugh J."""
_LIST = re.compile(r",? (?:and |or |& )?|/| – |-")
_REACH = 40
"""How many names before and after an ambiguous one may help to decide."""
_HALVING = 300
"""Distance in characters at which the weight of a related entity halves."""

_LONGEST_GAP = 8
_ROUNDS = 2

# Weights of the signs for a candidate, and what it needs to be chosen.
_NAMED, _LAST, _IN_LIST, _AFTER_IN, _SHARED, _PRIOR = 1.0, 1.0, 0.5, 1.0, 0.5, 0.4
_UNNAMED, _MOST = 0.75, 1.5
_LEAST, _LEAD = 0.9, 0.1


class Link(NamedTuple):
    """A name in a text and its entity: None if that could not be decided, or if the link is doubtful and left out.

    `doubt` says why the link is doubtful; `candidates` are the entities with this name.
    """

    start: int
    stop: int
    entity_id: str | None
    candidates: tuple[str, ...]
    doubt: str = ""


@dataclass(slots=True)
class _Place:
    """A name while its document is being linked: the candidates left, and why the link is doubtful."""

    match: NameMatch
    candidates: tuple[str, ...]
    around: Surroundings
    doubt: str = ""


class Linker:
    """Chooses the entity of each name in a document.

    Args:
        names: The names of each entity.
        graph: What the knowledge base says about the entities.
        ambiguous: Skip names of several entities, or decide by context.
        doubtful: Drop doubtful links, or keep them.
    """

    def __init__(
        self,
        names: Mapping[str, Sequence[str]],
        graph: EntityGraph | None = None,
        ambiguous: AmbiguityPolicy = "context",
        doubtful: DoubtPolicy = "drop",
    ) -> None:
        self._names, self._graph = names, graph or EntityGraph({}, {})
        self._words: dict[str, frozenset[str]] = {}
        self._decides, self._drops = ambiguous == "context", doubtful == "drop"

    def link(self, text: str, found: Sequence[NameMatch]) -> list[Link]:
        """Return the link of each name of a document, in order."""
        places = [self._place(text, found, index) for index in range(len(found))]
        self._doubt_namesakes(text, places)
        chosen = [each.candidates[0] if len(each.candidates) == 1 else None for each in places]
        if self._decides:
            self._decide(text, places, chosen)
        return [
            Link(
                *each.match[:2],
                None if each.doubt and self._drops else entity_id,
                each.match.entity_ids,
                each.doubt,
            )
            for each, entity_id in zip(places, chosen, strict=True)
        ]

    def _place(self, text: str, found: Sequence[NameMatch], index: int) -> _Place:
        start, stop, candidates = match = found[index]
        last_stop = found[index - 1].stop if index else -1
        next_start = found[index + 1].start if index + 1 < len(found) else -1
        around = surroundings(text, start, stop, last_stop, next_start)
        place = _Place(match, candidates, around, around.reason)
        if around.title:
            self._use_title(place)
        if around.word_before:
            self._use_word_before(text, place)
        elif around.word_after and any(self._has_word(each, around.word_after) for each in candidates):
            place.doubt = ""
        if next_start == stop + 1 and text[stop].isspace():
            self._use_name_after(text, place, found[index + 1])
        elif next_start == stop + 2 and text[stop:next_start] == ", ":
            self._use_place_after(text, place, found[index + 1])
        elif text[stop : stop + 1] == "," and (given := _INVERTED.match(text, stop)) and self._is_short(text, place):
            self._use_initials(place, text[start:stop], given[1].lower(), f'part of "{text[start:stop]}{given[0]}"')
        return place

    def _use_title(self, place: _Place) -> None:
        """Keep the people among the candidates of a name with a title."""
        people = tuple(each for each in place.candidates if self._graph.kind(each) in ("person", ""))
        place.candidates = people or place.candidates
        if not people:
            place.doubt = f'a title, "{place.around.title}", before a name that no person has'

    def _use_word_before(self, text: str, place: _Place) -> None:
        """Keep the candidates that have the word, or the initials, before the name in a longer name."""
        around = place.around
        if around.initials:
            self._use_initials(place, text[slice(*place.match[:2])], around.initials, place.doubt)
        elif fitting := tuple(each for each in place.candidates if self._has_word(each, around.word_before)):
            place.candidates, place.doubt = fitting, ""

    def _use_initials(self, place: _Place, written: str, initials: str, doubt: str) -> None:
        """Keep the candidates whose given names have the initials; without any, doubt the link of a person."""
        if not any(self._graph.kind(each) in ("person", "") for each in place.candidates):
            place.doubt = ""
            return
        fitting = [each for each in place.candidates if fits_initials(initials, written, self._names.get(each, ()))]
        place.candidates, place.doubt = (tuple(fitting), "") if fitting else (place.candidates, doubt)

    def _has_word(self, entity_id: str, word: str) -> bool:
        if (words := self._words.get(entity_id)) is None:
            words = frozenset(word for name in self._names.get(entity_id, ()) for word in name.split())
            self._words[entity_id] = words
        return word in words

    def _use_name_after(self, text: str, place: _Place, after: NameMatch) -> None:
        """Doubt a name before a bare surname: the U.S. of U.S. Grant."""
        start, stop, _ = place.match
        written = text[after.start : after.stop]
        if " " in text[start:stop] or not any(self._is_surname(written, each) for each in after.entity_ids):
            return
        place.doubt = place.doubt or f'part of "{text[start : after.stop]}"'

    def _use_place_after(self, text: str, place: _Place, after: NameMatch) -> None:
        """Use the place in which the candidates lie or do not lie: Florence, Alabama."""
        graph = self._graph
        lies = {
            each: [graph.lies_in(each, other) for other in after.entity_ids]
            for each in place.candidates
            if graph.kind(each) == "place"
        }
        inside = tuple(each for each, answers in lies.items() if True in answers)
        outside = {each for each, answers in lies.items() if answers and set(answers) == {False}}
        if inside:
            place.candidates = inside
        elif outside and _LIST_GOES_ON.match(text, after.stop):
            return
        elif outside and len(outside) == len(place.candidates):
            place.doubt = place.doubt or f'not in "{text[after.start : after.stop]}"'
        elif outside:
            place.candidates = tuple(each for each in place.candidates if each not in outside)

    def _doubt_namesakes(self, text: str, places: Sequence[_Place]) -> None:
        """Doubt bare surnames in a document that gives them only to other people: Kevin Grant, then Grant."""
        others: dict[str, str] = {}
        for each in places:
            if each.doubt and each.around.word_before and self._is_short(text, each):
                others.setdefault(text[slice(*each.match[:2])], each.around.word_before)
        if not others:
            return
        bare = [each for each in places if not each.doubt and text[slice(*each.match[:2])] in others]
        wanted = {candidate for each in bare for candidate in each.candidates}
        named = {
            each.candidates[0]
            for each in places
            if len(each.candidates) == 1
            and each.candidates[0] in wanted
            and not each.doubt
            and not self._is_short(text, each)
        }
        for each in bare:
            if named.isdisjoint(each.candidates) and self._is_short(text, each):
                name = text[slice(*each.match[:2])]
                each.doubt = f'the document names "{others[name]} {name}"'

    def _is_short(self, text: str, place: _Place) -> bool:
        """Return whether a name is the surname of one of its candidates."""
        written = text[place.match.start : place.match.stop]
        return " " not in written and any(self._is_surname(written, each) for each in place.candidates)

    def _is_surname(self, written: str, entity_id: str) -> bool:
        is_person = self._graph.kind(entity_id) in ("person", "")
        return is_person and is_short_for(written, self._names.get(entity_id, ()))

    def _decide(self, text: str, places: Sequence[_Place], chosen: list[str | None]) -> None:
        """Choose the entities of ambiguous names by context, where one candidate leads clearly.

        What is chosen in the first round helps to decide in the second.
        """
        for _ in range(_ROUNDS):
            unclear = [number for number, each in enumerate(places) if chosen[number] is None and not each.doubt]
            if not unclear:
                return
            clear = [None if each.doubt else entity_id for each, entity_id in zip(places, chosen, strict=True)]
            signs = {number: self._signs(text, places, clear, number) for number in unclear}
            for number, own in self._with_document(text, places, clear, signs).items():
                first, second = sorted(own.values(), reverse=True)[:2]
                if first >= _LEAST + _PRIOR / len(own) and first - second >= _LEAD:
                    chosen[number] = max(own, key=own.__getitem__)

    def _with_document(
        self, text: str, places: Sequence[_Place], clear: Sequence[str | None], signs: Mapping[int, Mapping[str, float]]
    ) -> dict[int, dict[str, float]]:
        """Add what speaks for each candidate at the other places of the name, and how much is known of it."""
        num_clear, total = Counter(filter(None, clear)), dict[tuple[str, ...], Counter[str]]()
        for number, own in signs.items():
            total.setdefault(places[number].candidates, Counter()).update(own)
        found = {}
        for number, own in signs.items():
            candidates = places[number].candidates
            sums, facts = total[candidates], {each: 1 + self._graph.num_facts.get(each, 0) for each in candidates}
            shares = (_shares(num_clear, candidates), _shares(sums, candidates), _shares(facts, candidates))
            written = text[slice(*places[number].match[:2])]
            found[number] = {
                each: own[each]
                + _NAMED * named[each]
                + _SHARED * shared[each]
                + _PRIOR * prior[each]
                # Texts introduce people by their full names.
                - _UNNAMED * (not num_clear[each] and self._is_surname(written, each))
                for named, shared, prior in (shares,)
                for each in candidates
            }
        return found

    def _signs(self, text: str, places: Sequence[_Place], clear: Sequence[str | None], number: int) -> dict[str, float]:
        """Return how much the surroundings of an ambiguous name speak for each candidate."""
        graph, (start, stop, _) = self._graph, places[number].match
        near, listed = _near(text, places, clear, number)
        types = {graph.finest(other) for other in listed} - {""}
        is_after_in = _PLACE_BEFORE.search(text[max(0, start - 9) : start])
        after = _AFTER_COMMA.match(text, stop)
        signs = {}
        for candidate in places[number].candidates:
            sign = sum(weight * graph.relatedness(candidate, other) for other, weight in near.items())
            sign += _IN_LIST * (graph.finest(candidate) in types)
            if is_after_in and graph.kind(candidate) == "place":
                sign += _AFTER_IN
            if after and self._has_word(candidate, after[1]):
                sign += _LAST
            signs[candidate] = sign
        before = reversed(clear[max(0, number - _REACH) : number])
        if last := next((entity_id for entity_id in before if entity_id in signs), None):
            signs[last] += _LAST  # the last person of this surname
        return signs


def _near(
    text: str, places: Sequence[_Place], clear: Sequence[str | None], number: int
) -> tuple[dict[str, float], list[str]]:
    """Return the entities near a name with their weights, by distance, and those in one list with it."""
    start, stop, _ = places[number].match
    near: dict[str, float] = {}
    listed = []
    for index in range(max(0, number - _REACH), min(len(places), number + _REACH + 1)):
        other = clear[index]
        if other is None:
            continue
        begin, end, _ = places[index].match
        distance = start - end if index < number else begin - stop
        near[other] = min(_MOST, near.get(other, 0.0) + 1 / (1 + distance / _HALVING))
        if distance < _LONGEST_GAP and _LIST.fullmatch(text, min(end, stop), max(begin, start)):
            listed.append(other)
    return near, listed


def _shares(amounts: Mapping[str, float], candidates: Sequence[str]) -> dict[str, float]:
    """Return each candidate's part of the sum of their amounts; 0 if that is 0."""
    total = sum(amounts.get(each, 0) for each in candidates)
    return {each: amounts.get(each, 0) / total if total else 0.0 for each in candidates}
