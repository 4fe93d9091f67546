import json
from pathlib import Path

import pytest
import torch

from sayso.errors import BadInputError, UserError
from sayso.train.config import load_config
from sayso.train.folder import RunFolder, code_fingerprint, description_of, read_metrics
from train.toy_run import toy_config

DESCRIPTION = {"variant": "x"}


def begun(path: Path, epoch: int = 0) -> RunFolder:
    folder = RunFolder(path, is_writer=True)
    folder.begin(toy_config(), DESCRIPTION, epoch)
    return folder


def test_the_resolved_settings_and_the_description_are_written_before_the_first_batch(tmp_path: Path) -> None:
    begun(tmp_path / "a" / "run").end()
    assert load_config(tmp_path / "a" / "run" / "config.toml") == toy_config()
    assert json.loads((tmp_path / "a" / "run" / "run.json").read_text()) == DESCRIPTION


def test_a_process_that_is_not_the_first_writes_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", is_writer=False)
    folder.begin(toy_config(), DESCRIPTION, 0)
    folder.note({"epoch": 1})
    assert not (tmp_path / "run").exists()


def test_an_epoch_that_is_repeated_replaces_the_earlier_one(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    for epoch, loss in ((1, 5.0), (2, 4.0), (3, 3.0), (2, 4.5)):
        folder.note({"epoch": epoch, "loss": loss})
    folder.end()
    assert read_metrics(tmp_path) == [{"epoch": 1, "loss": 5.0}, {"epoch": 2, "loss": 4.5}]


def test_a_fresh_run_forgets_the_figures_of_one_that_kept_no_state(tmp_path: Path) -> None:
    begun(tmp_path).note({"epoch": 1})
    begun(tmp_path).end()
    assert read_metrics(tmp_path) == []


def test_a_resumed_run_keeps_the_figures_so_far(tmp_path: Path) -> None:
    begun(tmp_path).note({"epoch": 1})
    begun(tmp_path, epoch=1).end()
    assert read_metrics(tmp_path) == [{"epoch": 1}]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"epoch": "2"}', '{"epoch": 0}', '{"epoch": 2, "loss": NaN}', "9" * 5_000, "[" * 5_000]
)
def test_figures_that_are_damaged_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(f'{{"epoch": 1, "loss": 5.0}}\n{line}\n')
    with pytest.raises(BadInputError, match=r"metrics\.jsonl:2: not a valid line of metrics"):
        read_metrics(tmp_path)


def test_a_folder_with_a_run_is_refused_unless_it_is_resumed(tmp_path: Path) -> None:
    (tmp_path / "state.safetensors").touch()
    folder = RunFolder(tmp_path, is_writer=True)
    folder.refuse_other_run(resume=True)
    with pytest.raises(UserError, match="the folder already contains a run: continue it with resume=True"):
        folder.refuse_other_run(resume=False)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(UserError, match="this is a file; choose another folder"):
        RunFolder(tmp_path / "run", is_writer=True).refuse_other_run(resume=False)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="not a directory; choose another folder"):
        begun(tmp_path / "file" / "run")


def test_the_description_names_what_a_result_must_name() -> None:
    described = description_of(toy_config("direct", seed=5), "abc", torch.device("cpu"), 2, ["note this"])
    assert described["variant"] == "DirectSup+F+LD"
    assert (described["seed"], described["data_fingerprint"], described["num_processes"]) == (5, "abc", 2)
    assert described["code_fingerprint"] == code_fingerprint()
    assert described["warnings"] == ["note this"]


@pytest.mark.parametrize("name", ["train.jsonl", "model"])
def test_a_run_never_starts_in_a_folder_with_other_files_or_a_model(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    for resume in (False, True):
        with pytest.raises(UserError, match=rf"the folder contains {name}, which is not part of an unfinished run"):
            RunFolder(tmp_path, is_writer=True).refuse_other_run(resume)


def test_a_run_that_was_killed_in_its_first_epoch_starts_again(tmp_path: Path) -> None:
    begun(tmp_path).end()
    RunFolder(tmp_path, is_writer=True).refuse_other_run(resume=False)
