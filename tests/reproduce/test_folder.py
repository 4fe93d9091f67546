from dataclasses import replace
from pathlib import Path

import pytest

from reproduce.toy_results import make_result
from sayso.errors import BadInputError, UserError
from sayso.reproduce.folder import ReproductionFolder, read_result, write_result
from sayso.reproduce.paper import variant_config
from sayso.reproduce.plan import PlannedRun

RUN = PlannedRun(variant="CNNs+ATT", config=variant_config("CNNs+ATT"))


@pytest.fixture
def folder(tmp_path: Path) -> ReproductionFolder:
    folder = ReproductionFolder(tmp_path / "out")
    with folder.locked():
        write_result(folder.result_of(RUN), make_result("CNNs+ATT", seed=13))
    return folder


def test_results_of_these_runs_are_found(folder: ReproductionFolder) -> None:
    other = replace(RUN, config=replace(RUN.config, seed=14))
    assert list(folder.done([RUN, other], "feed")) == [RUN.key]


def test_results_of_other_data_or_settings_are_refused(folder: ReproductionFolder) -> None:
    with pytest.raises(UserError, match="made from store feed, not beef: choose another folder"):
        folder.done([RUN], "beef")
    changed = replace(RUN, config=variant_config("CNNs+ATT", ["train.max_epochs=2"]))
    with pytest.raises(UserError, match="made with different settings"):
        folder.done([changed], "feed")


def test_two_reproductions_never_share_a_folder(folder: ReproductionFolder) -> None:
    with (
        folder.locked(),
        pytest.raises(UserError, match="`sayso reproduce` is running in this folder"),
        folder.locked(),
    ):
        pass


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="choose another folder"), ReproductionFolder(tmp_path / "file").locked():
        pass


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("")
    with (
        pytest.raises(UserError, match=r"contains train\.txt, which is not part of a reproduction; choose"),
        ReproductionFolder(tmp_path).locked(),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]


def test_a_damaged_list_of_calls_is_reported_in_one_line(folder: ReproductionFolder) -> None:
    folder.note_call(num_runs=3, num_workers=1, seconds=2.0)
    assert [call["num_runs"] for call in folder.calls()] == [3]
    (folder.path / "calls.jsonl").write_text("{")
    with pytest.raises(UserError, match=r"calls\.jsonl: damaged \(not JSON: .*\): remove it"):
        folder.calls()


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = make_result("DirectSup+F+LD", seed=13)
    write_result(tmp_path / "run.json", result)
    assert read_result(tmp_path / "run.json") == result


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"orders": {}}', '{"orders": {"x": {"y": 1}}}'])
def test_a_damaged_result_is_reported_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInputError, match=r"run.json: not a valid run result \(.*\): remove it"):
        read_result(tmp_path / "run.json")
