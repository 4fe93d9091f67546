import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sayso.cli import app
from sayso.errors import BadInputError, UserError
from sayso.library import load
from toy_run import corpus_lines, make_run, make_store, toy_config


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predict")
    return make_run(toy_config("type"), make_store(folder), folder / "run")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "new.txt"
    path.write_text("\n".join([*corpus_lines()[:12], corpus_lines()[0]]) + "\n")
    return path


def predict(*arguments: object):
    return CliRunner().invoke(app, ["predict", *map(str, arguments), "--device", "cpu"], catch_exceptions=False)


def test_facts_are_printed_as_json_lines_most_probable_first(run: Path, file: Path) -> None:
    result = predict(run, file, "--threshold", 0, "--json")
    facts = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(facts) == 6 * 2
    names = {"head", "head_name", "tail", "tail_name", "relation", "new_entities"}
    assert set(facts[0]) == names | {"probability", "num_sentences"}
    assert [fact["probability"] for fact in facts] == sorted((fact["probability"] for fact in facts), reverse=True)
    capital = next(fact for fact in facts if fact["head"] == "l1" and fact["relation"] == "capital")
    assert capital | {"probability": 0} == {
        "head": "l1",
        "head_name": "north_land1",
        "tail": "t1",
        "tail_name": "port_town1",
        "new_entities": [],
        "relation": "capital",
        "probability": 0,
        "num_sentences": 3,
    }
    assert "13 sentences of 6 pairs, 1 repeated sentences left out" in result.stderr


def test_the_facts_are_those_of_the_library(run: Path, file: Path, tmp_path: Path) -> None:
    from sayso.readers.read import Tally, read_sentences

    out = tmp_path / "facts.jsonl"
    result = predict(run, file, "--threshold", 0, "--top", 3, "--out", out)
    expected = load(run).predict_corpus(read_sentences(file, Tally(file)), 0.0, 3)
    assert [json.loads(line) for line in out.read_text().splitlines()] == [fact.to_dict() for fact in expected]
    assert (result.stdout, f"wrote {out}: 3 facts" in result.stderr) == ("", True)


def test_memory_for_tables_changes_no_fact(run: Path, file: Path) -> None:
    lines = [predict(run, file, "--threshold", 0, "--json", "--table-memory", mib).stdout for mib in (0, 512)]
    found = [[json.loads(line)["probability"] for line in each.splitlines()] for each in lines]
    assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_facts_are_a_table_by_default(run: Path, file: Path) -> None:
    result = predict(run, file, "--threshold", 0, "--top", 1)
    title, columns, fact = result.stdout.splitlines()
    assert title.split() == ["CNNs+ATT+F:", "1", "facts"]
    assert columns.split() == ["head", "relation", "tail", "probability", "sentences"]
    assert fact.split()[-1] == "3"


def test_a_threshold_that_no_fact_reaches_is_reported(run: Path, file: Path) -> None:
    result = predict(run, file, "--threshold", 1, "--json")
    assert result.stdout == ""
    assert "no fact reaches 1; the most probable has 0." in result.stderr


def test_types_from_a_file_are_used_for_unknown_entities(run: Path, tmp_path: Path) -> None:
    path, types = tmp_path / "new.txt", tmp_path / "types.json"
    path.write_text("q1\tq2\tzoe\tmax\tNA\tzoe saw max\n")
    types.write_text(json.dumps({"q1": ["/person"], "q2": ["/person/artist"]}))
    assert "2 of 2 entities are unknown to the model; 2 have no type" in predict(run, path).stderr
    assert "2 of 2 entities are unknown to the model\n" in predict(run, path, "--types", types).stderr


def test_bad_lines_are_counted_and_too_many_stop_it(run: Path, file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text() + "a\tb\n")
    out = tmp_path / "facts.jsonl"
    with pytest.raises(
        BadInputError, match=r"new\.txt:14: expected 6 columns and ###END###, got 2 .*1 of 14 lines are bad"
    ):
        predict(run, file, "--out", out)
    assert not out.exists()
    assert "1 bad lines left out (first: " in predict(run, file, "--max-bad", 0.5).stderr


def test_an_unfinished_run_and_a_missing_file_are_errors(run: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(UserError, match="the run is not finished"):
        predict(tmp_path, file)
    with pytest.raises(BadInputError, match=r"absent\.txt: no such file"):
        predict(run, tmp_path / "absent.txt")


def test_an_unwritable_path_is_an_error_before_anything_is_read(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"folder .*nowhere does not exist; create it first"):
        predict(run, tmp_path / "absent.txt", "--out", tmp_path / "nowhere" / "facts.jsonl")


def test_facts_can_be_written_and_printed_together(run: Path, file: Path, tmp_path: Path) -> None:
    printed = predict(run, file, "--out", tmp_path / "facts.jsonl", "--threshold", 0, "--json").stdout
    assert printed == (tmp_path / "facts.jsonl").read_text() != ""


def test_a_built_corpus_is_taken_whole(run: Path, file: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "train").mkdir(parents=True)
    (corpus / "rest").mkdir()
    lines = file.read_text().splitlines(keepends=True)
    (corpus / "train" / "000000").write_text("".join(lines[:7]))
    (corpus / "rest" / "000000").write_text("".join(lines[7:]))
    words = ("--threshold", 0, "--json")
    assert predict(run, corpus, *words).stdout == predict(run, file, *words).stdout


def test_a_knowledge_base_in_place_of_types_is_refused(run: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "kb.tsv").write_text("l1\tcapital\tt1\n")
    with pytest.raises(BadInputError, match="contains facts, not types: 'capital' is a relation"):
        predict(run, file, "--types", tmp_path / "kb.tsv")
