import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import sayso
from readers.shared_data import shared
from sayso.cli import app
from script import ROOT

GOOD = "m.1\tm.2\tann\trome\t/lived\tann lived in rome .\t###END###\n"


def test_counts_go_to_stdout_and_a_good_file_exits_0(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD + GOOD.replace("/lived", "NA").replace("m.2", "m.3"))
    result = sayso("check", path)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^pairs +2$", result.stdout, re.MULTILINE)
    assert result.stderr == ""


def test_json_has_the_promised_keys_for_one_file_and_for_several(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD)
    promised = [
        "sentences",
        "pairs",
        "positive_pairs",
        "facts",
        "relations",
        "na_sentences",
        "duplicate_sentences",
        "bad_lines",
    ]
    for words, sentences in (([path], 1), ([path, path], 2)):
        report = json.loads(sayso("check", *words, "--json").stdout)
        assert set(promised) <= set(report)
        assert report["sentences"] == sentences
        assert report["pairs"] == 1
        assert [entry["sentences"] for entry in report["files"]] == [1] * sentences


def test_standard_input_is_read(tmp_path: Path) -> None:
    assert json.loads(sayso("check", "-", "--json", stdin=gzip.compress(GOOD.encode())).stdout)["sentences"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x.txt: contains no sentences"),
        (GOOD.encode() + b"m.1\tm.2\tann\n", "x.txt:2: expected 6 columns and ###END###, got 3"),
        (GOOD.encode() + GOOD.replace("ann lived", "bob lived").encode(), "x.txt:2: head mention 'ann' is not in"),
        (GOOD.encode() + GOOD.encode()[:30] + b"\xff\n", "x.txt:2: byte 31 of the line is not UTF-8"),
        (GOOD.encode() + GOOD.replace("lived in", "in " * 100_000).encode(), "x.txt:2: the sentence has 100,00"),
        (gzip.compress(GOOD.encode() * 100, mtime=0)[:-30], "the gzip file is truncated or damaged"),
        (b"1;2;3\n", "x.txt:1: unknown format"),
    ],
)
def test_bad_input_is_one_clear_line_with_file_and_line_and_exit_2(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    result = sayso("check", path)
    assert result.returncode == 2
    assert message in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "this folder contains no files"), (tmp_path / "none", "no such file")):
        result = sayso("check", path)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f"sayso: {path}: {result.stderr.split(': ', 2)[2]}"
        assert message in result.stderr


def test_an_unknown_relation_is_a_bad_line(tmp_path: Path) -> None:
    path, inventory = tmp_path / "x.txt", tmp_path / "relations.tsv"
    path.write_text(GOOD)
    inventory.write_text("name\tdefinition\n/died\twhere someone died\n")
    result = sayso("check", path, "--relations", inventory)
    assert result.returncode == 2
    assert f"{path}:1: relation '/lived' is not in the inventory" in result.stdout


def test_types_of_other_entities_are_an_error_that_names_the_format(tmp_path: Path) -> None:
    path, types = tmp_path / "x.txt", tmp_path / "relations.tsv"
    path.write_text(GOOD)
    types.write_text("name\tdefinition\n/lived\twhere someone lived\n")
    result = sayso("check", path, "--types", types)
    assert result.returncode == 2
    assert result.stderr.startswith(f"sayso: {types}: none of the 2 entities in the corpus (such as '")
    assert "tab-separated lines of an id and its types" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_windows_line_ends_and_repeated_lines_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode() * 3)
    report = json.loads(sayso("check", path, "--json").stdout)
    assert (report["sentences"], report["duplicate_sentences"], report["bad_lines"]) == (3, 2, 0)


def test_the_allowed_share_of_bad_lines_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD * 9 + "bad\n")
    assert sayso("check", path).returncode == 2
    assert sayso("check", path, "--max-bad", "0.1").returncode == 0


def test_the_shared_files_have_the_counts_of_their_readme() -> None:
    train, test = (shared(f"fbnyt/{part}.txt.gz") for part in ("train", "test"))
    relations, types = shared("fbnyt/relation2id.txt"), shared("fbnyt/entity_types.json")
    report = json.loads(sayso("check", train, test, "--relations", relations, "--types", types, "--json").stdout)
    first, second = report["files"]
    keys = ("sentences", "distinct_sentences", "pairs", "positive_pairs", "facts", "relations", "na_sentences")
    assert [first[key] for key in keys] == [60_823, 13_321, 19_461, 2_759, 2_995, 18, 46_999]
    assert [second[key] for key in keys if key != "distinct_sentences"] == [10_189, 5_428, 1_761, 1_950, 31, 3_745]
    assert (report["entities"], report["untyped_entities"], report["bad_lines"]) == (6_189, 382, 0)


def test_in_every_command_a_share_of_bad_lines_lies_between_0_and_1(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(GOOD)
    words = {
        "build": ["--documents", path, "--kb", path, "--names", path, "--out", tmp_path / "out"],
        "check": [path],
        "prepare": ["--train", path, "--out", tmp_path / "out"],
        "predict": [tmp_path, path],
        "extract": [tmp_path, path, "--out", tmp_path / "out"],
        "vectors train": [path, "--out", tmp_path / "out"],
        "entities train": [path, "--out", tmp_path / "out"],
    }
    for command, needed in words.items():
        for share in ("-1", "1.5"):
            result = CliRunner().invoke(app, [*command.split(), *map(str, needed), "--max-bad", share])
            assert (result.exit_code, "Invalid value for '--max-bad'" in result.stderr) == (2, True)
    page = (ROOT / "docs" / "cli.md").read_text()
    assert page.count("--max-bad ") == len(words), "a command that is not tried here"


def test_a_closed_standard_input_is_one_line() -> None:
    program = [sys.executable, "-c", "from sayso.cli import main; main()", "check", "-"]
    result = subprocess.run(program, capture_output=True, text=True, preexec_fn=lambda: os.close(0), check=False)
    expected = "sayso: -: standard input is closed; pipe a file into it, or pass a file name\n"
    assert (result.returncode, result.stderr) == (2, expected)


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
