from pathlib import Path

import pytest

from sayso.errors import UserError
from sayso.workfolder import Workfolder


def folder(path: Path, made_by: str = "sayso x") -> Workfolder:
    return Workfolder(path=path, made_by=made_by, go_on="--resume")


def test_a_manifest_belongs_to_the_command_that_wrote_it(tmp_path: Path) -> None:
    folder(tmp_path).write({"is_finished": True})
    assert folder(tmp_path).read() == {"made_by": "sayso x", "is_finished": True}
    assert folder(tmp_path, "sayso y").read() == {}
    with pytest.raises(UserError, match="the folder holds what `sayso y` did not make"):
        folder(tmp_path, "sayso y").refuse_occupied()


@pytest.mark.parametrize(("is_finished", "state"), [(True, "is finished"), (False, "was interrupted")])
def test_what_is_there_is_said(tmp_path: Path, is_finished: bool, state: str) -> None:
    folder(tmp_path).write({"is_finished": is_finished})
    with pytest.raises(UserError, match=f"`sayso x` made here {state}: go on with --resume"):
        folder(tmp_path).refuse_occupied()
    folder(tmp_path).refuse_foreign()


def test_only_one_at_a_time_may_write(tmp_path: Path) -> None:
    place = folder(tmp_path / "new" / "deep")
    with place.claimed(), pytest.raises(UserError, match="`sayso x` is at work in this folder"), place.claimed():
        pass
    with place.claimed():
        place.write({})
    place.refuse_foreign()


def test_a_file_or_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="a file of this name exists"):
        folder(tmp_path / "file").refuse_occupied()
    with pytest.raises(UserError, match="name another folder"), folder(tmp_path / "file" / "below").claimed():
        pass


def test_a_manifest_that_is_cut_short_is_none(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"made_by": "sayso x"')
    assert folder(tmp_path).read() == {}
