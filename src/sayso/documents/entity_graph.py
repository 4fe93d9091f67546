"""What the knowledge base says about entities, to decide which of them an ambiguous name means."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

NEW_ENTITY = "new:"
"""How the ids of entities begin that the knowledge base does not have."""

Kind = Literal["person", "place", "organization", "other", ""]

_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("person", "people", "per", "human"), "person"),
    **dict.fromkeys(("location", "place", "loc", "gpe", "geo", "city", "country", "state", "region"), "place"),
    **dict.fromkeys(("organization", "organisation", "org", "company", "business", "institution"), "organization"),
}
_TOWNS = frozenset(("city", "town", "village", "municipality", "citytown"))
_MIN_SHARE = 0.9
_MAX_DEPTH = 4
_MORE = 0.25
"""How much every further fact between two entities adds to their relatedness."""
_THIRD = 0.5
"""The relatedness of two entities that only a third one connects, if that has no other neighbours."""
_FEW = 10
"""An entity with this many neighbours counts 1 / √2 as much as one with none."""
_MOST_KEPT = 100_000
_HUB = 400
"""A common neighbour of two entities is not looked for if both have at least this many neighbours."""


def finest_type(types: Sequence[str]) -> str:
    """Return the type with the most levels (the first if several have), or an empty string if there are no types.

    >>> finest_type(["/person", "/person/artist", "/person/author"])
    '/person/artist'
    """
    return max(types, key=lambda name: name.strip("/").count("/"), default="")


def kind_of_type(name: str) -> Kind:
    """Return whether entities of a type are people, places, organizations or something else; empty without a type.

    >>> kind_of_type("/location/city"), kind_of_type("company"), kind_of_type("/work/book")
    ('place', 'organization', 'other')
    """
    return _KINDS.get(name.strip("/").partition("/")[0].lower(), "other") if name else ""


def is_new_entity(entity_id: str) -> bool:
    """Return whether an entity was found in the documents and is not in the knowledge base."""
    return entity_id.startswith(NEW_ENTITY)


def new_entity_id(kind: Kind, name: str) -> str:
    """Return the id of an entity that the knowledge base does not have.

    >>> new_entity_id("person", "Ada  Lovelace")
    'new:person/Ada Lovelace'
    """
    return f"{NEW_ENTITY}{kind}/{' '.join(name.split())}"


def kind_of_new(entity_id: str) -> str:
    """Return the kind in the id of a new entity, empty for one of the knowledge base.

    >>> kind_of_new("new:person/Ada Lovelace")
    'person'
    """
    return entity_id.removeprefix(NEW_ENTITY).partition("/")[0] if entity_id.startswith(NEW_ENTITY) else ""


def name_of_new(entity_id: str) -> str:
    """Return the name of a new entity, empty for an entity of the knowledge base.

    >>> name_of_new("new:person/Ada Lovelace"), name_of_new("Q7259")
    ('Ada Lovelace', '')
    """
    return entity_id.partition("/")[2] if entity_id.startswith(NEW_ENTITY) else ""


def _told_by(num_neighbours: int) -> float:
    return float((1 + num_neighbours / _FEW) ** -0.5)


class EntityGraph:
    """The facts as a graph: which entities are related, and which place lies in which."""

    def __init__(self, facts: Mapping[tuple[str, str], Sequence[str]], types: Mapping[str, Sequence[str]]) -> None:
        self._facts = facts
        self._finest = {entity_id: finest_type(given) for entity_id, given in types.items() if given}
        self._around: dict[str, frozenset[str]] = {}
        self._related: dict[tuple[str, str], float] = {}

    def finest(self, entity_id: str) -> str:
        """Return the finest type of an entity, or its kind if it is new, or an empty string."""
        return self._finest.get(entity_id) or kind_of_new(entity_id)

    def kind(self, entity_id: str) -> Kind:
        """Return whether an entity is a person, a place, … (as `kind_of_type`); empty if its type is unknown.

        >>> EntityGraph({}, {"rome": ["/location/city"]}).kind("rome")
        'place'
        """
        return kind_of_type(self.finest(entity_id))

    @cached_property
    def neighbours(self) -> Mapping[str, frozenset[str]]:
        """The entities that a fact relates to each entity."""
        found: dict[str, set[str]] = {}
        for head_id, tail_id in self._facts:
            found.setdefault(head_id, set()).add(tail_id)
            found.setdefault(tail_id, set()).add(head_id)
        return {entity_id: frozenset(others) for entity_id, others in found.items()}

    def relatedness(self, one: str, other: str) -> float:
        """Return how strongly the other entity, if it is named nearby, suggests this one.

        They are related if a fact connects them or if one place lies in the other, and less so if only a third entity
        connects them. The more neighbours the other entity has, or the third one, the less it counts.
        """
        if (found := self._related.get((one, other))) is None:
            if len(self._related) >= _MOST_KEPT:
                self._related.clear()
            found = self._related[one, other] = self._relatedness(one, other)
        return found

    def _relatedness(self, one: str, other: str) -> float:
        mine, theirs = self.neighbours.get(one, frozenset()), self.neighbours.get(other, frozenset())
        if other in mine or other in self.around(one) or one in self.around(other):
            num = len(self._facts.get((one, other), ())) + len(self._facts.get((other, one), ()))
            return (1 + _MORE * max(0, num - 1)) * _told_by(len(theirs))
        small, large = sorted((mine, theirs), key=len)
        degrees = [len(self.neighbours[each]) for each in small if each in large] if len(small) < _HUB else []
        return _THIRD * _told_by(min(degrees)) if degrees else 0.0

    @cached_property
    def num_facts(self) -> Mapping[str, int]:
        """The number of facts about each entity."""
        found: Counter[str] = Counter()
        for pair, relations in self._facts.items():
            for entity_id in pair:
                found[entity_id] += len(relations)
        return found

    def lies_in(self, place: str, other: str) -> bool | None:
        """Return whether the place lies in the other one; None if the knowledge base does not say.

        It does not if both lie in different places of the same type: Florence is in Italy, and Alabama is in the United
        States.
        """
        around = self.around(place)
        if other in around:
            return True
        if (self.finest(place), self.finest(other)) not in self._contained_types:
            return None
        wider = self.around(other) | {other}
        mine, theirs = self._by_type(around), self._by_type(wider)
        return False if any(not mine[name] & theirs[name] for name in mine.keys() & theirs.keys()) else None

    def is_town(self, entity_id: str) -> bool:
        """Return whether an entity's type is that of a city or a smaller place."""
        return self.finest(entity_id).rpartition("/")[2].lower() in _TOWNS

    def around(self, place: str) -> frozenset[str]:
        """Return all places that a place lies in."""
        if place not in self._around:
            found: set[str] = set()
            edge = {place}
            for _ in range(_MAX_DEPTH):
                edge = {wider for each in edge for wider in self._containers.get(each, ())} - found
                found |= edge
            self._around[place] = frozenset(found - {place})
        return self._around[place]

    def _by_type(self, places: frozenset[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for each in places:
            if name := self.finest(each):
                found.setdefault(name, set()).add(each)
        return found

    @cached_property
    def _containers(self) -> Mapping[str, frozenset[str]]:
        """The places that each place lies in directly."""
        found: dict[str, set[str]] = {}
        for inner, outer in self._containment():
            found.setdefault(inner, set()).add(outer)
        return {entity_id: frozenset(others) for entity_id, others in found.items()}

    @cached_property
    def _contained_types(self) -> frozenset[tuple[str, str]]:
        """The pairs of different types of which a place of the first lies in a place of the second."""
        pairs = {(self.finest(inner), self.finest(outer)) for inner, outer in self._containment()}
        return frozenset((inner, outer) for inner, outer in pairs if inner != outer)

    def _containment(self) -> Iterator[tuple[str, str]]:
        """Yield (inner, outer) for the facts of all relations that say where a place lies.

        These connect places with places, never in both directions; the inner places have the more common types.
        """
        by_relation: dict[str, list[tuple[str, str]]] = {}
        for pair, relations in self._facts.items():
            for relation in relations:
                by_relation.setdefault(relation, []).append(pair)
        sizes = Counter(self._finest.values())
        for pairs in by_relation.values():
            places = [pair for pair in pairs if all(self.kind(each) == "place" for each in pair)]
            known = set(places)
            is_spatial = len(places) >= max(1, _MIN_SHARE * len(pairs))
            if is_spatial and not any((tail_id, head_id) in known for head_id, tail_id in known):
                balance = sum(sizes[self.finest(head)] - sizes[self.finest(tail)] for head, tail in places)
                yield from places if balance >= 0 else ((tail_id, head_id) for head_id, tail_id in places)
