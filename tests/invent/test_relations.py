import pytest

from sayso.invent.relations import (
    CAPITAL,
    CONTAINS,
    FOUNDERS,
    RELATIONS,
    SCENES,
    marked_relations,
    strongest,
    with_implied,
)


def test_there_are_at_least_twelve_relations_each_with_definition_and_example() -> None:
    assert len(RELATIONS) >= 12
    assert all(kind.definition and kind.example for kind in RELATIONS.values())


@pytest.mark.parametrize("scene", SCENES)
def test_at_least_two_relations_compete_in_every_scene(scene: str) -> None:
    assert sum(scene in kind.scenes for kind in RELATIONS.values()) >= 2


def test_a_capital_lies_in_its_country() -> None:
    assert with_implied((CAPITAL,)) == (CAPITAL, CONTAINS)
    assert strongest((CAPITAL, CONTAINS)) == (CAPITAL,)
    assert strongest((CONTAINS, FOUNDERS)) == (CONTAINS, FOUNDERS)


def test_every_relation_has_names_for_its_shortcut() -> None:
    classes = ("person", "city", "region", "company", "team", "film")
    assert {name for wanted in classes for name in marked_relations(wanted)} == set(RELATIONS)
