from dataclasses import replace
from pathlib import Path

import pytest

from reproduce.toy_outcomes import make_outcome
from sayso.errors import UserError
from sayso.reproduce.folder import Folder
from sayso.reproduce.outcome import write_outcome
from sayso.reproduce.plan import Job
from sayso.reproduce.variant import variant_config

JOB = Job(variant="CNNs+ATT", config=variant_config("CNNs+ATT"))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "out")
    with folder.taken():
        write_outcome(folder.outcome_of(JOB), make_outcome("CNNs+ATT", seed=13))
    return folder


def test_outcomes_of_these_runs_are_found(folder: Folder) -> None:
    other = replace(JOB, config=replace(JOB.config, seed=14))
    assert list(folder.done([JOB, other], "feed")) == [JOB.key]


def test_outcomes_of_other_data_or_settings_are_refused(folder: Folder) -> None:
    with pytest.raises(UserError, match="made from the store feed, not beef: name another folder"):
        folder.done([JOB], "beef")
    changed = replace(JOB, config=variant_config("CNNs+ATT", ["train.max_epochs=2"]))
    with pytest.raises(UserError, match="made with other settings"):
        folder.done([changed], "feed")


def test_two_reproductions_never_work_in_one_folder(folder: Folder) -> None:
    with folder.taken(), pytest.raises(UserError, match="`sayso reproduce` is at work in this folder"), folder.taken():
        pass


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="name another folder"), Folder(tmp_path / "file").taken():
        pass


def test_a_reproduction_never_works_among_other_files(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("")
    with pytest.raises(UserError, match=r"holds train\.txt, which is not of a reproduction"), Folder(tmp_path).taken():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]


def test_a_broken_note_of_earlier_calls_is_one_line(folder: Folder) -> None:
    folder.note_call(num_runs=3, num_workers=1, seconds=2.0)
    assert [call["num_runs"] for call in folder.calls()] == [3]
    (folder.path / "calls.jsonl").write_text("{")
    with pytest.raises(UserError, match=r"calls\.jsonl: not what this command wrote \(not JSON: .*\): remove it"):
        folder.calls()
