import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from extract.toy_corpus import EVERYTHING, write
from sayso.cli import app
from sayso.errors import UserError
from sayso.explain import EXPLAINERS
from sayso.extract.run import extract
from sayso.extract.settings import ExtractInputs
from sayso.library import load
from sayso.records import Bag, Sentence, Source
from toy_evaluation import evaluation_lines, make_marked_store
from toy_run import NUM_PAIRS, make_run, toy_config


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_marked_store(tmp_path_factory.mktemp("explain"))


@pytest.fixture(scope="module")
def run(store: Path) -> Path:
    return make_run(toy_config("type"), store, store.parent / "run")


ONE = ("--method", "attention", "--relation", "capital")


def explain(*arguments: object):
    return CliRunner().invoke(app, ["explain", *map(str, arguments)], catch_exceptions=False)


def test_a_pair_is_found_by_name_or_id_and_its_sentences_are_ranked(run: Path, store: Path) -> None:
    words = ["--data", store, "--relation", "capital", "--json"]
    (by_name,) = json.loads(explain(run, "--head", "North Land1", "--tail", "port_town1", *words).stdout)
    (by_id,) = json.loads(explain(run, "--head", "xl1", "--tail", "xt1", *words).stdout)
    assert by_name == by_id
    assert by_id["is_label"] is True
    assert by_id["head"] == {"entity_id": "xl1", "name": "north_land1", "type": "/location/country"}
    assert [each["rank"] for each in by_id["evidence"]] == [1, 2, 3]
    assert {each["text"]: each["mark"] for each in by_id["evidence"]}[
        "port_town1 is the capital of north_land1 ."
    ] == "rationale"
    assert set(by_id["evidence"][0]["scores"]) == set(EXPLAINERS)
    assert "/location/city" in by_id["evidence"][0]["seen"]
    assert len(by_id["evidence"][0]["word_scores"]) == len(by_id["evidence"][0]["seen"])


def test_a_pair_is_found_in_whichever_part_has_it(run: Path, store: Path) -> None:
    found = {}
    for head, tail in ((f"l{number}", f"t{number}") for number in range(NUM_PAIRS)):
        (one,) = json.loads(explain(run, "--head", head, "--tail", tail, "--data", store, "--json", *ONE).stdout)
        found[head] = one["is_label"]
    assert set(found.values()) == {True}, "every pair is in training or validation"
    with pytest.raises(UserError, match="the test part has no bag"):
        explain(run, "--head", "l1", "--tail", "t1", "--data", store, "--part", "test", *ONE)


def test_the_text_has_the_probability_the_support_and_what_the_model_saw(run: Path, store: Path) -> None:
    shown = explain(run, "--head", "xl1", "--tail", "xt1", "--data", store, "--threshold", 0.999999).stdout
    assert "north_land1 (/location/country)  →  port_town1 (/location/city)" in shown
    assert "Not predicted (0." in shown
    assert "   {port_town1} is the capital of [north_land1] ." in shown
    assert "   the model saw: /location/city is the capital of /location/country ." in shown


