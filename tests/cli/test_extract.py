import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import sayso_process as sayso
from extract.toy_corpus import sentences, write
from sayso.cli import app
from sayso.errors import UserError
from sayso.model.convolution import KeptProducts
from toy_run import make_run, make_store, toy_config


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extract")
    return make_run(toy_config("type_and_words"), make_store(folder), folder / "run")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "c.jsonl", sentences(range(3)))


def extract(*arguments: object):
    return CliRunner().invoke(app, ["extract", *map(str, arguments), "--device", "cpu"], catch_exceptions=False)


def test_facts_are_shown_written_and_counted(run: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "facts"
    result = extract(run, corpus, "--out", out, "--threshold", 0)
    title, columns, first = result.stdout.splitlines()[:3]
    assert title.strip() == "the first of 12 facts"
    assert columns.split() == ["head", "relation", "tail", "probability", "status", "first", "evidence"]
    assert first.split()[0].startswith("north_land")
    assert "18 sentences of 6 pairs; 6 pairs predicted now, 0 repeated sentences left out" in result.stderr
    assert f"wrote {out / 'facts.jsonl'}\nnext: sayso serve --data STORE --facts {out}\n" in result.stderr
    assert len((out / "facts.jsonl").read_text().splitlines()) == 12


def test_without_facts_no_next_command_shows_them(run: Path, corpus: Path, tmp_path: Path) -> None:
    result = extract(run, corpus, "--out", tmp_path / "facts", "--threshold", 1)
    assert result.exit_code == 0
    assert "no fact reaches 1" in result.stderr
    assert "next: " not in result.stderr


def test_the_memory_of_tables_is_limited_as_asked(
    run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = list[int]()
    monkeypatch.setattr(KeptProducts, "limit", lambda _, max_bytes: limits.append(max_bytes))
    extract(run, corpus, "--out", tmp_path / "facts", "--threshold", 0, "--table-memory", 3)
    assert set(limits) == {3 * 2**20}


def test_facts_are_compared_with_a_knowledge_base(run: Path, corpus: Path, tmp_path: Path) -> None:
    kb = tmp_path / "kb.tsv"
    kb.write_text("l0\tcapital\tt0\nl1\tborn\tt1\n")
    result = extract(run, corpus, "--out", tmp_path / "all", "--threshold", 0, "--kb", kb, "--json")
    manifest = json.loads(result.stdout)
    assert manifest["status"] == {"known": 2, "new": 10}
    options = ("--only", "known", "--format", "tsv", "--format", "jsonl")
    extract(run, corpus, "--out", tmp_path / "some", "--threshold", 0, "--kb", kb, *options)
    assert sorted((tmp_path / "some" / "facts.tsv").read_text().splitlines()) == ["l0\tcapital\tt0", "l1\tborn\tt1"]
    lines = (tmp_path / "some" / "facts.jsonl").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["known", "known"]
    kb.write_text("l0\tP36\tt0\n")
    result = extract(run, corpus, "--out", tmp_path / "none", "--threshold", 0, "--kb", kb)
    assert (
        "no fact in the knowledge base has one of the model's relations: do both use the same relation names?"
        in result.stderr
    )


def test_formats_that_are_not_requested_again_are_removed_and_listed(run: Path, corpus: Path, tmp_path: Path) -> None:
    options = (run, corpus, "--out", tmp_path / "out", "--threshold", 0)
    extract(*options, "--format", "jsonl", "--format", "tsv")
    result = extract(*options, "--resume", "--format", "tsv", "--format", "quickstatements")
    assert "removed because they may be outdated: jsonl (see --format)" in result.stderr
    assert "12 facts were left out because their ids are not Wikidata's (see --wikidata)" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").glob("facts.*")) == [
        "facts.quickstatements.tsv",
        "facts.tsv",
    ]
    files = f"{tmp_path / 'out' / 'facts.tsv'}, {tmp_path / 'out' / 'facts.quickstatements.tsv'}"
    last = [f"wrote {files}", "to add documents later: the same command with --resume"]
    assert result.stderr.splitlines()[-2:] == last, "what reads facts.jsonl is not next where there is none"


def test_the_precision_of_a_chosen_threshold_is_said_to_be_that_of_validation_pairs(
    run: Path, corpus: Path, tmp_path: Path
) -> None:
    store, out, kb = run.parent / "store", tmp_path / "facts", tmp_path / "kb.tsv"
    kb.write_text("l0\tcapital\tt0\n")
    wanted = ("--precision", 0.1, "--data", store, "--kb", kb)
    result = extract(run, corpus, "--out", out, *wanted, "--json")
    assert re.search(r"on the 22 validation pairs, \d+ % of them NA", result.stderr)
    assert "on held-out validation pairs" in result.stderr
    assert "new facts, which will be lower" in result.stderr
    assert "(the precision of the new ones was not measured)" in result.stderr
    assert "expect" not in result.stderr
    shown = json.loads(result.stdout)
    assert shown["threshold"] == shown["threshold_chosen"]["threshold"]
    assert json.loads((out / "manifest.json").read_text())["threshold_chosen"] == shown["threshold_chosen"]
    extract(run, corpus, "--out", out, "--threshold", shown["threshold"], "--resume")
    assert json.loads((out / "manifest.json").read_text())["threshold_chosen"] == shown["threshold_chosen"]


def test_a_corpus_that_is_half_built_is_refused(run: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "built" / "train").mkdir(parents=True)
    corpus.rename(tmp_path / "built" / "train" / "000000.jsonl")
    (tmp_path / "built" / "manifest.json").write_text('{"made_by": "sayso build", "is_finished": false}')
    with pytest.raises(UserError, match="built: `sayso build` was interrupted here: finish it with --append first"):
        extract(run, tmp_path / "built", "--out", tmp_path / "facts")


def test_options_that_exclude_each_other_are_an_error(run: Path, corpus: Path, tmp_path: Path) -> None:
    for options, message in (
        (("--resume", "--overwrite"), r"only one of --resume \(continue\), --overwrite \(start over\) and --since"),
        (("--precision", 0.9), "--precision requires the store"),
        (("--data", "x"), "--data requires --precision"),
        (("--precision", 0.9, "--threshold", 0.9, "--data", "x"), "either --threshold or --precision"),
        (("--only", "new"), "--only requires a knowledge base"),
        (("--workers", 2), "require --engine ray"),
        (("--method", "magic"), "unknown mechanism 'magic'"),
        (("--input-format", "magic"), "form magic: unknown format"),
        (("--since", tmp_path), "not an extraction: make one with `sayso extract`"),
    ):
        with pytest.raises(UserError, match=message):
            extract(run, corpus, "--out", tmp_path / "facts", *options)


DYING = """
import signal
from contextlib import contextmanager
from sayso.engine import ENGINES
from sayso.cli import main

def dying(function, shards):
    for number, shard in enumerate(shards):
        if number == 5:
            signal.setitimer(signal.ITIMER_REAL, 0.005)  # ends this process, wherever it is then
        yield function(shard)

@contextmanager
def opened(settings):
    yield dying

ENGINES["local"] = opened
main()
"""
"""The command line, killed as the operating system kills while it is at the sixth shard or soon after it."""


@pytest.mark.slow
def test_a_killed_extraction_continues_and_gives_the_same_facts(run: Path, tmp_path: Path) -> None:
    corpus = write(tmp_path / "c.jsonl", sentences(range(3), num_pairs=300))
    words = ["extract", run, corpus, "--threshold", 0, "--device", "cpu", "--shards", 64]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert extract(*words[1:], "--out", whole).exit_code == 0
    program = [sys.executable, "-c", DYING, *map(str, words), "--out", str(killed)]
    assert subprocess.run(program, capture_output=True).returncode == -signal.SIGALRM
    assert 5 <= len(list(killed.glob("shards/*.jsonl"))) < 64, "killed in the middle"
    refused = sayso(*words, "--out", killed)
    assert (refused.returncode, "was interrupted in this folder: continue with --resume" in refused.stderr) == (2, True)
    assert sayso(*words, "--out", killed, "--resume").returncode == 0
    assert (killed / "facts.jsonl").read_bytes() == (whole / "facts.jsonl").read_bytes()
    manifest = json.loads((killed / "manifest.json").read_text())
    assert manifest["is_finished"]
    assert manifest["num_predicted"] < manifest["num_pairs"], "what was done is not done again"
    assert not list(killed.rglob("*.partial"))
