from pathlib import Path

import pytest

from sayso.annotate.guideline import DEFAULT_GUIDELINE
from sayso.readers.tables import read_inventory
from toy_workbench import Person

FACT = {"bag": 1, "relation": "contains"}


def test_the_guideline_is_changed_and_brought_back(ada: Person) -> None:
    assert ada.ask("PUT", "/guideline", text="read\n\ntwice") == {"text": "read\n\ntwice", "version": 1}
    assert "<p>twice</p>" in ada.page("/annotate/guideline")
    assert ada.ask("PUT", "/guideline", text=" ") == {"text": DEFAULT_GUIDELINE, "version": 2}


def test_earlier_versions_can_be_read_by_everyone_and_restored_by_a_lead(ada: Person, ben: Person) -> None:
    ada.ask("PUT", "/guideline", text="the first")
    ada.ask("PUT", "/guideline", text="the second")
    page = ben.page("/annotate/guideline")
    assert "<p>the second</p>" in page
    assert "3 versions" in page
    assert "by <span" in page
    earlier = ben.page("/annotate/guideline", version=1)
    assert "This is an earlier version" in earlier
    assert "<p>the first</p>" in earlier
    assert "<textarea" not in earlier
    assert ">the first</textarea>" in ada.page("/annotate/guideline", version=1)
    assert "<p>the first</p>" in ada.post_form("/annotate/guideline", text="the first", version=2)
    assert [each["text"] for each in ben.ask("GET", "/guideline/versions")][:3] == [
        "the first",
        "the second",
        "the first",
    ]
    assert ben.client.get("/annotate/guideline", params={"version": 9}).status_code == 404


def test_two_leads_do_not_overwrite_each_other(ada: Person) -> None:
    ada.page("/annotate/guideline")
    ada.ask("PUT", "/guideline", text="from another tab")
    page = ada.post_form("/annotate/guideline", text="my long text", version=0)
    assert "Not saved: the guideline was changed" in page
    assert "<p>from another tab</p>" in page
    assert ">my long text</textarea>" in page
    assert 'name="version" value="1"' in page
    error = ada.ask("PUT", "/guideline", 409, text="my long text", version=0)["error"]
    assert "Ada has changed the guideline" in error["message"]


def test_a_definition_is_shown_wherever_the_relation_is(ada: Person, ben: Person) -> None:
    assert "port town1 lies in north land1" in ben.page("/annotate/fact", **FACT)
    ada.post_form(
        "/annotate/definition", relation="contains", definition="The head surrounds the tail.", example="Italy"
    )
    assert "north land1 surrounds port town1</title>" in ben.page("/annotate/fact", **FACT).replace(" · sayso", "")
    page = ben.page("/annotate/guideline")
    assert "The head surrounds the tail." in page
    assert "Example: Italy" in page
    assert "entered by Ada" in page
    assert ben.ask("GET", "/annotate/fact?bag=1&relation=contains")["definition"] == "The head surrounds the tail."
    ada.ask("PUT", "/relations", relation="contains")
    assert "port town1 lies in north land1" in ben.page("/annotate/fact", **FACT)
    relation = next(each for each in ben.ask("GET", "/relations") if each["name"] == "contains")
    assert relation["definition"] == "The tail lies in the head."
    assert [each["definition"] for each in relation["versions"]] == ["", "The head surrounds the tail."]


def test_definitions_go_out_as_a_file_that_prepare_reads(ada: Person, tmp_path: Path) -> None:
    ada.ask("PUT", "/relations", relation="contains", definition="The head\tsurrounds the tail.", example="Italy")
    answer = ada.client.get("/annotate/relations.tsv")
    assert "-relations-" in answer.headers["content-disposition"]
    path = tmp_path / "relations.tsv"
    path.write_bytes(answer.content)
    capital, contains = sorted(read_inventory(path))
    assert (capital.example, capital.is_functional) == ("Oslo is the capital of Norway.", True)
    assert (contains.definition, contains.is_functional) == ("The head surrounds the tail.", False)


@pytest.mark.parametrize("who", ["ada", "ben"])
def test_only_leads_change_the_guideline_and_definitions(ada: Person, ben: Person, who: str) -> None:
    person, status = (ada, 200) if who == "ada" else (ben, 403)
    assert ("Define" in person.page("/annotate/guideline") or "Change<" in person.page("/annotate/guideline")) == (
        who == "ada"
    )
    person.ask("PUT", "/relations", status, relation="contains", definition="new")
    person.ask("PUT", "/guideline", status, text="new")
    form = {"form_token": person.token, "relation": "contains", "definition": "newer"}
    assert person.client.post("/annotate/definition", data=form).status_code == status


def test_an_unknown_relation_is_not_defined(ada: Person) -> None:
    assert "no relation 'born'" in ada.ask("PUT", "/relations", 404, relation="born")["error"]["message"]
