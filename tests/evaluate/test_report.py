import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from resealed import rewrite
from sayso.errors import BadInputError, UserError
from sayso.evaluate.evaluation import Evaluation, prediction_columns
from sayso.evaluate.figures import run_figures
from sayso.evaluate.report import _curve, _drawn, make_report, write_report
from sayso.explain.faithfulness import sigmoid
from sayso.explain.trained_run import open_runs
from sayso.facts import html
from sayso.metrics.precision_recall import drawn_curve
from sayso.serve.predictions.table import PredictionTable, make_curve
from sayso.store.marks import SentenceMarks, marks_of_store
from sayso.store.predictions import Predictions, write_predictions
from sayso.store.store import Store


def test_the_report_is_json_without_nan_and_names_its_data_and_runs(
    evaluations: list[Evaluation], store: Store, tmp_path: Path
) -> None:
    written = write_report(make_report(evaluations, marks_of_store(store, "test")), tmp_path)
    figures = json.loads(written[0].read_text(), parse_constant=lambda name: pytest.fail(name))
    assert figures["data_fingerprint"] == store.fingerprint
    assert [run["run"] for run in figures["runs"]] == ["attention", "direct"]
    tau = figures["runs"][0]["explanations"]["attention"]["tau"]["all"]
    assert (tau["num_tuples"], tau["num_bags"]) == (12, 6)
    assert [(each["first"], each["second"]) for each in figures["comparisons"]] == [("attention", "direct")]
    assert {path.name for path in written[2:]} == {"precision_recall.attention.tsv", "precision_recall.direct.tsv"}


