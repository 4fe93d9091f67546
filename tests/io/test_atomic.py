import ctypes
import errno
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.errors import UserError
from sayso.io.atomic import atomic_file, atomic_folder, refuse_unwritable_path, restore

LIMITED = """
import pathlib, resource, sys
from sayso.io.atomic import atomic_file, atomic_folder, refuse_unwritable_path
from sayso.errors import UserError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
path = pathlib.Path(sys.argv[1])
try:
    if sys.argv[2] == "file":
        with atomic_file(path, "wb") as file:
            file.write(bytes(5000))
    else:
        with atomic_folder(path) as folder:
            (folder / "data").write_bytes(bytes(5000))
except UserError as error:
    print(error)
"""

SLEEPING = """
import pathlib, sys, time
from sayso.io.atomic import atomic_file, atomic_folder, refuse_unwritable_path
kind = atomic_file if sys.argv[2] == "file" else atomic_folder
with kind(pathlib.Path(sys.argv[1])) as place:
    if sys.argv[2] == "file":
        place.write("half"); place.flush()
    else:
        (place / "data").write_text("half")
    print("ready", flush=True)
    sys.stdin.readline()
"""

KILLED = """
import os, pathlib, shutil, signal, sys
from sayso.io import atomic
target, step, can_exchange = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1"
count = 0
def counted(call):
    def run(*values, **options):
        global count
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1
        return call(*values, **options)
    return run
pathlib.Path.rename = counted(pathlib.Path.rename)
shutil.rmtree = counted(shutil.rmtree)
atomic._exchange = counted(atomic._exchange if can_exchange else lambda *_: False)
with atomic.atomic_folder(target, overwrite=True) as folder:
    (folder / "data").write_text("new")
"""


def sleeping(target: Path, kind: str) -> subprocess.Popen[str]:
    """Start a process that stops in the middle of writing."""
    command = [sys.executable, "-c", SLEEPING, str(target), kind]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


def fail_after(num_written: int, error: type[BaseException]) -> None:
    assert num_written
    raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with atomic_file(target) as file:
        file.write("ä\n")
        assert not target.exists()
    assert target.read_bytes() == "ä\n".encode()
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(error), atomic_file(target) as file:
        fail_after(file.write("new"), error)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_no_folder(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), atomic_folder(tmp_path / "store") as folder:
        fail_after((folder / "data").write_text("half"), error)
    assert names(tmp_path) == []


def test_a_folder_appears_whole_with_the_folders_above_it(tmp_path: Path) -> None:
    target = tmp_path / "stores" / "toy"
    with atomic_folder(target) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "data").write_text("all")
        assert not target.exists()
    assert (target / "inner" / "data").read_text() == "all"
    assert names(target.parent) == ["toy"]


