import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from sayso.cli import main
from sayso.config import to_toml
from sayso.configs import config_names
from toy import make_sentence
from train.toy_run import invented_store, store_of, toy_config


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return invented_store(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    """A store without vectors and direct sentences."""
    sentences = [make_sentence(f"h{i} met t{i}", f"h{i}", f"t{i}", ("r",) if i % 2 else ()) for i in range(30)]
    return store_of(tmp_path_factory.mktemp("bare"), sentences, types={"h1": ["/person"]})


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(to_toml(toy_config().to_table()))
    return path


@pytest.fixture
def sayso(monkeypatch, capsys):
    """Call the command line in this process, where torch is already loaded."""

    def call(*words: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["sayso", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Result(int(ended.value.code or 0), captured.out, captured.err)

    return call


def test_figures_go_to_stdout_and_one_line_per_epoch_to_stderr(
    sayso, config: Path, store: Path, tmp_path: Path
) -> None:
    result = sayso("train", config, "--data", store, "--out", tmp_path / "run", "--device", "cpu")
    assert result.code == 0, result.err
    assert re.search(r"^13 +2 +\d +0\.\d{4} +0\.\d{4}$", result.out, re.MULTILINE)
    lines = [line for line in result.err.splitlines() if line.startswith("epoch")]
    assert len(lines) == 2
    shown = (
        r"epoch  1/2  loss \d\.\d{4} \(bag .*, distractor .*\)  validation AUC@0.4 .*, AP .* sentences/s  at most 0:00"
    )
    assert re.match(shown, lines[0])
    run = tmp_path / "run"
    following = f"next: sayso evaluate {run} --data {store}"
    assert result.err.splitlines()[-2:] == [f"wrote {run}", following]


def test_json_has_the_figures_of_each_run_and_their_mean(sayso, config: Path, store: Path, tmp_path: Path) -> None:
    words = ("train", config, "--data", store, "--out", tmp_path / "run", "--seeds", 2, "--json")
    result = sayso(*words)
    report = json.loads(result.out)
    assert report["variant"] == "CNNs+ATT+F+LD"
    assert [run["seed"] for run in report["runs"]] == [13, 14]
    figures = [run["average_precision"] for run in report["runs"]]
    assert report["validation"]["average_precision"]["mean"] == pytest.approx(sum(figures) / 2)
    again = sayso(*words, "--resume")
    assert json.loads(again.out) == report
    assert again.err.count("already finished, at epoch 2") == 2


def test_several_seeds_are_reported_as_mean_and_deviation(sayso, config: Path, store: Path, tmp_path: Path) -> None:
    result = sayso("train", config, "--data", store, "--out", tmp_path / "run", "--seeds", 2, "--set", "seed=5")
    assert re.search(r"^mean ± sd .* 0\.\d{4} ± 0\.\d{4} +0\.\d{4} ± 0\.\d{4}$", result.out, re.MULTILINE)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"seed-5", "seed-6", "seeds.json"}


def test_changes_reach_the_run_and_its_record(sayso, config: Path, store: Path, tmp_path: Path) -> None:
    words = ("--set", "train.max_epochs=1", "--set", "data.mentions=words")
    assert sayso("train", config, "--data", store, "--out", tmp_path / "run", *words).code == 0
    text = (tmp_path / "run" / "config.toml").read_text()
    assert "max_epochs = 1" in text
    assert 'mentions = "words"' in text


def test_only_the_first_of_several_processes_prints(sayso, config, store, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("RANK", "1")
    words = ("train", config, "--data", store, "--out", tmp_path / "run")
    assert sayso(*words) == Result(0, "", "")
    assert sayso(*words) == Result(2, "", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "train.batch_bag=3"), "train.batch_bag: no such setting; did you mean batch_bags?"),
        (
            ("--set", "data.mentions=typ"),
            "data.mentions: 'typ' is not one of words, type, type_and_words; did you mean",
        ),
        (
            ("--set", "model.encoder.kind=cnnn"),
            "model.encoder.kind: 'cnnn' is not one of cnn, pcnn, transformer, words; did you mean cnn?",
        ),
        (("--set", "train.max_epochs=0"), "train.max_epochs is 0; it must be from 1 to 1,000,000"),
        (("--set", "train.max_epochs=ten"), "train.max_epochs: expected an integer, got 'ten'"),
        (("--set", "train.max_epochs"), "--set train.max_epochs: expected name.of.setting=value"),
        (("--set", "model.aggregator.kind=direct"), "no directly supervised sentences, which DirectSup needs: prepare"),
        (("--set", "model.use_entities=true"), "no entity vectors, which +E needs: prepare it with --entity-vectors"),
        (
            ("--set", "train.learning_rate=1e30"),
            "no epoch was finished, so no state is kept: start again with a smaller",
        ),
    ],
)
def test_a_user_error_is_one_line_with_exit_2(sayso, config, bare, tmp_path: Path, words, message) -> None:
    result = sayso("train", config, "--data", bare, "--out", tmp_path / "run", *words)
    assert result.code == 2
    assert result.out == ""
    assert result.err.splitlines()[-1].startswith("sayso: ")
    assert message in result.err.splitlines()[-1]