def test_without_jinja_everything_but_the_page_is_written(
    evaluations: list[Evaluation],
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(html, "find_spec", lambda _: None)
    written = write_report(make_report(evaluations[:1], marks_of_store(store, "test")), tmp_path)
    assert [path.name for path in written] == ["report.json", "precision_recall.attention.tsv"]
    assert caplog.messages == [f"{tmp_path / 'report.html'} is not written: HTML pages need jinja2: pip install jinja2"]


def test_points_go_down_in_probability_and_up_in_recall(
    evaluations: list[Evaluation], store: Store, tmp_path: Path
) -> None:
    written = write_report(make_report(evaluations[:1], marks_of_store(store, "test")), tmp_path)
    header, *lines = written[2].read_text().splitlines()
    assert header == "recall\tprecision\tprobability"
    points = [tuple(map(float, line.split("\t"))) for line in lines]
    assert [point[0] for point in points] == sorted(point[0] for point in points)
    assert [point[2] for point in points] == sorted((point[2] for point in points), reverse=True)
    assert points[-1][0] == 1.0


def test_the_workbench_draws_the_curve_of_the_report(
    evaluations: list[Evaluation], store: Store, tmp_path: Path
) -> None:
    for run in evaluations:
        write_predictions(tmp_path / run.subject.name, prediction_columns(run))
        table = PredictionTable(Predictions(tmp_path / run.subject.name))
        threshold = run.settings.threshold
        drawn = make_curve(table, threshold, num_unread=run.subject.num_facts_unread).line
        whole = _curve(run)
        is_there = sigmoid(whole.threshold) >= threshold
        assert drawn == drawn_curve(whole)[: is_there.sum()]
        assert (_drawn("run", whole).x[: len(drawn)], len(drawn)) == ([recall for recall, _ in drawn], is_there.sum())


def test_the_page_loads_nothing_and_escapes_text_from_the_corpus(
    evaluations: list[Evaluation], store: Store, tmp_path: Path
) -> None:
    subject = evaluations[0].subject
    relations = [relation._replace(name=f"<b>{relation.name}</b>") for relation in subject.model.relations]
    evil = replace(evaluations[0], subject=replace(subject, model=replace(subject.model, relations=relations)))
    page = write_report(make_report([evil], marks_of_store(store, "test")), tmp_path)[1].read_text()
    assert "&lt;b&gt;capital&lt;/b&gt;" in page
    assert "<b>capital" not in page
    assert not re.search(r"(src|href)=|https?://|@import|url\(", page)


@pytest.mark.parametrize("is_calibrated", [True, False])
def test_the_page_compares_reliability_only_for_calibrated_runs(
    evaluations: list[Evaluation], store: Store, tmp_path: Path, is_calibrated: bool
) -> None:
    before = evaluations[0].logit_BR - 1.0 if is_calibrated else None
    run = replace(evaluations[0], uncalibrated_BR=before)
    page = write_report(make_report([run], marks_of_store(store, "test")), tmp_path)[1].read_text()
    assert ("before: " in page) == is_calibrated
    assert "Reliability" in page


def test_without_marks_there_are_no_tuples_and_no_nan(evaluations: list[Evaluation]) -> None:
    unmarked = replace(evaluations[0], marks=SentenceMarks(by_sentence={}, report={}))
    tau = run_figures(unmarked)["explanations"]["saliency"]["tau"]["H"]
    assert (tau["pooled"], tau["interval"], tau["num_tuples"], tau["num_bags"]) == (None, None, 0, 0)


def test_identical_marks_make_no_tuples(evaluations: list[Evaluation]) -> None:
    alike = dict.fromkeys(evaluations[0].marks.by_sentence, 1)
    tau = run_figures(replace(evaluations[0], marks=SentenceMarks(by_sentence=alike, report={})))
    assert tau["explanations"]["attention"]["tau"]["all"]["num_tuples"] == 0


def test_runs_made_on_other_data_are_refused(runs: list[Path], store: Store, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for file in store.folder.iterdir():
        (other / file.name).symlink_to(file)
    manifest = json.loads((store.folder / "manifest.json").read_text()) | {"fingerprint": "something else"}
    (other / "manifest.json").unlink()
    (other / "manifest.json").write_text(json.dumps(manifest))
    rewrite(other / "manifest.json")
    with pytest.raises(BadInputError, match=r"trained on a store with fingerprint .* but .* has something else"):
        open_runs(runs, Store(other), "test")


def test_two_runs_of_one_name_and_a_missing_part_are_refused(runs: list[Path], store: Store) -> None:
    with pytest.raises(UserError, match=r"two runs are called attention: .* can tell them apart$"):
        open_runs([runs[0], runs[0]], store, "test")
    with pytest.raises(BadInputError, match=r"no part 'dev' to evaluate on: choose one of train, validation, test"):
        open_runs(runs, store, "dev")


def test_the_files_of_predictions_hold_the_evaluation(evaluations: list[Evaluation], tmp_path: Path) -> None:
    run = evaluations[0]
    write_predictions(tmp_path / "predictions", prediction_columns(run))
    found = Predictions(tmp_path / "predictions")
    assert found.mechanisms == run.mechanisms
    assert found.facts["probability"].to_pylist() == run.explained.probability_F.tolist()
    assert found.facts["support"].to_pylist() == run.explained.sufficient.kinds
    assert found.facts["num_enough"].to_pylist() == run.explained.sufficient.num_enough_F.tolist()
    assert found.evidence["sentence"].to_pylist() == run.explained.sentences.value.tolist()
    assert found.evidence["score.leave_one_out"].to_pylist() == run.explained.scores["leave_one_out"].tolist()
    assert found.evidence["mark"].to_pylist().count(1) == 6
    assert "/location/city" in found.words["word"].to_pylist()
    found.refuse_other_store(run.subject.store)


def test_a_file_with_the_name_of_the_report_folder_is_reported(
    evaluations: list[Evaluation], store: Store, tmp_path: Path
) -> None:
    (tmp_path / "report").write_text("")
    with pytest.raises(UserError, match="report: file exists; choose another folder"):
        write_report(make_report(evaluations[:1], marks_of_store(store, "test")), tmp_path / "report")
