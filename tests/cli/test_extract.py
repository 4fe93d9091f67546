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
    assert (
        f"wrote {out / 'facts.jsonl'}\nnext: sayso serve --data {run.parent / 'store'} --facts {out}\n" in result.stderr
    )
    assert len((out / "facts.jsonl").read_text().splitlines()) == 12


def test_facts_with_an_entity_that_the_knowledge_base_does_not_have_are_counted(
    run: Path, corpus: Path, tmp_path: Path
) -> None:
    corpus.write_text(corpus.read_text().replace('"l0"', '"new:place/l0"'))
    result = extract(run, corpus, "--out", tmp_path / "facts", "--threshold", 0)
    facts = [json.loads(line) for line in (tmp_path / "facts" / "facts.jsonl").read_text().splitlines()]
    number = sum(bool(fact["new_entities"]) for fact in facts)
    assert 0 < number == sum("new:place/l0" in (fact["head"], fact["tail"]) for fact in facts) < len(facts)
    note = f"facts with a new entity, which the knowledge base does not have: {number}; precision was not measured"
    assert note in " ".join(result.stderr.split())
    assert " (new entity)" in result.stdout


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
    with pytest.raises(UserError, match='interrupted here: finish it with mode="append" first'):
        extract(run, tmp_path / "built", "--out", tmp_path / "facts")


def test_a_corpus_that_was_built_without_types_is_read(run: Path, corpus: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    (built / "train").mkdir(parents=True)
    corpus.rename(built / "train" / "000000.jsonl")
    (built / "manifest.json").write_text('{"made_by": "sayso build", "is_finished": true, "types": {"given": 0}}')
    (built / "types.json").write_text("{}")
    (built / "kb.tsv").write_text("l0\tcapital\tt0\n")
    assert extract(run, built, "--out", tmp_path / "facts").exit_code == 0


def test_options_that_exclude_each_other_are_an_error(run: Path, corpus: Path, tmp_path: Path) -> None:
    for options, message in (
        (("--resume", "--overwrite"), r"only one of --resume \(continue\), --overwrite \(start over\) and --since"),
        (("--precision", 0.9), r"--precision requires a run with folds \(`sayso prepare --folds 5`\), or the store"),
        (("--precision", 0.9, "--kb-completeness", 0.3), "trained without folds, which --kb-completeness"),
        (("--kb-completeness", 0.3), "--kb-completeness requires --precision"),
        (("--decisions", "x"), "--decisions requires --precision"),
        (("--precision", 0.9, "--kb-completeness", 0.3, "--decisions", "x"), "use either --kb-completeness or"),
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


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus built from documents, a store with folds and a run, all made by the commands."""
    folder = tmp_path_factory.mktemp("folded")
    towns = range(60)
    texts = [f"Port{n} is the capital of Land{n} . " + f"Ada{n} flew over Port{n} and Land{n} . " for n in towns]
    (folder / "documents.jsonl").write_text(
        "".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(texts))
    )
    names = [(f"{kind}{n}", kind) for n in towns for kind in ("Port", "Land", "Ada")]
    (folder / "names.tsv").write_text("".join(f"{name}\t{name}\n" for name, _ in names))
    (folder / "types.json").write_text(json.dumps({name: [f"/{kind.lower()}"] for name, kind in names}))
    # Half of the facts are known.
    (folder / "kb.tsv").write_text("".join(f"Port{n}\tcapital_of\tLand{n}\n" for n in towns if n % 2))
    cnn = [f"model.encoder.cnn.{name}=8" for name in ("num_filters", "output_width")]
    changes = [*cnn, "train.max_epochs=10", "train.batch_bags=16"]
    changes += ["train.learning_rate=0.02", "train.calibration=affine"]
    built, store = folder / "corpus", folder / "store"
    tables = [f"--{file.split('.')[0]}={folder / file}" for file in ("kb.tsv", "names.tsv", "types.json")]
    for arguments in (
        ["build", f"--documents={folder / 'documents.jsonl'}", *tables, f"--out={built}"],
        ["prepare", f"--train={built / 'train'}", f"--types={built / 'types.json'}", "--folds=2", f"--out={store}"],
        ["train", "cnns_att_f", f"--data={store}", f"--out={folder / 'run'}", "--device=cpu"]
        + [f"--set={change}" for change in changes],
    ):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
    return folder


def test_with_folds_thresholds_are_for_new_facts_and_the_assumption_is_said(folded: Path, tmp_path: Path) -> None:
    result = extract(folded / "run", folded / "corpus", "--out", tmp_path / "facts", "--precision", 0.8, "--json")
    assert result.exit_code == 0, result.stderr
    chosen = json.loads(result.stdout)["threshold_chosen"]
    assert chosen["measured_on"] == "withheld facts"
    assert chosen["num_facts"] == 30
    assert chosen["num_folds"] == 2
    assert "new facts: expect a precision of" in result.stderr
    assert result.stderr.count("assuming that the knowledge base has 50% (± 2.5%) of the true facts") == 1
    assert "capital_of: threshold" in result.stderr
    thresholds = json.loads(result.stdout)["thresholds"]
    written = [json.loads(line) for line in (tmp_path / "facts" / "facts.jsonl").read_text().splitlines()]
    assert written
    assert all(fact["probability"] >= thresholds[fact["relation"]] for fact in written)
    new = [fact for fact in written if fact["status"] == "new"]
    right = [fact for fact in new if fact["head"].removeprefix("Port") == fact["tail"].removeprefix("Land")]
    # The corpus says all 60 capitals, and the knowledge base has half of them, as is assumed.
    assert len(right) >= 0.7 * len(new)


def test_decisions_on_a_random_sample_replace_the_assumption(folded: Path, tmp_path: Path) -> None:
    decisions = tmp_path / "decisions.jsonl"
    lines = [
        {"head": f"Port{n}", "relation": "capital_of", "tail": f"Land{n}", "decision": "accepted"}
        for n in range(0, 60, 2)
    ]
    decisions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = extract(
        folded / "run", folded / "corpus", "--out", tmp_path / "facts", "--precision", 0.8, "--decisions", decisions
    )
    assert result.exit_code == 0, result.stderr
    assert re.search(r"from \d+ decisions on new facts, \d+ of them accepted", result.stderr)


def test_a_resumed_extraction_keeps_its_thresholds(folded: Path, tmp_path: Path) -> None:
    command = (folded / "run", folded / "corpus", "--out", tmp_path / "facts", "--precision", 0.8)
    before = extract(*command)
    assert before.exit_code == 0
    assert extract(*command, "--resume").exit_code == 0
    with pytest.raises(UserError, match="extracted with threshold"):
        extract(*command, "--resume", "--kb-completeness", 0.2)


def test_prepare_and_train_say_what_the_folds_are_for(folded: Path, tmp_path: Path) -> None:
    arguments = ["prepare", f"--train={folded / 'corpus' / 'train'}", "--folds=2", f"--out={tmp_path / 'store'}"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert re.search(r"folds: 2, with \d+ to \d+ facts each, and \d+ unlabelled pairs from rest;", result.stderr)
    manifest = json.loads((tmp_path / "store" / "manifest.json").read_text())
    assert manifest["na_share"]["train"] == 0.25
    assert manifest["parts"]["rest"]["bags"] == manifest["folds"]["num_rest_pairs"] > 0
