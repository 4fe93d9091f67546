import random
from collections import Counter

import pytest

from sayso.invent.relations import RELATIONS, SCENE_OF_KINDS
from sayso.invent.world import World, build_world


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(400, random.Random(1))


def test_every_fact_joins_kinds_that_its_relation_joins(world: World) -> None:
    for head, relation, tail in world.facts:
        if relation in RELATIONS:
            assert SCENE_OF_KINDS[world.kinds[head], world.kinds[tail]] in RELATIONS[relation].scenes


def test_functional_relations_have_one_tail_per_head(world: World) -> None:
    tails = Counter((fact.relation, fact.head) for fact in world.facts)
    for (relation, _), number in tails.items():
        if relation in RELATIONS and RELATIONS[relation].is_functional:
            assert number == 1


def test_implied_facts_are_facts(world: World) -> None:
    facts = world.facts.keys()
    for fact in facts:
        for implied in RELATIONS[fact.relation].implies if fact.relation in RELATIONS else ():
            assert fact._replace(relation=implied) in facts


def test_some_pairs_have_several_relations_and_all_relations_occur(world: World) -> None:
    labels = world.labels()
    assert {relation for relations in labels.values() for relation in relations} == set(RELATIONS)
    assert sum(len(relations) > 1 for relations in labels.values()) > 20


@pytest.mark.parametrize("num_pairs", [1, 50, 3000])
def test_there_are_more_related_pairs_than_asked_for(num_pairs: int) -> None:
    assert len(build_world(num_pairs, random.Random(1)).labels()) > 2 * num_pairs
