import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from sayso.annotate.marks import FORMS, read_any
from sayso.annotate.people import now
from sayso.records import Mark
from sayso.serve.server import ServeSettings
from toy_workbench import Person, open_client

FACT = {"bag": 1, "relation": "capital"}


@pytest.fixture
def dispute(ada: Person, ben: Person) -> tuple[Person, Person]:
    for person, given in ((ada, "ri"), (ben, "rr")):
        labels = [{"r": "rationale", "i": "irrelevant"}[letter] for letter in given]
        person.mark(1, "capital", *labels, "irrelevant")
        person.submit(1, "capital")
    return ada, ben


def test_agreement_is_measured_by_relation(dispute: tuple[Person, Person]) -> None:
    figures = dispute[0].client.get("/api/agreement").json()
    assert figures["overall"]["num_units"] == 3
    assert figures["overall"]["percent"] == pytest.approx(2 / 3)
    assert [each["relation"] for each in figures["relations"]] == ["capital"]


def test_a_disputed_sentence_is_settled_and_undone(dispute: tuple[Person, Person]) -> None:
    ada, ben = dispute
    (fact,) = ada.client.get("/api/agreement/disagreements").json()
    assert [each["settled"] for each in fact["sentences"]] == [""]
    ada.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")
    (fact,) = ben.client.get("/api/agreement/disagreements").json()
    assert [(each["settled"], each["settled_by"]) for each in fact["sentences"]] == [("irrelevant", "Ada")]
    assert "settled by" in ben.page("/agreement/fact", **FACT)
    assert ada.ask("POST", "/agreement/undo", key="undo it once") == {"fact": FACT}
    assert ada.ask("POST", "/agreement/undo", key="undo it twice") == {"fact": None}


def test_undo_on_a_disputed_fact_leaves_others_alone(dispute: tuple[Person, Person]) -> None:
    ada, _ = dispute
    ada.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")
    other = {"bag": 2, "relation": "capital"}
    assert ada.ask("POST", "/agreement/undo", key="undo there", fact=other) == {"fact": None}
    assert ada.ask("POST", "/agreement/undo", key="undo here", fact=FACT) == {"fact": FACT}


def test_an_undisputed_sentence_cannot_be_settled(dispute: tuple[Person, Person]) -> None:
    dispute[0].ask("POST", "/agreement/settle", 409, **FACT, key="settle it", sentence=0, label="irrelevant")


def test_the_settling_page_shows_disputed_sentences_only(dispute: tuple[Person, Person]) -> None:
    ada, ben = dispute
    ben.ask("PUT", "/annotate/comment", **FACT, key="a comment", text="hard to tell")
    page = ada.page("/agreement/fact", **FACT)
    assert page.count("<li data-place=") == 1
    assert "hard to tell" in page


def test_comments_are_shown_and_exported_once_the_fact_is_closed(ada: Person, ben: Person) -> None:
    ada.ask("PUT", "/annotate/wrong", **FACT, key="the flag", is_wrong=True)
    ada.ask("PUT", "/annotate/comment", **FACT, key="a comment", text="not <b>so</b>")
    for person in (ada, ben):
        assert ben.client.get("/api/annotations/comments").status_code == 404
        assert "says this fact" not in ben.page("/agreement")
        person.mark(1, "capital", "rationale", "irrelevant", "irrelevant")
        person.submit(1, "capital")
    page = ben.page("/agreement")
    assert "says this fact is wrong" in page
    assert "not &lt;b&gt;so&lt;/b&gt;" in page
    (line,) = ben.client.get("/api/annotations/comments").text.splitlines()
    said = {"head": "l1", "tail": "t1", "relation": "capital", "by": "Ada", "is_wrong": True}
    names = {"head_name": "north_land1", "tail_name": "port_town1"}
    assert json.loads(line) == {**said, **names, "comment": "not <b>so</b>"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("each", [False, True])
def test_every_form_can_be_downloaded_and_read(
    dispute: tuple[Person, Person], tmp_path: Path, form: str, each: bool
) -> None:
    ada, _ = dispute
    ada.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")
    answer = ada.client.get("/api/annotations", params={"form": form, "each": each})
    assert answer.headers["content-disposition"].startswith("attachment")
    path = tmp_path / f"marks{FORMS[form].suffix}"
    if form == "eraser":
        zipfile.ZipFile(io.BytesIO(answer.content)).extractall(path)
    else:
        path.write_bytes(answer.content)
    marks = read_any(path)
    assert all(isinstance(mark, Mark) for mark in marks)
    if form != "tuples":
        assert len(marks) == (6 if each else 3)
        assert {mark.annotator for mark in marks} == ({"Ada", "Ben"} if each else {""})


def test_the_settled_mark_is_what_goes_out(dispute: tuple[Person, Person]) -> None:
    ada, _ = dispute
    before = [json.loads(line)["label"] for line in ada.client.get("/api/annotations").text.splitlines()]
    ada.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")
    after = [json.loads(line)["label"] for line in ada.client.get("/api/annotations").text.splitlines()]
    assert (before, after) == (["rationale", "unsure", "irrelevant"], ["rationale", "irrelevant", "irrelevant"])


def test_undo_leaves_alone_what_was_settled_in_another_part(
    dispute: tuple[Person, Person], settings: ServeSettings
) -> None:
    ada, _ = dispute
    ada.ask("POST", "/agreement/settle", **FACT, key="settle it", sentence=1, label="irrelevant")
    with open_client(replace(settings, part="validation", runs=())) as other:
        assert Person(other, "Ada").ask("POST", "/agreement/undo", key="undo it here") == {"fact": None}
    (fact,) = ada.client.get("/api/agreement/disagreements").json()
    assert [each["settled"] for each in fact["sentences"]] == ["irrelevant"]


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("jsonl", "marks-DATE.jsonl"),
        ("jsonl?each=true", "every-annotator-DATE.jsonl"),
        ("csv", "marks-DATE.csv"),
        ("tuples", "marks-tuples-DATE.jsonl"),
        ("eraser", "marks-eraser-DATE.zip"),
    ],
)
def test_a_file_is_named_after_the_store_its_content_and_the_day(
    dispute: tuple[Person, Person], settings: ServeSettings, asked: str, kind: str
) -> None:
    answer = dispute[0].client.get(f"/agreement/files/{asked}")
    name = f"{settings.data.parent.name}-{kind.replace('DATE', now()[:10])}"
    assert answer.headers["content-disposition"] == f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}"


