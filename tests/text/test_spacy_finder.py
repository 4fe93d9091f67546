import pytest

from sayso.errors import UserError
from sayso.text.gazetteer import Found, Gazetteer
from sayso.text.spacy_finder import SpacyFinder

pytest.importorskip("spacy", reason="the extra spacy is not installed")

NAMES = {"ana": ("Ana Diaz", "Ana"), "rome": ("Rome",), "b": ("Rome",), "may": ("May",)}


def test_an_empty_pipeline_finds_the_names_with_their_entities_and_stops_what_is_stopped() -> None:
    text = "In May, Ana Diaz left Rome."
    assert SpacyFinder(Gazetteer(NAMES), NAMES).find(text) == [Found(8, 16, ("ana",)), Found(22, 26, ("b", "rome"))]


def test_a_model_that_is_not_there_is_told() -> None:
    with pytest.raises(UserError, match=r"--spacy-model xx_none: spaCy has no such model: install it"):
        SpacyFinder(Gazetteer(NAMES), NAMES, "xx_none")
