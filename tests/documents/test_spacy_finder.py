from pathlib import Path

import pytest

from sayso.documents.gazetteer import Gazetteer, NameMatch
from sayso.documents.settings import NameCase
from sayso.documents.spacy_finder import SpacyFinder
from sayso.errors import UserError

spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")

NAMES = {"ana": ("Ana Diaz", "Ana"), "rome": ("Rome",), "b": ("Rome",), "may": ("May",)}


def test_an_empty_pipeline_finds_the_names_with_their_entities_and_stops_what_is_stopped() -> None:
    text = "In May, Ana Diaz left Rome."
    assert SpacyFinder(Gazetteer(NAMES), NAMES).find(text) == [
        NameMatch(8, 16, ("ana",)),
        NameMatch(22, 26, ("b", "rome")),
    ]


@pytest.mark.parametrize("case", ["capitals", "exact", "ignore"])
def test_names_may_be_written_as_the_case_says(case: NameCase) -> None:
    names = {**NAMES, "us": ("US",), "pie": ("Pie",), "apple": ("Apple Pie",), "small": ("de Gaulle",)}
    texts = (
        "ANA DIAZ and ana diaz left Ana for ROME or rome.",
        "US, us, Us; apple Pie, Apple Pie.",
        "De Gaulle DE gaulle",
    )
    gazetteer = Gazetteer(names, case)
    finder = SpacyFinder(gazetteer, names)
    for text in texts:
        assert finder.find(text) == gazetteer.find(text)
    found = {texts[0][each.start : each.stop] for each in finder.find(texts[0])}
    assert ("rome" in found, "ROME" in found) == (case == "ignore", case != "exact")


def test_an_entity_found_by_a_model_is_one_whole_name_or_ignored(tmp_path: Path) -> None:
    recogniser = spacy.blank("en")
    recogniser.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "Rome Times"}])
    recogniser.to_disk(tmp_path / "model")
    finder = SpacyFinder(Gazetteer(NAMES), NAMES, str(tmp_path / "model"))
    assert finder.find("Rome Times of Rome") == [NameMatch(14, 18, ("b", "rome"))]


def test_a_missing_model_is_reported() -> None:
    with pytest.raises(UserError, match=r"spacy_model xx_none: spaCy has no such model: install it"):
        SpacyFinder(Gazetteer(NAMES), NAMES, "xx_none")
