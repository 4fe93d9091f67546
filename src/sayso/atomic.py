"""Files and folders that appear whole or not at all.

Everything is written under a temporary name beside the target (`.NAME.XXXXXXXX.partial`), brought to disk and renamed
at the end. A run holds a lock on what it writes, which ends with the run, so the next run with the same target can
tell the remains of a killed one from the work of a live one and clears them away.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, TextIO, overload

from sayso.errors import UserError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_PARTIAL = ".partial"
_REPLACED = ".replaced"


@overload
def atomic_file(path: Path, mode: Literal["w"] = "w") -> AbstractContextManager[TextIO]: ...
@overload
def atomic_file(path: Path, mode: Literal["wb"]) -> AbstractContextManager[BinaryIO]: ...
def atomic_file(path: Path, mode: Literal["w", "wb"] = "w") -> AbstractContextManager[IO[Any]]:
    """Give a file to write, as UTF-8 text or bytes, that takes the place of `path` when the block ends well.

    When the block ends with an error nothing has changed. A full disk is a `UserError`.
    """
    return _atomic_file(path, mode)


@contextlib.contextmanager
def _atomic_file(path: Path, mode: str) -> Iterator[IO[Any]]:
    target = path.resolve()
    partial = _temporary(target, _PARTIAL)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_told(path, _FULL))
        with _told(path):
            _refuse_other_kind(path, target)
            with _locked(target.parent):
                _clear_remains(target)
                file = _opened(partial, mode)
                _try_lock(file.fileno())
        stack.callback(partial.unlink, missing_ok=True)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
        _sync(target.parent)


@contextlib.contextmanager
def atomic_folder(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give an empty folder to fill, which becomes `path` when the block ends well.

    When the block ends with an error nothing has changed. A target that holds something is a `UserError`, at once,
    unless it may be overwritten: then all of it is replaced. Folders above the target are made where they are missing.
    """
    target = path.resolve()
    partial = _temporary(target, _PARTIAL)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_told(path, _FULL))
        stack.callback(shutil.rmtree, partial, ignore_errors=True)
        with _told(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _locked(target.parent):
                _clear_remains(target)
                _refuse_occupied(path, target, overwrite)
                partial.mkdir()
                _try_lock(stack.enter_context(_descriptor(partial)))
        yield partial
        for file in (*partial.rglob("*"), partial):
            _sync(file)
        with _locked(target.parent):
            _refuse_occupied(path, target, overwrite)  # another run may have been faster
            _put_in_place(partial, target)


def refuse_unwritable_path(path: Path) -> None:
    """Raise `UserError` where no file can be made: better before the work of an hour than after it."""
    if path.is_dir():
        raise UserError(f"{path}: this is a folder; name a file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it first")


def refuse_foreign(folder: Path, is_own: Callable[[str], bool], what: str) -> None:
    """Raise `UserError` where a folder holds something that is not of `what`, which must not be overwritten."""
    for name in sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ():
        if not is_own(name):
            raise UserError(f"{folder}: the folder holds {name}, which is not of {what}; name another folder")


def _refuse_other_kind(path: Path, target: Path) -> None:
    if target.is_dir():
        raise UserError(f"{path}: this is a folder; name a file")
    if target.exists() and not target.is_file():
        raise UserError(f"{path}: this is not a plain file; name one that is")


def _refuse_occupied(path: Path, target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UserError(f"{path}: a file of this name exists; name another folder")
    if not overwrite and any(target.iterdir()):
        raise UserError(f"{path}: the folder is not empty; name another or remove it first")


def _put_in_place(partial: Path, target: Path) -> None:
    """Rename; what stood there is moved aside first, because a folder that holds something cannot be replaced."""
    replaced = _temporary(target, _REPLACED)
    try:
        if target.exists():
            target.rename(replaced)
        partial.rename(target)
        _sync(target.parent)
    finally:
        if replaced.exists() and not target.exists():
            replaced.rename(target)
    shutil.rmtree(replaced, ignore_errors=True)


def _clear_remains(target: Path) -> None:
    """Remove what killed runs left beside the target, and put back what they had moved aside but not replaced."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}({_PARTIAL}|{_REPLACED})")
    for remains in [path for path in target.parent.iterdir() if ours.fullmatch(path.name)]:
        if remains.name.endswith(_REPLACED) and not target.exists():
            remains.rename(target)
        elif _is_abandoned(remains):
            _remove(remains)


def _is_abandoned(remains: Path) -> bool:
    try:
        with _descriptor(remains) as descriptor:
            return _try_lock(descriptor)
    except OSError:  # it went away meanwhile, or is not ours to touch
        return False


def _remove(remains: Path) -> None:
    if remains.is_dir():
        shutil.rmtree(remains, ignore_errors=True)
    else:
        remains.unlink(missing_ok=True)


def _temporary(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}{ending}")


def _opened(path: Path, mode: str) -> IO[Any]:
    return path.open("xb") if mode == "wb" else path.open("x", encoding="utf-8", newline="\n")


@contextlib.contextmanager
def _descriptor(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other runs from clearing the folder up between the making of a temporary name and its lock."""
    with _descriptor(folder) as descriptor:
        with contextlib.suppress(OSError):  # a file system without locks: nothing is ever found abandoned there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync(path: Path) -> None:
    with _descriptor(path) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def _told(path: Path, about: frozenset[int] = frozenset()) -> Iterator[None]:
    """Turn an error of the operating system, any or those of these numbers, into one line about the target."""
    try:
        yield
    except OSError as error:
        if about and error.errno not in about:
            raise
        reason = (error.strerror or str(error)).lower()
        advice = "make room and try again" if error.errno in _FULL else "name another place"
        raise UserError(f"{path}: {reason}; nothing was written, {advice}") from error
