import json
from pathlib import Path

import pytest

from command import sayso

SMALL = ("--train-sentences", 60, "--test-sentences", 30, "--direct-sentences", 5, "--documents", 2)


def test_a_table_goes_to_stdout_and_the_next_command_to_stderr(tmp_path: Path) -> None:
    out = tmp_path / "corpus"
    result = sayso("invent", out, *SMALL)
    assert result.returncode == 0, result.stderr
    assert "irrelevant share" in result.stdout
    assert result.stderr.strip().endswith(f"next: sayso check {out}/train.jsonl --relations {out}/relations.tsv")
    assert sayso("check", out / "train.jsonl", "--relations", out / "relations.tsv").returncode == 0


def test_json_holds_the_counts(tmp_path: Path) -> None:
    record = json.loads(sayso("invent", tmp_path / "x", *SMALL, "--json", "--seed", 7).stdout)
    assert record["seed"] == 7
    assert record["train"]["sentences"] == 60
    assert record["test"]["sentences"] == 30


@pytest.mark.parametrize(
    "words",
    [
        ("--na", 1.5),
        ("--size", "huge"),
        ("--train-sentences", 2),
        ("--unseen-wording", 0.95),
        ("--na", "nan"),
        ("--raw", "--documents", 0),
    ],
)
def test_a_bad_value_exits_2_and_writes_nothing(tmp_path: Path, words: tuple[object, ...]) -> None:
    result = sayso("invent", tmp_path / "x", *words)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "x").exists()


def test_a_folder_that_holds_something_exits_2_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    result = sayso("invent", tmp_path, *SMALL)
    assert result.returncode == 2
    assert result.stderr.strip().splitlines() == [
        f"sayso: {tmp_path}: the folder is not empty; choose another, or replace it with --overwrite"
    ]


def test_raw_writes_what_build_takes_and_keeps_the_options_that_are_given(tmp_path: Path) -> None:
    result = sayso("invent", tmp_path / "x", "--raw", *SMALL[:4], "--documents", 9, "--irrelevant", 0.1, "--seed", 7)
    assert result.returncode == 0, result.stderr
    assert (
        f"next: sayso build --documents {tmp_path / 'x'}/documents.jsonl --kb {tmp_path / 'x'}/kb.tsv" in result.stderr
    )
    settings = json.loads((tmp_path / "x" / "manifest.json").read_text())["settings"]
    names = ("seed", "documents", "train_sentences", "irrelevant_share", "na_share", "unseen_wording_share")
    assert [settings[name] for name in names] == [7, 9, 60, 0.1, 0.3, 0.0]
