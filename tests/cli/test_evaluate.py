import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sayso.cli import app
from sayso.errors import BadInputError, UserError
from sayso.io.folder import locked
from sayso.store.predictions import Predictions
from toy_evaluation import evaluation_lines, make_marked_store, mark_line
from toy_run import make_run, make_store, toy_config


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_marked_store(tmp_path_factory.mktemp("evaluate"))


@pytest.fixture(scope="module")
def run(store: Path) -> Path:
    return make_run(toy_config("type"), store, store.parent / "one")


def evaluate(*arguments: object):
    words = ["evaluate", *map(str, arguments), "--device", "cpu", "--resamples", "20"]
    return CliRunner().invoke(app, words, catch_exceptions=False)


def test_a_table_is_printed_and_a_report_and_predictions_are_written(run: Path, store: Path) -> None:
    result = evaluate(run, "--data", store)
    assert "relations: 12 facts in the KB, 18 bags (test)" in result.stdout
    rows = [line.split()[:4] for line in result.stdout.splitlines() if line.startswith("one")]
    assert rows[-1] == ["one", "all", "12", "6"]
    page = run / "report.html"
    assert f"wrote {run / 'report.json'} and {page}\nopen {page} in a browser\n" in result.stderr
    report = json.loads((run / "report.json").read_text())
    assert report["runs"][0]["relations"]["num_facts"] == 12
    assert len(Predictions(run / "predictions").facts["bag"]) >= 12


def test_the_table_ends_with_baselines_and_each_run_has_its_reading_gain(
    run: Path, store: Path, tmp_path: Path
) -> None:
    lines = evaluate(run, "--data", store, "--method", "attention", "--out", tmp_path).stdout.splitlines()
    rows = [line.partition("  ")[0] for line in lines if "  no reading  " in line]
    assert rows == ["types", "size", "names", "types + size"]
    assert [line.partition("  ")[0] for line in lines if "  baseline  " in line] == ["logistic regression"]
    assert any(line.startswith("one: average precision minus that of logistic regression ") for line in lines)
    assert any(line.startswith("one: reading gain ") and line.endswith("minus that of types)") for line in lines)


def test_marks_from_a_file_replace_the_stores_and_unmatched_ones_are_reported(
    run: Path, store: Path, tmp_path: Path
) -> None:
    lines = evaluation_lines()
    marks = [
        mark_line(lines[0], "rationale"),
        mark_line(lines[1], "irrelevant"),
        mark_line(lines[2], "x", tail="nobody"),
    ]
    (tmp_path / "marks.jsonl").write_text("\n".join(marks) + "\n")
    result = evaluate(run, "--data", store, "--marks", tmp_path / "marks.jsonl", "--out", tmp_path, "--json")
    report = json.loads(result.stdout)
    assert report["runs"][0]["explanations"]["attention"]["tau"]["all"]["num_tuples"] == 1
    assert report["marks"]["num_unmatched"] == 1
    assert "1 marks match no sentence of the test part:" in result.stderr
    assert "marks.jsonl:3: no test bag for the pair" in result.stderr


def test_a_part_without_marks_says_no_tuples(run: Path, store: Path, tmp_path: Path) -> None:
    result = evaluate(run, "--data", store, "--part", "validation", "--method", "attention", "--out", tmp_path)
    assert "no tuples" in result.stdout
    assert "nan" not in result.stdout


def test_several_runs_are_compared_and_those_on_other_data_refused(run: Path, store: Path, tmp_path: Path) -> None:
    second = make_run(toy_config(), store, store.parent / "two")
    result = evaluate(run, second, "--data", store, "--method", "attention", "--out", tmp_path / "report")
    assert "one − two: average precision" in result.stdout
    (tmp_path / "plain").mkdir()
    stranger = make_run(toy_config(), make_store(tmp_path / "plain"), tmp_path / "stranger")
    with pytest.raises(BadInputError, match="stranger: the run was trained on a store with fingerprint"):
        evaluate(run, stranger, "--data", store)


def test_an_unwritable_report_folder_is_an_error_before_any_work(run: Path, store: Path) -> None:
    predictions = run / "predictions"
    before = predictions.stat().st_mtime_ns if predictions.exists() else None
    with pytest.raises(UserError, match="choose another folder"):
        evaluate(run, "--data", store, "--out", run / "config.toml")
    assert (predictions.stat().st_mtime_ns if predictions.exists() else None) == before


def test_a_run_that_is_being_written_is_not_evaluated(run: Path, store: Path, tmp_path: Path) -> None:
    for folder in (run, tmp_path / "report"):
        with locked(folder, "sayso x"), pytest.raises(UserError, match=f"{folder.name}: `sayso x` is running"):
            evaluate(run, "--data", store, "--out", tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_an_unknown_mechanism_is_an_error_before_any_work(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown mechanism 'magic': choose one of attention"):
        evaluate(run, "--data", tmp_path / "absent", "--method", "magic")