def test_sentences_of_a_file_are_explained_as_by_the_library(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    path.write_text("\n".join(evaluation_lines()) + "\n")
    words = ["--head", "xl2", "--tail", "xt2", "--relation", "capital", "--file", path, "--json"]
    (found,) = json.loads(explain(run, *words).stdout)
    texts = [line.split("\t")[5] for line in evaluation_lines() if line.startswith("xl2\txt2\t")]
    bag = Bag.from_sentences(texts, "north_land2", "port_town2", head_id="xl2", tail_id="xt2")
    expected = load(run).explain(bag, "capital").to_dict()
    assert found["probability"] == pytest.approx(expected["probability"])
    assert [each["text"] for each in found["evidence"]] == [each["text"] for each in expected["evidence"]]


def test_with_the_same_types_it_explains_the_facts_that_are_extracted(run: Path, tmp_path: Path) -> None:
    found = [
        Sentence.from_text(text, "far_land", "far_town", "q1", "q2")._replace(source=Source(f"doc {number}", 0, 9))
        for number, text in enumerate(("far_town is the capital of far_land .", "far_land and far_town talk .") * 2)
    ]
    corpus, types = write(tmp_path / "c.jsonl", found), tmp_path / "types.json"
    types.write_text(json.dumps({"q1": ["/location/country"], "q2": ["/location/city"]}))
    inputs = ExtractInputs(run=run, corpus=corpus, types=types)
    extracted = {fact.relation: fact for fact in extract(inputs, EVERYTHING, tmp_path / "facts")}
    words = [run, "--head", "q1", "--tail", "q2", "--relation", "capital", "--file", corpus, "--json"]
    (typed,), (untyped,) = (json.loads(explain(*words, *more).stdout) for more in (("--types", types), ()))
    assert typed["probability"] == pytest.approx(extracted["capital"].probability, abs=1e-6)
    assert typed["probability"] != pytest.approx(untyped["probability"], abs=1e-5)
    assert typed["head"]["type"] == "/location/country"
    assert len(typed["evidence"]) == extracted["capital"].num_sentences == 2


def test_a_built_corpus_is_taken_whole_with_its_own_types(run: Path, tmp_path: Path) -> None:
    texts = ("far_town is the capital of far_land .", "far_land and far_town talk .")
    found = [Sentence.from_text(text, "far_land", "far_town", "q1", "q2") for text in texts]
    corpus = tmp_path / "corpus"
    for part, sentence in zip(("train", "rest"), found, strict=True):
        write(corpus / part / "000000.jsonl", [sentence])
    (corpus / "types.json").write_text(json.dumps({"q1": ["/location/country"], "q2": ["/location/city"]}))
    (corpus / "manifest.json").write_text('{"made_by": "sayso build", "is_finished": true}')
    (built,) = json.loads(
        explain(run, "--head", "q1", "--tail", "q2", "--relation", "capital", "--file", corpus, "--json").stdout
    )
    assert built["head"]["type"] == "/location/country"
    assert sorted(each["text"] for each in built["evidence"]) == sorted(texts)


def test_the_page_shows_the_sentences_and_needs_no_other_files(run: Path, store: Path, tmp_path: Path) -> None:
    page = tmp_path / "fact.html"
    explain(run, "--head", "xl1", "--tail", "xt1", "--data", store, "--html", page)
    text = page.read_text()
    assert '<mark class="tail">port_town1</mark> is the capital of <mark class="head">north_land1</mark>' in text
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--head", "nobody", "--tail", "xt1"], "no entity has the id or name 'nobody'"),
        (["--head", "xt1", "--tail", "xl1"], "it has the pair the other way round: swap head and tail$"),
        (["--head", "xl1", "--tail", "xt2"], "no part has a bag with head 'xl1' and tail 'xt2'"),
        (
            ["--head", "xl1", "--tail", "xt2", "--part", "test"],
            "the test part has no bag with head 'xl1' and tail 'xt2'",
        ),
        (
            ["--head", "xl1", "--tail", "xt1", "--relation", "/made/up"],
            "relation '/made/up' is not one of the model's 2 relations",
        ),
        (["--head", "xl1", "--tail", "xt1", "--method", "magic"], "unknown mechanism 'magic'"),
        (
            ["--head", "xl1", "--tail", "xt1", "--html", "nowhere/fact.html"],
            "folder nowhere does not exist; create it first",
        ),
    ],
)
def test_a_pair_that_cannot_be_explained_is_an_error(run: Path, store: Path, words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        explain(run, "--data", store, *words)


def test_a_bug_is_not_reported_as_a_user_error(run: Path, store: Path, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("shapes do not fit")

    monkeypatch.setattr("sayso.explain.bag.explain_bag", fail)
    with pytest.raises(ValueError, match="shapes do not fit") as fault:
        explain(run, "--head", "xl1", "--tail", "xt1", "--data", store)
    assert not isinstance(fault.value, UserError)


def test_names_that_several_pairs_have_ask_for_ids(run: Path, tmp_path: Path) -> None:
    sentences = [Sentence.from_text("Rome is in Italy .", "Italy", "Rome", head, "q2") for head in ("q1", "q9")]
    with pytest.raises(UserError, match=r"2 pairs have these names: use ids, such as q1 q2; q9 q2"):
        explain(run, "--head", "Italy", "--tail", "Rome", "--file", write(tmp_path / "c.jsonl", sentences))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), r"either a store \(--data\) or a file"),
        (("--data", "store", "--file", "c.jsonl"), r"either a store \(--data\) or a file"),
        (("--file", "c.jsonl", "--part", "test"), "--part requires --data"),
        (("--data", "store", "--types", "types.json"), "--types requires --file"),
    ],
)
def test_options_that_exclude_each_other_are_an_error(run: Path, words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        explain(run, "--head", "a", "--tail", "b", *words)