def test_a_folder_that_holds_something_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept")
    with pytest.raises(UserError, match="the folder is not empty"), atomic_folder(tmp_path):
        pytest.fail("the block must not run")
    assert names(tmp_path) == ["old"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with atomic_folder(tmp_path / "store") as folder:
        (folder / "data").write_text("all")
    assert names(tmp_path / "store") == ["data"]


def test_overwriting_replaces_everything_and_an_error_nothing(tmp_path: Path) -> None:
    target = tmp_path / "store"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(ValueError), atomic_folder(target, overwrite=True):
        raise ValueError
    assert names(target) == ["old"]
    with atomic_folder(target, overwrite=True) as folder:
        (folder / "new").write_text("new")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["store"]


def test_a_target_of_the_other_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="this is a folder"), atomic_file(tmp_path):
        pass
    with pytest.raises(UserError, match="not a plain file"), atomic_file(Path("/dev/null")):
        pass
    with pytest.raises(UserError, match="a file with this name exists"), atomic_folder(tmp_path / "file"):
        pass
    with pytest.raises(UserError, match=r"file exists|not a directory"), atomic_folder(tmp_path / "file" / "store"):
        pass


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(UserError, match=r"out\.txt: no such file or directory"),
        atomic_file(tmp_path / "no" / "out.txt"),
    ):
        pass


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_file(tmp_path / "link") as file:
        file.write("x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "x"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_no_room_is_one_line_that_names_the_target(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(target), kind], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{target}: file too large (nothing was written): free some space and try again\n"
    assert done.stderr == ""
    assert names(tmp_path) == []


def test_a_full_disk_is_told_in_the_same_way(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="store: no space left"), atomic_folder(tmp_path / "store"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_other_faults_of_the_block_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_folder(tmp_path / "store"):
        (tmp_path / "missing").read_text()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_killed_run_leaves_no_half_target_and_the_next_run_clears_up(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    with sleeping(target, kind) as process:
        process.kill()
    assert not target.exists()
    assert len(names(tmp_path)) == 1
    with atomic_file(target) if kind == "file" else atomic_folder(target):
        assert len(names(tmp_path)) == 1
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_a_folder_there_is_one_writer_at_a_time_and_the_other_is_named(tmp_path: Path, overwrite: bool) -> None:
    target = tmp_path / "store"
    with sleeping(target, "folder") as process:
        refusal = f"store: process {process.pid} is writing here; wait for it, or choose another folder"
        with pytest.raises(UserError, match=refusal), atomic_folder(target, overwrite=overwrite):
            pytest.fail("the block must not run")
        process.communicate("go on\n")
    assert names(tmp_path) == ["store"]
    assert (target / "data").read_text() == "half"
    with atomic_folder(target, overwrite=True) as folder:
        (folder / "data").write_text("whole")
    assert (target / "data").read_text() == "whole"


@pytest.mark.parametrize(
    "can_exchange",
    [
        pytest.param(
            True,
            marks=pytest.mark.skipif(
                not hasattr(ctypes.CDLL(None), "renameat2"), reason="two names cannot be exchanged"
            ),
        ),
        False,
    ],
)
def test_a_kill_at_any_step_of_replacing_a_folder_never_hides_it(tmp_path: Path, can_exchange: bool) -> None:
    found, target = [], tmp_path / "store"
    for step in range(20):
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        (target / "data").write_text("old")
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(target), str(step), str(int(can_exchange))], check=False
        )
        was_there = target.exists()
        assert was_there or not can_exchange
        restore(target)
        found.append((was_there, (target / "data").read_text()))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert found[0] == (True, "old")
    assert found[-1] == (True, "new")
    assert ((False, "old") in found) == (not can_exchange)
    with atomic_folder(target, overwrite=True):
        pass
    assert names(tmp_path) == ["store"]


def test_nothing_is_put_back_where_the_folder_is_there_or_nothing_was_moved_aside(tmp_path: Path) -> None:
    for name in ("store", ".store.0123abcd.replaced"):
        (tmp_path / name).mkdir()
    restore(tmp_path / "store")
    restore(tmp_path / "other")
    restore(tmp_path / "no" / "such")
    assert names(tmp_path) == [".store.0123abcd.replaced", "store"]


def test_remains_of_other_targets_are_left_alone(tmp_path: Path) -> None:
    others = [".store.tsv.0123abcd.partial", ".store.partial", ".stores.0123abcd.partial"]
    for name in others:
        (tmp_path / name).write_text("x")
    with atomic_folder(tmp_path / "store"):
        pass
    assert names(tmp_path) == sorted([*others, "store"])


def test_a_target_moved_aside_by_a_killed_run_is_put_back(tmp_path: Path) -> None:
    aside = tmp_path / ".store.0123abcd.replaced"
    aside.mkdir()
    (aside / "data").write_text("old")
    with pytest.raises(UserError, match="not empty"), atomic_folder(tmp_path / "store"):
        pass
    assert (tmp_path / "store" / "data").read_text() == "old"
    assert names(tmp_path) == ["store"]


def test_where_no_file_can_be_made_it_is_said_before_the_work(tmp_path: Path) -> None:
    refuse_unwritable_path(tmp_path / "v")
    with pytest.raises(UserError, match="this is a folder"):
        refuse_unwritable_path(tmp_path)
    with pytest.raises(UserError, match="does not exist; create it first"):
        refuse_unwritable_path(tmp_path / "absent" / "v")
