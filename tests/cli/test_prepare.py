import json
import re
import resource
import subprocess
import sys
from pathlib import Path

from command import sayso


def write_corpus(path: Path) -> Path:
    path.write_text(
        "".join(
            f"m.{i}\tm.x\tp{i}\trome\t{'/lived' if i % 2 else 'NA'}\tp{i} in rome .\t###END###\n" for i in range(40)
        )
    )
    return path


def test_a_store_is_made_and_the_next_step_named(tmp_path: Path) -> None:
    out = tmp_path / "my store"
    result = sayso("prepare", "--train", write_corpus(tmp_path / "x.txt"), "--out", out)
    assert result.returncode == 0, result.stderr
    assert "validation          4     4" in result.stdout
    # A config that the store can be trained with: it has no types.
    assert f"wrote {out}\nnext: sayso train cnns_att --data '{out}' --out run\n" in result.stderr
    assert json.loads((out / "manifest.json").read_text())["parts"]["train"]["bags"] == 36


def test_json_prints_the_manifest(tmp_path: Path) -> None:
    result = sayso("prepare", "--train", write_corpus(tmp_path / "x.txt"), "--out", tmp_path / "s", "--json")
    assert json.loads(result.stdout) == json.loads((tmp_path / "s" / "manifest.json").read_text())


def test_bad_lines_stop_it_with_nothing_written(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "x.txt")
    path.write_text(path.read_text() + "bad line\n")
    result = sayso("prepare", "--train", path, "--out", tmp_path / "store")
    assert result.returncode == 2
    assert result.stderr.startswith(f"sayso: {path}:41: expected 6 columns and ###END###, got 1 (")
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_is_named_before_any_work(tmp_path: Path) -> None:
    result = sayso("prepare", "--train", tmp_path / "a", "--test", tmp_path / "b", "--out", tmp_path / "s")
    assert (result.returncode, result.stderr) == (2, f"sayso: {tmp_path / 'a'}: no such file or directory\n")


def test_decided_facts_without_a_training_sentence_are_counted_and_rest_is_suggested(tmp_path: Path) -> None:
    path, decisions = write_corpus(tmp_path / "x.txt"), tmp_path / "decisions.jsonl"
    decisions.write_text('{"head": "m.1", "relation": "/lived", "tail": "m.y", "decision": "rejected"}\n')
    result = sayso("prepare", "--train", path, "--decisions", decisions, "--out", tmp_path / "s")
    assert "1 pairs have no training sentence (--rest adds sentences of other pairs)" in result.stderr
    result = sayso("prepare", "--train", path, "--rest", path, "--out", tmp_path / "t")
    assert "--rest requires --decisions or --folds: it provides sentences of decided or unlabelled" in result.stderr


def test_dropped_test_pairs_are_not_reported_as_being_in_training(tmp_path: Path) -> None:
    path, test = write_corpus(tmp_path / "x.txt"), tmp_path / "test.txt"
    test.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    words = ("prepare", "--train", path, "--test", test, "--out", tmp_path / "s")
    said = "leakage: 2 test pairs left out of training (2 sentences); 0 reversed test pairs and 0 test sentences are in"
    assert said in " ".join(sayso(*words, "--leak", "drop").stderr.split())
    kept = sayso(*words, "--leak", "allow", "--overwrite").stderr
    assert "leakage: 2 test pairs, 0 reversed test pairs and 2 test sentences are in" in " ".join(kept.split())


def test_sentences_left_out_by_the_split_are_reported_with_the_option_that_keeps_them(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "x.txt")
    words = ("prepare", "--train", path, "--out", tmp_path / "s", "--overwrite")
    assert "split: training and validation share no sentences" in " ".join(sayso(*words).stderr.split())
    names = " ".join(f"n{i}" for i in range(10))
    with path.open("a") as file:
        file.writelines(f"n.{i}\tm.x\tn{i}\trome\t/lived\t{names} in rome .\t###END###\n" for i in range(10))
    words = (*words, "--validation", "0.5")
    said = " ".join(sayso(*words).stderr.split())
    assert re.search(
        r"split: ([1-9]) training sentences left out because validation has them, including all sentences of"
        r" \1 facts; --keep-shared keeps them \(1 validation sentences would then be seen in training\)",
        said,
    )
    kept = " ".join(sayso(*words, "--keep-shared").stderr.split())
    assert "split: 1 validation sentences are also in training, for other pairs (--keep-shared)" in kept