def test_missing_files_are_one_line_and_exit_2(sayso, config: Path, bare: Path, tmp_path: Path) -> None:
    for words, message in (
        ((tmp_path / "none.toml", "--data", bare), "none.toml: no such file or directory"),
        ((config, "--data", tmp_path / "none"), "none: no such folder: make one with `sayso prepare`"),
    ):
        result = sayso("train", *words, "--out", tmp_path / "run")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert message in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line_and_exit_2(sayso, config: Path, bare: Path, tmp_path: Path) -> None:
    result = sayso("train", config, "--data", bare, "--out", tmp_path / "run", "--device", "cuda")
    assert result == Result(2, "", "sayso: --device cuda: torch finds no usable GPU; try --device cpu\n")


def test_a_run_that_cannot_be_resumed_is_one_line_and_exit_2(sayso, config, store, bare, tmp_path: Path) -> None:
    words = ("train", config, "--data", store, "--out", tmp_path / "run")
    assert sayso(*words).code == 0
    state = tmp_path / "run" / "state.safetensors"
    cases = [
        (words, "the folder already contains a run: continue it with --resume, or choose another folder"),
        ((*words, "--resume", "--set", "train.patience=9"), "trained with config.train.patience = 10, not 9"),
        (("train", config, "--data", bare, "--out", tmp_path / "run", "--resume"), "the run was trained with data = "),
    ]
    for given, message in cases:
        result = sayso(*given)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert message in result.err
    state.write_bytes(state.read_bytes()[:1000])
    result = sayso(*words, "--resume")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "not a valid training state" in result.err


def test_a_config_is_taken_by_its_name_from_any_folder(sayso, store: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = ("--set", "train.max_epochs=1", "--set", "model.encoder.cnn.num_filters=4")
    result = sayso("train", "cnns_att", "--data", store, "--out", "my run", *small)
    assert result.code == 0, result.err
    assert result.out.startswith("CNNs+ATT, validation")
    assert "starts, at most 1 epoch\n" in result.err
    following = f"sayso evaluate 'my run' --data {store}"
    assert result.err.splitlines()[-1] == f"next: {following}", "the store has no test part"


def test_the_configs_are_listed_with_a_line_each(sayso) -> None:
    result = sayso("train", "--list")
    assert result.code == 0
    assert {line.split()[0] for line in result.out.splitlines()[2:] if not line.startswith(" ")} == set(config_names())


def test_a_misspelled_config_is_refused_with_the_nearest_names(sayso, store: Path, tmp_path: Path) -> None:
    result = sayso("train", "cnn_att_f", "--data", store, "--out", tmp_path / "run")
    assert result == Result(
        2, "", "sayso: cnn_att_f: no config has this name; did you mean cnns_att_f or cnns_att_fe or cnns_att_f_e?\n"
    )
