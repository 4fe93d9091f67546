"""Atomic writes: files and folders that appear whole or not at all.

Everything is written under a temporary name next to the target (`.NAME.XXXXXXXX.partial`), synced to disk and then
renamed. A process keeps a lock on what it writes until it ends, so that the next process with the same target can
remove what a killed process left, but not what a running one is writing. A folder has one writer at a time; its
temporary name contains the process id.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from sayso.errors import UserError, option, reason_of

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_PARTIAL = ".partial"
_REPLACED = ".replaced"
_OVERWRITE = option("overwrite=True", "--overwrite")
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextlib.contextmanager
def atomic_file(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a file for writing, as UTF-8 text or bytes; it replaces `path` if the block ends without an error.

    After an error nothing has changed. A full disk raises `UserError`.
    """
    target = path.resolve()
    partial = _temporary(target, _PARTIAL)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_os_errors_of(path, _FULL))
        with _os_errors_of(path):
            if target.is_dir():
                raise UserError(f"{path}: this is a folder; expected a file")
            if target.exists() and not target.is_file():
                raise UserError(f"{path}: this is not a plain file; choose another file")
            with _locked(target.parent):
                _clear_remains(target)
                file: IO[Any] = (
                    partial.open("xb") if mode == "wb" else partial.open("x", encoding="utf-8", newline="\n")
                )
                _try_lock(file.fileno())
        stack.callback(partial.unlink, missing_ok=True)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        _sync(target.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_file(path) as file:
        file.write(text)


@contextlib.contextmanager
def atomic_folder(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes `path` if the block ends without an error.

    After an error nothing has changed. Missing parent folders are created. With `overwrite`, the whole target is
    replaced.

    Raises:
        UserError: the target is not empty and must not be overwritten, or another process is writing to it.
    """
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid():08x}{_PARTIAL}")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_os_errors_of(path, _FULL))
        with _os_errors_of(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _locked(target.parent):
                _clear_remains(target)
                _refuse_occupied(path, target, overwrite)
                _refuse_writer(path, target)
                partial.mkdir()
                stack.callback(shutil.rmtree, partial, ignore_errors=True)
                _try_lock(stack.enter_context(_descriptor(partial)))
        yield partial
        for file in (*partial.rglob("*"), partial):
            _sync(file)
        with _locked(target.parent):
            _refuse_occupied(path, target, overwrite)  # it may have been filled in the meantime
            # An existing target is swapped with the temporary folder and removed with it.
            if not target.exists() or not _exchange(partial, target):
                _rename_over(partial, target)
            _sync(target.parent)


def restore(path: Path) -> None:
    """Restore a folder that a killed process had moved aside to replace it."""
    target = path.resolve()
    if target.exists() or not target.parent.is_dir():
        return
    with contextlib.suppress(OSError), _locked(target.parent):
        for remains in _remains(target, _REPLACED):
            if not target.exists():
                remains.rename(target)


def refuse_unwritable_path(path: Path) -> None:
    """Raise `UserError` if no file can be created here; call it before long computations."""
    if path.is_dir():
        raise UserError(f"{path}: this is a folder; expected a file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: folder {path.parent} does not exist; create it first")


def refuse_foreign(folder: Path, is_own: Callable[[str], bool], what: str) -> None:
    """Raise `UserError` if a folder contains something that is not part of `what` and must not be overwritten."""
    for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
        if not is_own(name):
            raise UserError(f"{folder}: the folder contains {name}, which is not part of {what}; choose another folder")


def _refuse_occupied(path: Path, target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UserError(f"{path}: a file with this name exists; choose another folder")
    if not overwrite and any(target.iterdir()):
        raise UserError(f"{path}: the folder is not empty; choose another, or replace it with {_OVERWRITE}")


def _refuse_writer(path: Path, target: Path) -> None:
    for remains in _remains(target, _PARTIAL):
        if remains.is_dir() and _is_locked(remains):
            process = int(remains.suffixes[-2][1:], 16)
            raise UserError(f"{path}: process {process} is writing here; wait for it, or choose another folder")


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders atomically if the system supports it; return whether it did."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    names = (os.fsencode(first), os.fsencode(second))
    return bool(rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)


def _rename_over(partial: Path, target: Path) -> None:
    """Rename, moving an existing target aside first, because a non-empty folder cannot be replaced.

    If the process is killed in between, `restore` puts it back.
    """
    replaced = _temporary(target, _REPLACED)
    try:
        if target.exists():
            target.rename(replaced)
        partial.rename(target)
    finally:
        if replaced.exists() and not target.exists():
            replaced.rename(target)
    shutil.rmtree(replaced, ignore_errors=True)


def _clear_remains(target: Path) -> None:
    """Remove what killed processes left next to the target, and restore what they moved aside but did not replace."""
    for remains in _remains(target, _PARTIAL, _REPLACED):
        if remains.name.endswith(_REPLACED) and not target.exists():
            remains.rename(target)
        elif _is_locked(remains) is False:
            if remains.is_dir():
                shutil.rmtree(remains, ignore_errors=True)
            else:
                remains.unlink(missing_ok=True)


def _remains(target: Path, *endings: str) -> list[Path]:
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}({'|'.join(map(re.escape, endings))})")
    return [path for path in target.parent.iterdir() if ours.fullmatch(path.name)]


def _is_locked(remains: Path) -> bool | None:
    """Return whether a process is still writing this temporary file or folder; None if unknown."""
    try:
        with _descriptor(remains) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # it is missing, not accessible, or on a file system without locks
        return None
    return False


def _temporary(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}{ending}")


@contextlib.contextmanager
def _descriptor(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from removing a temporary file between its creation and its lock."""
    with _descriptor(folder) as descriptor:
        with contextlib.suppress(OSError):  # a file system without locks: nothing is removed there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _try_lock(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync(path: Path) -> None:
    with _descriptor(path) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def _os_errors_of(path: Path, about: frozenset[int] = frozenset()) -> Iterator[None]:
    """Convert an OSError (only these errnos, if given) to a `UserError` about the target."""
    try:
        yield
    except OSError as error:
        if about and error.errno not in about:
            raise
        advice = "free some space and try again" if error.errno in _FULL else "choose another folder"
        raise UserError(f"{path}: {reason_of(error)} (nothing was written): {advice}") from error
