import json
import subprocess
import sys
from pathlib import Path

import pytest

from command import sayso
from toy_extraction import FACTS, KNOWN, NEW, ids, write_found, write_found_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_found(tmp_path / "facts")
    write_found_manifest(folder)
    return folder


@pytest.fixture
def withheld(tmp_path: Path) -> Path:
    path = tmp_path / "withheld.tsv"
    path.write_text(f"{NEW[0].head_id}\t{NEW[0].relation}\t{NEW[0].tail_id}\nQ9\tcapital\tT9\n")
    return path


def test_facts_are_scored_against_withheld_ones_and_precision_is_called_a_lower_bound(
    folder: Path, withheld: Path
) -> None:
    done = sayso("score", folder, "--truth", withheld)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    precision, recall = (next(line for line in lines if line.startswith(name)) for name in ("precision", "recall"))
    assert " ".join(precision.split()) == "precision 0.12 0.02 to 0.47 1 of 8 facts (1 contradicts, 7 new)"
    assert " ".join(recall.split()) == "recall 0.50 0.09 to 0.91 1 of 2 listed facts"
    assert (
        f"Facts missing from {withheld} may still be right: if that list is incomplete, precision is a lower bound."
        in (lines)
    )
    assert "facts left out: 1 known (see --only)" in done.stderr
    assert f"to review the facts: sayso serve --data STORE --facts {folder}" in done.stderr


def test_json_has_every_figure_with_its_denominator(folder: Path, withheld: Path) -> None:
    found = json.loads(sayso("score", folder / "facts.jsonl", "--truth", withheld, "--only", "new", "--json").stdout)
    assert (found["num_facts"], found["num_right"], found["num_true"]) == (7, 1, 2)
    assert found["truth"] == str(withheld)
    assert found["decisions"] is None
    assert len(found["precision_interval"]) == 2
    assert [each["k"] for each in found["precision_at"]] == [20, 50, 100, 300]
    assert sum(each["num_facts"] for each in found["reliability"]) == 7
    assert {each["relation"]: each["num_true"] for each in found["per_relation"]}["capital"] == 1
    assert found["num_left_out"] == {"known": 1, "contradicts": 1}


def test_decided_facts_are_the_only_ones_that_count(folder: Path, tmp_path: Path) -> None:
    decisions = tmp_path / "decided.jsonl"
    rows = [ids(NEW[0]) | {"decision": "accepted"}, ids(NEW[1]) | {"decision": "rejected"}]
    rows += [ids(KNOWN) | {"decision": "accepted"}]
    decisions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = sayso("score", folder, "--decisions", decisions)
    assert "1 of 2 facts (2 new)" in done.stdout
    assert "1 of 1 accepted facts" in done.stdout
    assert "Only decided facts are counted" in done.stdout
    assert f"facts left out: {len(FACTS) - 3} not decided in {decisions}" in done.stderr
    assert f"--decisions {decisions}" in done.stderr.splitlines()[-1]


def test_other_names_in_the_truth_are_noted(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.tsv").write_text("Q0\tCONTAINS\tT0\n")
    done = sayso("score", folder, "--truth", tmp_path / "other.tsv")
    assert done.returncode == 0
    assert "do both use the same ids and relation names?" in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "either --truth TSV or --decisions FILE"),
        (("--truth", "bad.tsv", "--decisions", "bad.tsv"), "either --truth TSV or --decisions FILE"),
        (("--truth", "bad.tsv"), "bad.tsv:2: expected 3 columns (head, relation, tail), got 2"),
        (("--truth", "absent.tsv"), "absent.tsv: no such file"),
        (("--decisions", "bad.tsv"), "bad.tsv:1: not JSON"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], error: str
) -> None:
    (tmp_path / "bad.tsv").write_text("a\tb\tc\na\tb\n")
    monkeypatch.chdir(tmp_path)
    done = sayso("score", folder.name, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert error in done.stderr


def test_facts_that_were_changed_since_the_extraction_are_an_error_unless_unchecked(
    folder: Path, withheld: Path
) -> None:
    with (folder / "facts.jsonl").open("a") as file:
        file.write("\n")
    assert sayso("score", folder, "--truth", withheld).returncode == 2
    assert sayso("score", folder, "--truth", withheld, "--no-verify").returncode == 0


@pytest.mark.slow
def test_the_command_loads_neither_torch_nor_pandas(folder: Path, withheld: Path) -> None:
    program = (
        "import sys\nfrom sayso.cli import app\n"
        f"app(['score', {str(folder)!r}, '--truth', {str(withheld)!r}], standalone_mode=False)\n"
        "assert not {'torch', 'pandas', 'scipy', 'pyarrow'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
