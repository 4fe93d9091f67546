"""Choose the training and test pairs: related ones by relation, unrelated ones with the same types."""

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sayso.invent.relations import PEOPLE, RELATIONS, SCENE_OF_KINDS, SCENES, marked_relations, name_class, strongest
from sayso.invent.world import World

_UNRELATED_TYPES_SHARE = 0.15
"""Fraction of NA pairs whose types no relation connects."""

_GUEST_KINDS = (*PEOPLE, "city", "company")


class EntityPair(NamedTuple):
    """Head and tail indices, and their relations in the knowledge base (empty for NA)."""

    head: int
    tail: int
    relations: tuple[str, ...]


def unordered(head: int, tail: int) -> tuple[int, int]:
    """Return the pair without its direction."""
    return (head, tail) if head < tail else (tail, head)


def related_pairs(world: World) -> list[EntityPair]:
    """Return all pairs with a relation of the inventory."""
    return [EntityPair(head, tail, relations) for (head, tail), relations in world.labels().items()]


def marked_entity(world: World, pair: EntityPair) -> int:
    """Return the entity of the pair whose name the shortcut affects."""
    scene = SCENES[SCENE_OF_KINDS[world.kinds[pair.head], world.kinds[pair.tail]]]
    return pair.head if scene.marked == "head" else pair.tail


class Shortcut:
    """Ties each entity to one of its relations; training pairs favour that relation, test pairs do not."""

    def __init__(
        self, world: World, pairs: Sequence[EntityPair], strength: float, test_share: float, rng: random.Random
    ):
        relations: dict[int, dict[str, None]] = {}
        for pair in pairs:
            of_entity = relations.setdefault(marked_entity(world, pair), {})
            of_entity.update(dict.fromkeys(strongest(pair.relations)))
        self._world, self._random = world, rng.random
        # Choosing the pair and naming the entity each follow the shortcut with probability √strength.
        self._root = strength**0.5
        self._relations = relations
        self.relation = {entity: rng.choice(list(names)) for entity, names in relations.items()}
        self._is_reserved = {entity: rng.random() < test_share for entity in relations}

    def is_faithful(self, pair: EntityPair) -> bool:
        """Return whether the pair has the relation that its marked entity is tied to."""
        return self.relation[marked_entity(self._world, pair)] in strongest(pair.relations)

    def allowed(self, pair: EntityPair) -> tuple[bool, bool]:
        """Return whether the pair should be used in training, and whether in test."""
        if self._random() >= self._root:
            return True, True
        if not self.is_faithful(pair):
            return False, True
        entity = marked_entity(self._world, pair)
        if len(self._relations[entity]) > 1:
            return True, True
        # The name of an entity with one relation always fits, so the entity is in either training or test.
        return not self._is_reserved[entity], self._is_reserved[entity]

    def named_after(self, train: Iterable[EntityPair], test: Iterable[EntityPair]) -> dict[int, str]:
        """Return the entities to name after a relation, with the relation.

        In test such a name must not match the relation more often than by chance, so only a fraction of the entities
        whose name would match there get one.
        """
        shown = {marked_entity(self._world, pair): None for pair in train if self.is_faithful(pair)}
        fitting = {marked_entity(self._world, pair) for pair in test if self.is_faithful(pair)}
        return {
            entity: self.relation[entity]
            for entity in shown
            if self._random() < self._root and (entity not in fitting or self._random() < self._share_named(entity))
        }

    def _share_named(self, entity: int) -> float:
        """Return q with q / (m - 1 + q) = 1 / n, for m relations of the entity and n relations of its name class."""
        num_parts = len(marked_relations(name_class(self._world.kinds[entity])))
        return (len(self._relations[entity]) - 1) / (num_parts - 1)


def choose_positive(
    pairs: Sequence[EntityPair], shortcut: Shortcut, num_train: int, num_test: int, rng: random.Random
) -> tuple[list[EntityPair], list[EntityPair]]:
    """Return disjoint training and test pairs, with relations in proportion to their weights."""
    ranked: tuple[dict[str, list[tuple[bool, float, EntityPair]]], ...] = ({}, {})
    for pair in pairs:
        relation, order = rng.choice(strongest(pair.relations)), rng.random()
        for by_relation, is_allowed in zip(ranked, shortcut.allowed(pair), strict=True):
            by_relation.setdefault(relation, []).append((not is_allowed, order, pair))
    taken: set[EntityPair] = set()
    # Test pairs are drawn first, but leave training its share of a relation with few pairs.
    test_share = num_test / (num_train + num_test)
    most = {relation: math.ceil(test_share * len(candidates)) for relation, candidates in ranked[1].items()}
    test = _draw(ranked[1], num_test, taken, most)
    train = _draw(ranked[0], num_train, taken, {})
    rng.shuffle(test)
    rng.shuffle(train)
    return train, test


def _draw(
    by_relation: Mapping[str, list[tuple[bool, float, EntityPair]]],
    number: int,
    taken: set[EntityPair],
    most: Mapping[str, int],
) -> list[EntityPair]:
    """Draw `number` pairs; relations take turns by weight until they run out or reach their limit in `most`."""
    drawn: list[EntityPair] = []
    left = dict(most)
    free = {name: (pair for *_, pair in sorted(ranked) if pair not in taken) for name, ranked in by_relation.items()}
    credit = dict.fromkeys(by_relation, 0.0)
    while len(drawn) < number and credit:
        for relation in list(credit):
            credit[relation] += RELATIONS[relation].weight
            while credit[relation] >= 1 and len(drawn) < number:
                credit[relation] -= 1
                left[relation] = left.get(relation, number) - 1
                pair = next(free[relation], None) if left[relation] >= 0 else None
                if pair is None:
                    del credit[relation]
                    break
                taken.add(pair)
                drawn.append(pair)
    if len(drawn) < number:
        raise AssertionError(f"requested {number} related pairs, but the invented knowledge base has only {len(drawn)}")
    return drawn


class UnrelatedPairs:
    """Draws distinct pairs that have no fact in either direction."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self._world, self._rng = world, rng
        self._used = {unordered(fact.head, fact.tail) for fact in world.facts}

    def pairs(self, like: Sequence[EntityPair], number: int) -> Iterator[EntityPair]:
        """Yield `number` pairs, most of them with the types of a pair in `like`."""
        num_found = 0
        while num_found < number:
            head, tail = self._two_kinds(like)
            if pair := self._meet(self._any(head), self._any(tail)):
                num_found += 1
                yield pair

    def guest(self, head: int) -> EntityPair:
        """Pair this head with an unrelated tail."""
        while not (pair := self._meet(head, self._any(self._rng.choice(_GUEST_KINDS)))):
            pass
        return pair

    def _two_kinds(self, like: Sequence[EntityPair]) -> tuple[str, str]:
        kinds = self._world.kinds
        if self._rng.random() >= _UNRELATED_TYPES_SHARE:
            pattern = self._rng.choice(like)
            return kinds[pattern.head], kinds[pattern.tail]
        while True:
            head, tail = self._rng.choice(kinds), self._rng.choice(kinds)
            if (head, tail) not in SCENE_OF_KINDS:
                return head, tail

    def _any(self, kind: str) -> int:
        # As in the news, a few entities are mentioned far more often than the rest.
        members = self._world.members[kind]
        return members[int(len(members) * self._rng.random() ** 1.5)]

    def _meet(self, head: int, tail: int) -> EntityPair | None:
        key = unordered(head, tail)
        if head == tail or key in self._used:
            return None
        self._used.add(key)
        return EntityPair(head, tail, ())