def test_decided_facts_left_out_by_the_split_are_reported(tmp_path: Path) -> None:
    path, decided = write_corpus(tmp_path / "x.txt"), tmp_path / "decided.jsonl"
    with path.open("a") as file:
        file.writelines(f"{tail}\tm.x\t{tail}\trome\tNA\tsue and tim in rome .\t###END###\n" for tail in ("sue", "tim"))
    facts = [
        {"head": head, "tail": "m.x", "relation": "/lived", "decision": "accepted"} for head in ("sue", "tim", "m.1")
    ]
    decided.write_text("".join(json.dumps(fact) + "\n" for fact in facts))
    words = ("prepare", "--train", path, "--decisions", decided, "--validation", "0.5", "--overwrite")
    # Whether one of the two is drawn for validation, and so costs the other its sentence, depends on the seed.
    for seed in range(20):
        result = sayso(*words, "--seed", seed, "--out", tmp_path / "s")
        manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
        if manifest["split"]["num_train_facts_left_out"]:
            break
    assert manifest["overruled"]["num_facts_left_out_by_split"] == 1
    said = " ".join(result.stderr.split())
    assert "1 decided facts are in neither part: validation has their sentences for other pairs; --keep-shared" in said
    kept = sayso(*words, "--seed", seed, "--keep-shared", "--out", tmp_path / "s")
    assert "in neither part" not in kept.stderr


def test_usage_errors_exit_2(tmp_path: Path) -> None:
    assert sayso("prepare", "--out", tmp_path).returncode == 2
    assert sayso("prepare", "--leak", "maybe").returncode == 2


def test_a_full_disk_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
    """A file size limit stands in for a full disk: writing fails in the same place."""
    path, out = write_corpus(tmp_path / "x.txt"), tmp_path / "store"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    words = ["prepare", "--train", str(path), "--out", str(out)]
    program = [
        sys.executable,
        "-c",
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfrom sayso.cli import main; main()",
    ]
    result = subprocess.run([*program, *words], capture_output=True, text=True, preexec_fn=limit, check=False)
    assert result.returncode == 2, result.stderr
    assert "(nothing was written): free some space and try again" in result.stderr
    assert list(tmp_path.iterdir()) == [path]


def test_marks_that_come_through_a_pipe_are_all_read(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "x.txt")
    test = tmp_path / "test.txt"
    test.write_text("".join(f"t.{i}\tm.x\tq{i}\trome\t/lived\tq{i} in rome .\t###END###\n" for i in range(40)))
    marks = [
        {"head": f"t.{i}", "tail": "m.x", "relation": "/lived", "sentence": f"q{i} in rome .", "label": "rationale"}
        for i in range(40)
    ]
    lines = "".join(json.dumps(mark) + "\n" for mark in marks).encode()
    words = ("--train", path, "--test", test, "--marks", "-", "--out", tmp_path / "s", "--json")
    result = sayso("prepare", *words, stdin=lines)
    assert json.loads(result.stdout)["marks"]["num_matched"] == 40


def test_prepare_says_which_marks_are_for_learning_and_which_for_evaluation(tmp_path: Path) -> None:
    path, marks = write_corpus(tmp_path / "x.txt"), tmp_path / "marks.jsonl"
    lines = [
        {"head": f"m.{i}", "tail": "m.x", "relation": "/lived", "sentence": f"p{i} in rome .", "label": "rationale"}
        for i in range(41)
    ]
    marks.write_text("".join(json.dumps(mark) + "\n" for mark in lines))
    result = sayso("prepare", "--train", path, "--marks", marks, "--out", tmp_path / "s")
    assert (
        "marks: 36 on training sentences, for learning; 4 on validation and 0 on test sentences, for evaluation only;"
        " 1 match no sentence"
    ) in " ".join(result.stderr.split())
