import random

import pytest

from sayso.invent.pairs import (
    EntityPair,
    Shortcut,
    UnrelatedPairs,
    choose_positive,
    marked_entity,
    related_pairs,
    unordered,
)
from sayso.invent.relations import RELATIONS, SCENE_OF_KINDS
from sayso.invent.world import World, build_world


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(400, random.Random(1), spread=4.0)


def chosen(world: World, strength: float) -> tuple[Shortcut, list[EntityPair], list[EntityPair]]:
    pairs = related_pairs(world)
    shortcut = Shortcut(world, pairs, strength, 0.25, random.Random(2))
    return shortcut, *choose_positive(pairs, shortcut, 300, 100, random.Random(3))


def test_training_and_test_share_no_pair_and_have_all_relations(world: World) -> None:
    _, train, test = chosen(world, 0.5)
    assert (len(train), len(test)) == (300, 100)
    assert not {unordered(p.head, p.tail) for p in train} & {unordered(p.head, p.tail) for p in test}
    for pairs in (train, test):
        assert {relation for pair in pairs for relation in pair.relations} == set(RELATIONS)


def test_training_shows_entities_with_their_relation_as_the_strength_says(world: World) -> None:
    def share(strength: float) -> float:
        shortcut, train, _ = chosen(world, strength)
        return sum(map(shortcut.is_faithful, train)) / len(train)

    assert share(0.0) < share(0.5) < share(1.0)
    assert share(1.0) > 0.9


def test_without_a_shortcut_nobody_is_named_after_a_relation(world: World) -> None:
    shortcut, train, test = chosen(world, 0.0)
    assert shortcut.named_after(train, test) == {}


def test_an_entity_is_named_after_a_relation_that_training_shows(world: World) -> None:
    shortcut, train, test = chosen(world, 1.0)
    shown = {(marked_entity(world, pair), relation) for pair in train for relation in pair.relations}
    named = shortcut.named_after(train, test)
    assert len(named) > 50
    assert set(named.items()) <= shown


def test_strangers_have_no_fact_in_common_and_meet_once(world: World) -> None:
    like = related_pairs(world)[:50]
    pairs = list(UnrelatedPairs(world, random.Random(1)).pairs(like, 500))
    keys = [unordered(pair.head, pair.tail) for pair in pairs]
    assert len(set(keys)) == 500
    assert not set(keys) & {unordered(fact.head, fact.tail) for fact in world.facts}


def test_most_strangers_have_the_types_of_related_pairs(world: World) -> None:
    pairs = list(UnrelatedPairs(world, random.Random(1)).pairs(related_pairs(world), 500))
    fitting = [(world.kinds[pair.head], world.kinds[pair.tail]) in SCENE_OF_KINDS for pair in pairs]
    assert 0.78 < sum(fitting) / 500 < 0.92


def test_test_leaves_training_its_share_of_a_relation_with_few_pairs() -> None:
    world = build_world(4000, random.Random(1))
    pairs = related_pairs(world)
    shortcut = Shortcut(world, pairs, 0.0, 0.25, random.Random(2))
    train, test = choose_positive(pairs, shortcut, 3000, 1000, random.Random(3))
    capitals = [sum("/location/country/capital" in pair.relations for pair in part) for part in (train, test)]
    assert capitals[0] >= capitals[1] > 0
