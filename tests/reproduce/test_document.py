"""A summary becomes JSON, Markdown, figures and a page that all say the same."""

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reproduce.toy_results import diverged, make_result, make_results
from reproduce.toy_store import make_store
from resealed import rewrite
from sayso.reproduce.document import notes, write_reproduction
from sayso.reproduce.folder import RunResult
from sayso.reproduce.paper import NINE
from sayso.reproduce.plan import GRID_VARIANTS, LAMBDAS, PlanSettings, make_plan
from sayso.reproduce.summary import summarise
from sayso.store.store import Store


def summary_of(store: Path, results: dict[str, RunResult], wish: PlanSettings = PlanSettings()) -> dict[str, Any]:
    opened = Store(store)
    return summarise("a <small> corpus", opened, make_plan(opened, wish), wish, results)


@pytest.fixture(scope="module")
def results() -> dict[str, RunResult]:
    found = make_results(area=lambda name: 0.2 + 0.01 * len(name))
    for variant in GRID_VARIANTS:
        for weight in LAMBDAS:
            if weight != 1.0:
                run = make_result(variant, 13, area=0.3 - weight / 1000, label=f"lambda-{weight:g}")
                run.config["loss"]["distractor"] = weight
                found[run.key] = run
    found["cnns_att_f-seed-14"] = diverged(found["cnns_att_f-seed-14"])
    return found


@pytest.fixture(scope="module")
def written(store: Path, results: dict[str, RunResult], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write_reproduction(summary_of(store, results), folder)
    return folder


def test_everything_is_written(written: Path) -> None:
    assert {path.name for path in written.iterdir()} == {
        "reproduction.json",
        "reproduction.md",
        "reproduction.html",
        *(f"figure-{number}.{kind}" for number in (1, 2) for kind in ("svg", "png")),
    }
    assert (written / "figure-1.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_results_give_the_same_text(store: Path, results: dict[str, RunResult]) -> None:
    turned = dict(reversed(results.items()))
    assert json.dumps(summary_of(store, results)) == json.dumps(summary_of(store, turned))


def test_figures_are_self_contained_and_have_a_line_per_variant(written: Path) -> None:
    for number in (1, 2):
        drawn = ElementTree.fromstring((written / f"figure-{number}.svg").read_text())
        assert len(drawn.findall(".//{*}polyline")) == len(NINE)


def test_the_page_loads_nothing_and_closes_every_tag(written: Path) -> None:
    page = (written / "reproduction.html").read_text()
    assert not re.search(r"(src|href)\s*=", page)
    open_tags: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "line", "polyline", "circle", "br"):
                open_tags.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Checker().feed(page)
    assert open_tags == []
    assert "a &lt;small&gt; corpus" in page


def test_every_row_of_a_markdown_table_has_the_columns_of_its_head(written: Path) -> None:
    rows = [line for line in (written / "reproduction.md").read_text().splitlines() if line.startswith("|")]
    for head, rule in pairwise(rows):
        if set(rule) <= set("|-"):
            columns = head.count("|")
        assert head.count("|") == columns


def test_a_diverged_run_is_named_and_left_out_of_all_means(written: Path, results: dict[str, RunResult]) -> None:
    text = (written / "reproduction.md").read_text()
    assert "Diverged, excluded from all means: CNNs+ATT+F, seed 14: epoch 1, batch 3: the loss is nan." in text
    summary = json.loads((written / "reproduction.json").read_text())
    row = next(row for row in summary["extraction"] if row["variant"] == "CNNs+ATT+F")
    kept = [results[f"cnns_att_f-seed-{seed}"].test["average_precision"] for seed in (13, 15)]
    assert row["seeds"] == [13, 15]
    assert row["average_precision"]["mean"] == pytest.approx(sum(kept) / 2, abs=1e-6)


def test_the_papers_figures_are_beside_ours_and_the_data_are_named(written: Path) -> None:
    text = (written / "reproduction.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| CNNs+ATT+F+LD | "))
    assert "(paper 27.7)" in row
    assert "(paper 33.9)" in row
    assert all("a <small> corpus" in line for line in text.splitlines() if line.startswith("**"))


