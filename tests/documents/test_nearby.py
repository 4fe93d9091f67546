from sayso.documents.gazetteer import Gazetteer
from sayso.documents.nearby import entities_near

NAMES = {"rome": ("Rome",), "oslo": ("Oslo",), "ana": ("Ana",), "x": ("Holt",)}


def test_nearer_and_more_frequent_entities_weigh_more_up_to_a_limit() -> None:
    text = "Rome, Oslo. Holt met Ana." + " It rained." * 50 + " Oslo." + " Rome." * 9
    found = Gazetteer(NAMES).find(text)
    number = next(index for index, each in enumerate(found) if each.entity_ids == ("x",))
    clear = [None if index == number else each.entity_ids[0] for index, each in enumerate(found)]
    near = entities_near(text, found, clear, number)
    assert near.weights["ana"] < 1 < near.weights["oslo"] < near.weights["rome"] == 1.5
    assert near.before == ["oslo", "rome"]
    assert near.listed == []


def test_a_list_is_told_from_other_text() -> None:
    for text, listed in (
        ("Rome, Holt and Oslo", ["rome", "oslo"]),
        ("Rome. Holt/Oslo", ["oslo"]),
        ("Rome by Holt", []),
    ):
        found = Gazetteer(NAMES).find(text)
        clear = [each.entity_ids[0] if each.entity_ids != ("x",) else None for each in found]
        assert entities_near(text, found, clear, 1).listed == listed
