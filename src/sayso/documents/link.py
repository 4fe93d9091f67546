"""Link names to entities: decide between entities with the same name, and leave out links that are doubtful."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sayso.documents.doubt import NOTHING, Surroundings, fits_initials, stands_alone, surnames, surroundings
from sayso.documents.entity_graph import EntityGraph
from sayso.documents.gazetteer import NameMatch
from sayso.documents.nearby import LIST_GOES_ON, Near, entities_near, is_after_town, shares
from sayso.documents.settings import AmbiguityPolicy, DoubtPolicy

_PLACE_BEFORE = re.compile(r"\b(?:in|near|at|around|outside|inside|from|to|into) $")
_AFTER_COMMA = re.compile(r", ([^\W_][\w.]*)")
_INVERTED = re.compile(r", ([^\W\d_a-z])(?:\.|\w+ [A-Z]\.)")
"""The given name in a list of references: Grant, Hugh J."""

_ROUNDS = 2

# Weights of the evidence for a candidate, and the least total and lead with which it is chosen.
_NAMED, _LAST, _IN_LIST, _AFTER_IN, _AFTER_TOWN, _SHARED, _PRIOR = 1.0, 1.0, 1.0, 1.0, 2.0, 0.5, 0.4
_UNNAMED = 0.75
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
    """A name while its document is being linked: the remaining candidates, and why the link is doubtful."""

    match: NameMatch
    candidates: tuple[str, ...]
    around: Surroundings = NOTHING
    doubt: str = ""


class _Words(NamedTuple):
    """The words of an entity's names, and those that are its surnames."""

    all: frozenset[str]
    surnames: frozenset[str]


