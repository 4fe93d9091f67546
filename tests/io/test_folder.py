import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sayso.errors import UserError
from sayso.io.folder import OutputFolder, locked


def folder(path: Path, made_by: str = "sayso x") -> OutputFolder:
    return OutputFolder(path=path, made_by=made_by, resume_option="--resume")


def test_a_manifest_belongs_to_the_command_that_wrote_it(tmp_path: Path) -> None:
    folder(tmp_path).write({"is_finished": True})
    assert folder(tmp_path).read() == {"made_by": "sayso x", "is_finished": True}
    assert folder(tmp_path, "sayso y").read() == {}
    with pytest.raises(UserError, match="the folder was not written by `sayso y`"):
        folder(tmp_path, "sayso y").refuse_occupied()


@pytest.mark.parametrize(("is_finished", "state"), [(True, "has finished"), (False, "was interrupted")])
def test_what_is_there_is_said(tmp_path: Path, is_finished: bool, state: str) -> None:
    folder(tmp_path).write({"is_finished": is_finished})
    (tmp_path / "work").touch()
    with pytest.raises(UserError, match=f"`sayso x` {state} in this folder: continue with --resume"):
        folder(tmp_path).refuse_occupied()
    folder(tmp_path).refuse_foreign()


def test_a_folder_is_free_again_where_its_input_was_refused_or_nothing_was_done(tmp_path: Path) -> None:
    place = OutputFolder(
        path=tmp_path, made_by="sayso x", resume_option="--resume", done="done/*", contents=("done", "x")
    )
    place.write({"is_finished": False})
    place.refuse_occupied()
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "1").touch()
    with pytest.raises(UserError, match="was interrupted"):
        place.refuse_occupied()
    with pytest.raises(UserError, match="bad line"), place.refusable(kept="done/*"):
        raise UserError("bad line")
    with pytest.raises(UserError, match="was interrupted"):
        place.refuse_occupied()
    with pytest.raises(UserError, match="bad line"), place.refusable():
        raise UserError("bad line")
    place.refuse_occupied()
    assert (tmp_path / "done" / "1").exists()
    (tmp_path / "done" / "1").unlink()
    (tmp_path / "x").touch()
    (tmp_path / "mine").touch()
    with pytest.raises(UserError, match="bad line"), place.refusable():
        raise UserError("bad line")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"], "no step was done, so nothing of ours is left"


def test_only_one_at_a_time_may_write_and_the_other_is_named(tmp_path: Path) -> None:
    place = folder(tmp_path / "new" / "deep")
    refusal = rf"`sayso x` is running in this folder \(process {os.getpid()}\); wait for it, or choose another folder"
    with place.locked(), pytest.raises(UserError, match=refusal), locked(tmp_path / "new" / "deep", "sayso y"):
        pass
    with place.locked():
        place.write({})
    place.refuse_foreign()


def test_a_claim_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new"):
        with locked(tmp_path / name, "sayso x"):
            pass
    with locked(tmp_path / "filled", "sayso x"):
        (tmp_path / "filled" / "data").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "filled"]
    assert [path.name for path in (tmp_path / "filled").iterdir()] == ["data"]


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys; from sayso.io.folder import locked\n"
        "with locked(pathlib.Path(sys.argv[1]), 'sayso x'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    with locked(tmp_path, "sayso x"):
        pass


def test_a_lock_that_its_owner_removed_meanwhile_is_not_believed(tmp_path: Path, monkeypatch) -> None:
    with ExitStack() as owner, claimed_later(monkeypatch, owner.close), ExitStack() as next_one:
        owner.enter_context(locked(tmp_path / "out", "sayso x"))
        next_one.enter_context(locked(tmp_path / "out", "sayso y"))
        with pytest.raises(UserError, match="`sayso y` is running"), locked(tmp_path / "out", "sayso z"):
            pass


@contextmanager
def claimed_later(monkeypatch, before_second_lock: Callable[[], None]) -> Iterator[None]:
    """Call something after the second lock file was opened and before it is locked."""
    calls, lock = [], fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            before_second_lock()
        lock(descriptor, how)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", flock)
        yield


def test_a_file_or_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="a file with this name exists"):
        folder(tmp_path / "file").refuse_occupied()
    with pytest.raises(UserError, match="choose another folder"), folder(tmp_path / "file" / "below").locked():
        pass


@pytest.mark.parametrize("text", ["", "[]", '{"made_by": "somebody", "x": NaN}', "\x00"])
def test_a_foreign_manifest_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    assert folder(tmp_path).read() == {}


@pytest.mark.parametrize(("old", "new"), [("16", "15"), ("sayso x", "sayso w"), ("made_by", "made_bx"), ("}", "")])
def test_a_manifest_that_was_changed_or_cut_short_is_refused(tmp_path: Path, old: str, new: str) -> None:
    folder(tmp_path).write({"num_shards": 16})
    text = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(text.replace(old, new))
    with pytest.raises(
        UserError, match=r"not written by `sayso x`, or damaged .*: remove the folder, or choose another"
    ):
        folder(tmp_path).read()
