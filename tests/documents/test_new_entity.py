from pathlib import Path

import pytest

from sayso.documents.new_entity import NEW, NEW_ENTITIES, NewEntities, new_entity_lines
from sayso.documents.type_guess import Guess

BO, OSLO, ACME = "new:person/Bo Holt", "new:place/Oslo", "new:organization/Acme/Zorg"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / NEW).mkdir()
    (tmp_path / NEW / "000000.tsv").write_text("\n".join(new_entity_lines({OSLO: 2, BO: 1})) + "\n")
    (tmp_path / NEW / "000001.tsv").write_text("\n".join(new_entity_lines({BO: 3, ACME: 1})) + "\n")
    return tmp_path


def test_numbers_of_sentences_are_added_up_over_the_shards(corpus: Path) -> None:
    found = NewEntities(corpus)
    found.write({BO: ["/person"]})
    assert (corpus / NEW_ENTITIES).read_text().splitlines() == [
        f"{BO}\tBo Holt\tperson\t/person\t4",
        f"{OSLO}\tOslo\tplace\t\t2",
        f"{ACME}\tAcme/Zorg\torganization\t\t1",
    ]
    assert found.report() == {
        "entities": 3,
        "kinds": {"person": 1, "place": 1, "organization": 1},
        "most_frequent": {"Bo Holt": 4, "Oslo": 2, "Acme/Zorg": 1},
    }


def test_a_type_is_guessed_if_it_fits_the_label_and_else_the_usual_one_of_the_kind(corpus: Path) -> None:
    given = {"a": ["/location/city", "/location"], "b": ["/person"], "c": ["/person/artist"], "d": ["/work"]}
    guesses = {OSLO: Guess("/location/city", 0.9), BO: Guess("/work", 0.9), ACME: Guess("/person", 0.6)}
    assert NewEntities(corpus).types(given, guesses) == {OSLO: ["/location/city"], BO: ["/person"], ACME: []}
    assert NewEntities(corpus).types({"a": ["city"]}, {}) == {OSLO: ["city"], BO: [], ACME: []}


def test_without_new_entities_there_is_no_file(corpus: Path) -> None:
    NewEntities(corpus).write({})
    for path in (corpus / NEW).iterdir():
        path.unlink()
    NewEntities(corpus).write({})
    assert not (corpus / NEW_ENTITIES).exists()
