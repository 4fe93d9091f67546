import random

import pytest

from sayso.invent.names import Coiner, Namer, name_entities
from sayso.invent.relations import NAME_OF, marked_relations
from sayso.invent.world import build_world


@pytest.fixture
def namer() -> Namer:
    return Namer(500, Coiner.of_corpus(random.Random(1)), random.Random(2))


def test_no_two_entities_share_a_name(namer: Namer) -> None:
    world = build_world(400, random.Random(1))
    entities = name_entities(world, {}, namer, 0.0, random.Random(3))
    assert len({entity.token for entity in entities}) == len(entities)
    assert all(entity.types for entity in entities)


def test_families_of_relations_share_no_part_and_leave_none_out(namer: Namer) -> None:
    for wanted in ("person", "city", "company"):
        families = [set(namer.family(wanted, relation)) for relation in marked_relations(wanted)]
        assert sum(map(len, families)) == len(set().union(*families)) == len(namer.forms[wanted])


def test_an_entity_is_named_after_its_relation(namer: Namer) -> None:
    surnames = {form.split()[-1] for form in namer.family("person", NAME_OF["birth"])}
    assert {namer.name("person", NAME_OF["birth"]).split()[-1] for _ in range(20)} <= surnames
    assert not {namer.name("person", NAME_OF["death"]).split()[-1] for _ in range(20)} & surnames


def test_the_share_of_untyped_entities_is_as_asked(namer: Namer) -> None:
    entities = name_entities(build_world(400, random.Random(1)), {}, namer, 0.3, random.Random(3))
    assert 0.2 < sum(not entity.types for entity in entities) / len(entities) < 0.4


def test_tens_of_thousands_of_words_are_coined_and_none_twice() -> None:
    coiner = Coiner([], random.Random(1))
    words = coiner.words(40_000) + coiner.words(700, "surname_endings")
    assert len(set(words)) == 40_700
    assert all(word.isalpha() and word.istitle() and len(word) >= 5 for word in words)


def test_words_of_the_texts_are_not_coined() -> None:
    first = Coiner([], random.Random(1)).word()
    assert first not in Coiner([f"a {first.lower()} b"], random.Random(1)).words(500)


def test_no_name_is_a_word_of_a_template() -> None:
    assert not {"native", "capital", "monday", "springs"} & {
        w.lower() for w in Coiner.of_corpus(random.Random(2)).words(9)
    }