def test_table_2_ends_with_the_baselines_of_the_same_test_part(written: Path) -> None:
    summary = json.loads((written / "reproduction.json").read_text())
    names = [row["baseline"] for row in summary["baselines"]]
    assert names == ["types", "size", "names", "types + size", "logistic regression"]
    lines = (written / "reproduction.md").read_text().splitlines()
    # The types of the toy corpus tell its relations.
    assert "| types (baseline, no reading) | 40.0 | – | 100.0 | – |" in lines
    assert any(line.startswith("| logistic regression (baseline) | ") for line in lines)


def test_the_best_weight_of_the_grid_is_chosen_on_validation(written: Path) -> None:
    rows = [line for line in (written / "reproduction.md").read_text().splitlines() if "best AUC@0.4" in line]
    assert [line.split(" | ")[:2] for line in rows] == [["| CNNs+ATT+LD", "1"], ["| DirectSup+F+LD", "1"]]


def test_without_marks_and_with_unfinished_runs_the_rest_is_written_with_notes(store: Path, tmp_path: Path) -> None:
    run = RunResult(**(vars(make_result("CNNs+ATT", 13)) | {"orders": {}}))
    summary = summary_of(store, {run.key: run}, PlanSettings(num_seeds=1, has_grid=False, is_quick=True))
    write_reproduction(summary, tmp_path)
    text = (tmp_path / "reproduction.md").read_text()
    assert "The store has no marks on test sentences" in text
    assert "Not done yet: 17 runs" in text
    assert "Quick run: at most 10 epochs" in text
    assert "One seed: the variance between seeds is unknown, so every claim is inconclusive." in text
    assert "| F raises AUC (AUC@0.4) | inconclusive | – | – (6 left out) | 5 of 5 |" in text
    assert "Table 3" not in text
    assert not (tmp_path / "figure-2.svg").exists()


def test_a_claim_without_runs_still_has_a_row(store: Path, tmp_path: Path) -> None:
    run = make_result("CNNs+ATT", 13)
    write_reproduction(summary_of(store, {run.key: run}), tmp_path)
    text = (tmp_path / "reproduction.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| The most accurate")]
    assert rows
    assert all("| inconclusive | – | – " in line for line in rows)


def test_a_claim_contradicted_by_a_single_difference_names_it(store: Path, tmp_path: Path) -> None:
    results = make_results(area=lambda name: 0.2 if name == "DirectSup+FE+E" else 0.35 if name.endswith("+E") else 0.3)
    write_reproduction(summary_of(store, results), tmp_path)
    text = (tmp_path / "reproduction.md").read_text()
    assert "| +E raises AUC everywhere (AUC@0.4) | contradicted (by DirectSup+FE+E − DirectSup+FE) | +" in text


def test_if_every_run_diverged_a_note_says_so_and_none_is_about_marks(store: Path) -> None:
    run = diverged(make_result("CNNs+ATT", 13))
    lines = notes(summary_of(store, {run.key: run}, PlanSettings(variants=("CNNs+ATT",), has_grid=False)))
    assert "No run has finished with metrics: there is nothing to compare." in lines
    assert not any("marks" in line for line in lines)


def test_random_vectors_and_leaking_pairs_are_noted_in_the_document(
    tmp_path: Path, results: dict[str, RunResult]
) -> None:
    store = make_store(tmp_path, "vectors", "entity_vectors")
    manifest = json.loads((store / "manifest.json").read_text())
    manifest["leakage"]["test_pairs_in_train"] = 7
    for leak, is_said in (("allow", True), ("drop", False)):
        manifest["settings"]["leak"] = leak
        rewrite(store / "manifest.json", **manifest)
        lines = notes(summary_of(store, results))
        assert "The store has no word vectors: random ones are used instead (prepare with --vectors)." in lines
        assert any(line.startswith("7 test pairs are in training") for line in lines) == is_said
