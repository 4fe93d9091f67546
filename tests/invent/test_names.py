import random

import pytest

from sayso.invent.names import Namer, name_entities
from sayso.invent.relations import BIRTH, DEATH, marked_relations
from sayso.invent.vocabulary import new_coiner
from sayso.invent.world import build_world


@pytest.fixture
def namer() -> Namer:
    return Namer(500, new_coiner(random.Random(1)), random.Random(2))


def test_no_two_entities_share_a_name(namer: Namer) -> None:
    world = build_world(400, random.Random(1))
    entities = name_entities(world, {}, namer, 0.0, random.Random(3))
    assert len({entity.token for entity in entities}) == len(entities)
    assert all(entity.types for entity in entities)


def test_families_of_relations_share_no_part_and_leave_none_out(namer: Namer) -> None:
    for wanted in ("person", "city", "company"):
        families = [set(namer.family(wanted, relation)) for relation in marked_relations(wanted)]
        assert sum(map(len, families)) == len(set().union(*families)) == len(namer.forms(wanted))


def test_an_entity_is_named_after_its_relation(namer: Namer) -> None:
    surnames = {form.split()[-1] for form in namer.family("person", BIRTH)}
    assert {namer.name("person", BIRTH).split()[-1] for _ in range(20)} <= surnames
    assert not {namer.name("person", DEATH).split()[-1] for _ in range(20)} & surnames


def test_the_share_of_untyped_entities_is_as_asked(namer: Namer) -> None:
    entities = name_entities(build_world(400, random.Random(1)), {}, namer, 0.3, random.Random(3))
    assert 0.2 < sum(not entity.types for entity in entities) / len(entities) < 0.4