class Linker:
    """Chooses the entity of each name in a document.

    Args:
        names: The names of each entity.
        graph: What the knowledge base says about the entities.
        ambiguous: Skip names shared by several entities, or decide by context.
        doubtful: Drop doubtful links, or keep them.
    """

    def __init__(
        self,
        names: Mapping[str, Sequence[str]],
        graph: EntityGraph | None = None,
        ambiguous: AmbiguityPolicy = "context",
        doubtful: DoubtPolicy = "drop",
    ) -> None:
        self._names, self.graph = names, graph or EntityGraph({}, {})
        self._words: dict[str, _Words] = {}
        self._decides, self._drops = ambiguous == "context", doubtful == "drop"

    def link(self, text: str, found: Sequence[NameMatch]) -> list[Link]:
        """Return the link of each name of a document, in order."""
        places = {
            index: self._place(text, found, index)
            for index, (start, stop, entity_ids) in enumerate(found)
            if len(entity_ids) > 1 or not stands_alone(text, start, stop)
        }
        self._doubt_namesakes(text, found, places)
        chosen = [_only(entity_ids) for _, _, entity_ids in found]
        for index, place in places.items():
            chosen[index] = _only(place.candidates)
        if self._decides:
            self._decide_surnames(text, places, chosen)
            self._decide(text, places, found, chosen)
        links = [Link(*match[:2], entity_id, match[2]) for match, entity_id in zip(found, chosen, strict=True)]
        for index, place in places.items():
            if place.doubt:
                entity_id = None if self._drops else chosen[index]
                links[index] = Link(*place.match[:2], entity_id, place.match[2], place.doubt)
        return links

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
        elif around.word_after and any(around.word_after in self._words_of(each).all for each in candidates):
            place.doubt = ""
        if next_start == stop + 1 and text[stop].isspace():
            self._use_name_after(text, place, found[index + 1])
        elif next_start == stop + 2 and text[stop:next_start] == ", ":
            self._use_place_after(text, place, found[index + 1])
        elif (
            text[stop : stop + 1] == ","
            and (given := _INVERTED.match(text, stop))
            and self._is_surname(text[start:stop], candidates)
        ):
            self._use_initials(place, text[start:stop], given[1].lower(), f'part of "{text[start:stop]}{given[0]}"')
        return place

    def _use_title(self, place: _Place) -> None:
        """Keep only the people among the candidates of a name with a title."""
        people = tuple(each for each in place.candidates if self.graph.kind(each) in ("person", ""))
        place.candidates = people or place.candidates
        if not people:
            place.doubt = f'a title, "{place.around.title}", before a name that no person has'

    def _use_word_before(self, text: str, place: _Place) -> None:
        """Keep the candidates that have the word, or the initials, before the name in a longer name."""
        around = place.around
        if around.initials:
            self._use_initials(place, text[slice(*place.match[:2])], around.initials, place.doubt)
        elif fitting := tuple(each for each in place.candidates if around.word_before in self._words_of(each).all):
            place.candidates, place.doubt = fitting, ""

    def _use_initials(self, place: _Place, written: str, initials: str, doubt: str) -> None:
        """Keep the candidates whose given names fit the initials; if none do, the link of a person is doubtful."""
        if not any(self.graph.kind(each) in ("person", "") for each in place.candidates):
            place.doubt = ""
            return
        fitting = [each for each in place.candidates if fits_initials(initials, written, self._names.get(each, ()))]
        place.candidates, place.doubt = (tuple(fitting), "") if fitting else (place.candidates, doubt)

    def _use_name_after(self, text: str, place: _Place, after: NameMatch) -> None:
        """Doubt a name before a bare surname: the U.S. of U.S. Grant."""
        start, stop, _ = place.match
        written = text[after.start : after.stop]
        if " " in text[start:stop] or not self._is_surname(written, after.entity_ids):
            return
        place.doubt = place.doubt or f'part of "{text[start : after.stop]}"'

    def _use_place_after(self, text: str, place: _Place, after: NameMatch) -> None:
        """Use the place after a comma, in which the candidates lie or do not lie: Florence, Alabama."""
        graph = self.graph
        lies = {
            each: [graph.lies_in(each, other) for other in after.entity_ids]
            for each in place.candidates
            if graph.kind(each) == "place"
        }
        inside = tuple(each for each, answers in lies.items() if True in answers)
        outside = {each for each, answers in lies.items() if answers and set(answers) == {False}}
        if inside:
            place.candidates = inside
        elif outside and LIST_GOES_ON.match(text, after.stop):
            return
        elif outside and len(outside) == len(place.candidates):
            place.doubt = place.doubt or f'not in "{text[after.start : after.stop]}"'
        elif outside:
            place.candidates = tuple(each for each in place.candidates if each not in outside)

    def _doubt_namesakes(self, text: str, found: Sequence[NameMatch], places: dict[int, _Place]) -> None:
        """Doubt bare surnames in a document that gives them only to other people: Kevin Grant, then Grant."""
        others: dict[str, str] = {}
        for place in places.values():
            name = text[slice(*place.match[:2])] if place.doubt and place.around.word_before else ""
            if name and name not in others and self._is_surname(name, place.candidates):
                others[name] = place.around.word_before
        if not others:
            return
        bare = [
            (index, name)
            for index, (start, stop, _) in enumerate(found)
            if (name := text[start:stop]) in others and not (index in places and places[index].doubt)
        ]
        wanted = {entity_id for index, _ in bare for entity_id in found[index].entity_ids}
        named = {
            match.entity_ids[0]
            for index, match in enumerate(found)
            if len(match.entity_ids) == 1
            and match.entity_ids[0] in wanted
            and not (index in places and places[index].doubt)
            and not self._is_surname(text[slice(*match[:2])], match.entity_ids)
        }
        for index, name in bare:
            place = places.setdefault(index, _Place(found[index], found[index].entity_ids))
            if named.isdisjoint(place.candidates) and self._is_surname(name, place.candidates):
                place.doubt = f'the document names "{others[name]} {name}"'

    def _is_surname(self, written: str, candidates: Sequence[str]) -> bool:
        """Return whether a name is the surname of one of the candidates."""
        return any(written in self._words_of(each).surnames for each in candidates)

    def _words_of(self, entity_id: str) -> _Words:
        if (words := self._words.get(entity_id)) is None:
            names, is_person = self._names.get(entity_id, ()), self.graph.kind(entity_id) in ("person", "")
            all_words = frozenset(word for name in names for word in name.split())
            words = self._words[entity_id] = _Words(all_words, surnames(names) if is_person else frozenset())
        return words

    def _decide_surnames(self, text: str, places: Mapping[int, _Place], chosen: list[str | None]) -> None:
        """Choose the one person of an ambiguous surname whom the document names in full."""
        unclear = [index for index, place in places.items() if chosen[index] is None and not place.doubt]
        if not unclear:
            return
        named = {entity_id for index, entity_id in enumerate(chosen) if index not in places or not places[index].doubt}
        for index in unclear:
            place = places[index]
            known, name = named.intersection(place.candidates), text[slice(*place.match[:2])]
            if len(known) == 1 and all(name in self._words_of(each).surnames for each in place.candidates):
                chosen[index] = known.pop()

    def _decide(
        self, text: str, places: Mapping[int, _Place], found: Sequence[NameMatch], chosen: list[str | None]
    ) -> None:
        """Choose the entities of ambiguous names by context, where one candidate leads clearly.

        Names that are resolved in the first round help to resolve others in the second.
        """
        for _ in range(_ROUNDS):
            unclear = [index for index, place in places.items() if chosen[index] is None and not place.doubt]
            if not unclear:
                return
            clear = chosen.copy()
            for index, place in places.items():
                if place.doubt:
                    clear[index] = None
            signs = {
                index: self._signs(text, places[index], entities_near(text, found, clear, index)) for index in unclear
            }
            for index, own in self._with_document(text, places, clear, signs).items():
                first, second = sorted(own.values(), reverse=True)[:2]
                if first >= _LEAST + _PRIOR / len(own) and first - second >= _LEAD:
                    chosen[index] = max(own, key=own.__getitem__)

    def _with_document(
        self,
        text: str,
        places: Mapping[int, _Place],
        clear: Sequence[str | None],
        signs: Mapping[int, Mapping[str, float]],
    ) -> dict[int, dict[str, float]]:
        """Add the evidence for each candidate from the rest of the document, and from its number of facts."""
        num_clear, total = Counter(filter(None, clear)), dict[tuple[str, ...], Counter[str]]()
        for index, own in signs.items():
            total.setdefault(places[index].candidates, Counter()).update(own)
        found = {}
        for index, own in signs.items():
            place = places[index]
            written, candidates = text[slice(*place.match[:2])], place.candidates
            facts = {each: 1 + self.graph.num_facts.get(each, 0) for each in candidates}
            named, shared, prior = (shares(each, candidates) for each in (num_clear, total[candidates], facts))
            found[index] = {
                each: own[each]
                + _NAMED * named[each]
                + _SHARED * shared[each]
                + _PRIOR * prior[each]
                # Texts introduce people by their full names.
                - _UNNAMED * (not num_clear[each] and written in self._words_of(each).surnames)
                for each in candidates
            }
        return found

    def _signs(self, text: str, place: _Place, near: Near) -> dict[str, float]:
        """Return how strongly the words and entities around an ambiguous name suggest each candidate."""
        graph, (start, stop, _) = self.graph, place.match
        types = {graph.finest(other) for other in near.listed} - {""}
        is_after_in = _PLACE_BEFORE.search(text[max(0, start - 9) : start])
        after, after_town = _AFTER_COMMA.match(text, stop), is_after_town(text, start, stop)
        signs = {}
        has_town = any(graph.is_town(candidate) for candidate in place.candidates)
        for candidate in place.candidates:
            sign = sum(weight * graph.relatedness(candidate, other) for other, weight in near.weights.items())
            sign += _IN_LIST * (graph.finest(candidate) in types)
            if is_after_in and graph.kind(candidate) == "place":
                sign += _AFTER_IN
            if after and after[1] in self._words_of(candidate).all:
                sign += _LAST
            if after_town and has_town and graph.kind(candidate) == "place" and not graph.is_town(candidate):
                sign += _AFTER_TOWN
            signs[candidate] = sign
        if last := next((entity_id for entity_id in near.before if entity_id in signs), None):
            signs[last] += _LAST  # the last person of this surname
        return signs


def _only(candidates: Sequence[str]) -> str | None:
    return candidates[0] if len(candidates) == 1 else None
