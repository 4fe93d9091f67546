import random
import re

import pytest

from sayso.invent.names import WORDS
from sayso.invent.relations import (
    ANYWHERE,
    NAME_OF,
    RELATIONS,
    SCENES,
    all_wordings,
    marked_relations,
    strongest,
    training_wordings,
    with_implied,
)

BYSTANDERS = {"person", "place", "country", "org"}
CAPITAL, CONTAINS, FOUNDERS = (NAME_OF[key] for key in ("capital", "contains", "founders"))
STATING = {name: kind.stating for name, kind in RELATIONS.items()}
NEUTRAL = {name: scene.neutral for name, scene in SCENES.items()}
PAIR_TEXTS = [text for lists in (STATING, NEUTRAL) for texts in lists.values() for text in texts] + list(ANYWHERE)


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


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_can_be_said_in_ten_ways_and_not_said_in_ten(relation: str) -> None:
    assert len(set(STATING[relation])) >= 10
    for scene in RELATIONS[relation].scenes:
        assert len(set(NEUTRAL[scene])) >= 10


@pytest.mark.parametrize("relation", RELATIONS)
def test_some_wordings_of_a_relation_name_the_tail_first(relation: str) -> None:
    is_tail_first = [text.index("{tail}") < text.index("{head}") for text in STATING[relation]]
    assert 0 < sum(is_tail_first) < len(is_tail_first)


def test_no_text_is_both_a_way_of_saying_and_of_not_saying() -> None:
    said = {text for texts in STATING.values() for text in texts}
    unsaid = {text for texts in NEUTRAL.values() for text in texts} | set(ANYWHERE)
    assert not said & unsaid
    assert len(said) == sum(map(len, STATING.values())), "a text says two relations"


def test_a_wording_names_head_and_tail_once_each_and_its_slots_are_known() -> None:
    for text in PAIR_TEXTS:
        slots = re.findall(r"\{(\w+)\}", text)
        assert slots.count("head") == slots.count("tail") == 1, text
        assert set(slots) <= {"head", "tail"} | BYSTANDERS | set(WORDS["slots"]), text


def test_templates_are_lower_case_with_punctuation_as_separate_tokens() -> None:
    texts = [*PAIR_TEXTS, *(text for texts in WORDS["filler"].values() for text in texts)]
    for text in texts:
        assert text == text.lower()
        assert not re.search(r"[\w}][,;.]|[\w}]'s|  ", text), text


def test_what_a_wording_states_includes_what_it_implies() -> None:
    assert {wording.states for wording in all_wordings()[CAPITAL]} == {(CAPITAL, CONTAINS)}
    assert {wording.states for scene in SCENES for wording in all_wordings()[scene]} == {()}


@pytest.mark.parametrize(("unseen_share", "num_kept"), [(0.0, 12), (0.3, 8), (0.9, 1)])
def test_the_share_of_each_list_is_kept_from_training(unseen_share: float, num_kept: int) -> None:
    known = training_wordings(unseen_share, random.Random(1))
    assert {len(known[name]) for name in RELATIONS} == {num_kept}
    assert all(set(wordings) <= set(all_wordings()[name]) for name, wordings in known.items())
