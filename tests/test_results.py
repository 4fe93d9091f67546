"""The results pages agree with the committed runs."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from reproduce.toy_results import diverged, make_result, make_results
from reproduce.toy_store import make_store
from sayso.reproduce.plan import PlanSettings, make_plan
from sayso.reproduce.summary import summarise
from sayso.store.store import Store
from script import ROOT, load


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    return load("docs/make_results.py")


def test_the_page_is_made_from_the_committed_runs(maker: ModuleType) -> None:
    assert (ROOT / "docs" / "results.md").read_text() == maker.page(), "run `make docs`"
    details = maker.details()
    assert {path.name for path in (ROOT / "docs" / "results").iterdir()} == set(details)
    for file, text in details.items():
        assert (ROOT / "docs" / "results" / file).read_text() == text, "run `make docs`"


def test_the_main_page_is_short_and_links_every_page_beside_it(maker: ModuleType) -> None:
    page = maker.page()
    assert len(page.splitlines()) < 120
    for file in maker.details():
        assert not file.endswith(".md") or f"](results/{file})" in page


def test_a_reproduction_becomes_tables_figures_claims_and_notes(maker: ModuleType, tmp_path: Path) -> None:
    store, wish = Store(make_store(tmp_path)), PlanSettings(has_grid=False)
    summary = summarise("the toy corpus", store, make_plan(store, wish), wish, make_results())
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "toy.json").write_text(json.dumps(summary))
    (tmp_path / "results" / "toy.md").write_text("### Why\n\nBecause it is a toy.\n")
    details = maker.details(tmp_path / "results")
    page = details.pop("toy.md")
    assert "# The paper's tables, figures and claims on the toy corpus" in page
    assert "Because it is a toy." in page
    for file, text in details.items():
        assert f"]({file})" in page
        ElementTree.fromstring(text)
    assert set(details) == {"toy-figure-1.svg", "toy-figure-2.svg"}
    assert "## the toy corpus" in maker.page(tmp_path / "results")


def test_the_shortcut_becomes_a_table_and_a_figure_for_each_measure(maker: ModuleType, tmp_path: Path) -> None:
    rows = load("experiments/rows.py")
    lines = [
        rows.row_of(make_result(variant, seed, precision=0.5 + strength / 10), "toy") | {"strength": strength}
        for strength in (0.0, 1.0)
        for variant in ("CNNs+ATT", "CNNs+ATT+F")
        for seed in (1, 2)
    ]
    lines.append(rows.row_of(diverged(make_result("CNNs+ATT", 3)), "toy") | {"strength": 0.0})
    rows.write_rows(tmp_path / "1.jsonl", {"title": "The shortcut", "table": "shortcut", "text": []}, lines)
    drawn = maker.details(tmp_path)
    page = drawn.pop("experiments.md")
    assert len([line for line in page.splitlines() if line.startswith(("| 0 | CNNs", "| 1 | CNNs"))]) == 4
    assert "- Diverged, excluded from all means: CNNs+ATT, seed 3, toy: epoch 1, batch 3: the loss is nan." in page
    assert set(drawn) == {
        "shortcut-average-precision.svg",
        *(f"shortcut-tau-{name}.svg" for name in ("leave_one_out", "saliency", "gradient_x_input", "attention")),
    }
    for file, text in drawn.items():
        assert f"]({file})" in page
        assert len(ElementTree.fromstring(text).findall(".//{*}polyline")) == 2


@pytest.fixture(scope="module")
def parts(maker: ModuleType) -> dict[str, str]:
    """Return the parts of the page by their headings."""
    return {part.partition("\n")[0]: " ".join(part.split()) for part in maker.page().split("\n## ")[1:]}


def test_the_page_says_whose_marks_they_are_and_what_the_vectors_are(parts: dict[str, str]) -> None:
    (part,) = (text for title, text in parts.items() if title == "FB-NYT subset")
    about = part.partition("| claim |")[0]
    assert "*Model readers* are two language models, not people" in about
    assert "0.67 between them and people" in about
    assert "100-d GloVe" in about
    assert "TransE" in about
    assert "FB15k-237" in about


def test_the_page_does_not_take_a_part_for_the_whole_release(maker: ModuleType) -> None:
    text = " ".join((maker.page() + "".join(maker.details().values())).split())
    assert "25 times estimates" not in text
    assert "as wide as the paper's own differences" not in text


def test_decisions_of_a_mean_on_claims_about_all_are_marked(maker: ModuleType) -> None:
    rows = [line for line in maker.details()["fbnyt.md"].splitlines() if line.count(" | ") == 4]
    told = [row for row in rows if "everywhere (" in row or "are alike" in row or "for every mechanism (" in row]
    assert len(told) > 10
    marked = "(from the mean of signed differences, not tested on each)"
    assert all(marked in row or "| contradicted (by " in row for row in told)
    others = [row for row in rows if "LD raises AUC (" in row]
    assert others
    assert not any("signed differences" in row for row in others)


def test_facts_found_with_an_incomplete_knowledge_base_are_compared_with_the_base_loss() -> None:
    table = load("docs/result_tables.py").TABLES["incomplete"]

    def row(fold: str, method: str, seed: int, ranks: list[int | None]) -> dict:
        return {"fold": fold, "variant": "V", "method": method, "value": 0.5, "seed": seed, "ranks": ranks}

    rows = [
        row("0", "base", 13, [1, 200, None]),
        row("0", "known_share", 13, [1, 200, None]),
        row("all", "base", 13, [400, 400, 400, None]),
        row("all", "base", 14, [400, 400, 400, None]),
        row("all", "known_share", 13, [50, 250, 400, None]),
        row("all", "known_share", 14, [50, 400, 400, None]),
    ]
    _, _, *lines = table(rows)
    assert lines == [
        "| a fifth of kb.tsv | V | base | 1 | 2 | 1.0 | 2.0 |  |",
        "| a fifth of kb.tsv | V | known_share 0.5 | 1 | 2 | 1.0 | 2.0 | +0.0 [+0.0, +0.0] |",
        "| withheld.tsv | V | base | 2 | 3 | 0.0 | 0.0 |  |",
        "| withheld.tsv | V | known_share 0.5 | 2 | 3 | 1.0 | 1.5 | +1.5 [+0.0, +3.5] |",
    ]


def test_parts_of_the_knowledge_base_are_disjoint_and_the_same_each_time() -> None:
    incomplete = load("experiments/incomplete.py")
    facts = [(f"h{number}", "r", f"t{number}") for number in range(23)]
    folds = incomplete.folds_of(facts)
    assert sorted(fact for fold in folds for fact in fold) == sorted(facts)
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert incomplete.folds_of(facts[::-1]) == folds