@pytest.mark.parametrize("form", ["jsonl", "csv", "tuples"])
def test_files_have_names_beside_ids(dispute: tuple[Person, Person], form: str) -> None:
    text = dispute[0].client.get(f"/agreement/files/{form}").text
    if form == "csv":
        assert text.splitlines()[0] == "head,tail,relation,sentence,label,by,head_name,tail_name"
        assert text.splitlines()[1].endswith(",north_land1,port_town1")
    else:
        assert {"head": "l1", "head_name": "north_land1", "tail_name": "port_town1"}.items() <= json.loads(
            text.splitlines()[0]
        ).items()


def test_an_empty_export_says_why(ada: Person, ben: Person) -> None:
    waiting = "the only submitted fact is still waiting for other annotators (2 per fact)"
    for reason, labels in (("no fact has been submitted yet", ["rationale"] * 3), (waiting, [])):
        for address in ("/api/annotations", "/api/annotations/comments"):
            assert reason in ada.client.get(address).json()["error"]["message"]
        assert f"Nothing to export: {reason}" in ada.page("/agreement")
        if labels:
            ada.mark(1, "capital", *labels)
            ada.submit(1, "capital")
    ben.mark(1, "capital", "rationale", "rationale", "rationale")
    ben.submit(1, "capital")
    assert ada.client.get("/api/annotations").status_code == 200
    for address, reason in (
        ("/agreement/files/tuples", "no fact has both a rationale and an irrelevant sentence"),
        ("/agreement/comments", "no complete fact has a comment or is reported as wrong"),
    ):
        answer = ada.client.get(address)
        assert answer.status_code == 404
        assert f"Nothing to export: {reason}" in answer.text


def test_marks_that_a_format_cannot_represent_are_named_as_the_reason(ada: Person, ben: Person) -> None:
    for person in (ada, ben):
        person.mark(1, "capital", "unsure", "unsure", "unsure")
        person.submit(1, "capital")
    error = ada.client.get("/api/annotations", params={"form": "eraser"}).json()["error"]
    assert "all marks are unsure" in error["message"]


def test_a_note_is_saved_and_undone_with_the_label_that_it_explains(dispute: tuple[Person, Person]) -> None:
    ada, ben = dispute
    settling = {**FACT, "sentence": 1}
    ada.ask("POST", "/agreement/settle", **settling, key="settle it", label="irrelevant", note=" it <b>denies</b> it ")

    def settled() -> tuple[str, str]:
        (fact,) = ben.client.get("/api/agreement/disagreements").json()
        (sentence,) = fact["sentences"]
        return sentence["settled"], sentence["note"]

    assert settled() == ("irrelevant", "it <b>denies</b> it")
    assert "it &lt;b&gt;denies&lt;/b&gt; it" in ben.page("/agreement/fact", **FACT)
    assert 'class="note-text"' in ada.page("/agreement/fact", **FACT)
    assert 'class="note-text"' not in ben.page("/agreement/fact", **FACT)
    ada.ask("POST", "/agreement/settle", **settling, key="settle again", label="unsure")
    assert settled() == ("unsure", "it <b>denies</b> it"), "without a note, it stays"
    for number, before in enumerate((("irrelevant", "it <b>denies</b> it"), ("", ""))):
        ada.ask("POST", "/agreement/undo", key=f"undo number {number}")
        assert settled() == before
    ada.ask("POST", "/agreement/settle", 422, **settling, key="too long", label="unsure", note="x" * 2_001)


def test_a_relation_links_to_its_disputes(dispute: tuple[Person, Person]) -> None:
    ada, ben = dispute
    page = ada.page("/agreement")
    assert 'href="/agreement?relation=capital#disagreements">1<' in page
    assert "1 to settle" in page
    for person, labels in ((ada, ["rationale"]), (ben, ["irrelevant"])):
        person.mark(0, "contains", *labels, "unsure", "unsure")
        person.submit(0, "contains")
    assert ada.page("/agreement").count('<li><a href="/agreement/fact?') == 2
    only = ada.page("/agreement", relation="contains")
    assert only.count('<li><a href="/agreement/fact?') == 1
    assert "/agreement/fact?bag=0&amp;relation=contains&amp;same_relation=true" in only
    here = ada.page("/agreement/fact", bag=0, relation="contains", same_relation=True)
    assert "fact 1 of 1" in here
    assert "fact 2 of 2" in ada.page("/agreement/fact", bag=0, relation="contains")


def test_the_page_counts_labels_against_each_other(dispute: tuple[Person, Person]) -> None:
    page = " ".join(dispute[0].page("/agreement").split())
    rows = {"rationale": [1, 0, 0], "irrelevant": [1, 1, 0], "unsure": [0, 0, 0]}
    for place, (label, counts) in enumerate(rows.items()):
        same = ["<td>"] * 3
        same[place] = '<td class="same">'
        cells = "".join(f"{cell}{num}</td>" for cell, num in zip(same, counts, strict=True))
        assert f'<tr><th scope="row">{label}</th>{cells}</tr>' in page
