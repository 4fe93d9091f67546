"""A folder that a command fills step by step: whose it is, how far it has come, and one writer at a time.

Its manifest says which command made it, so that nothing else is ever overwritten, and with what, so that work goes on
only where it fits what is there.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError, UserError, option
from sayso.io.atomic import atomic_file
from sayso.io.json_file import JsonError, from_json, has_checksum, to_json

MANIFEST = "manifest.json"
_LOCK = ".lock"
REFUSED = "is_refused"
OVERWRITE = option('mode="overwrite"', "--overwrite")


@dataclass(frozen=True, kw_only=True)
class Workfolder:
    """The folder of a command; `go_on` is the option that goes on with what is there.

    `done` is the pattern of the files that say what is done; while there are none, nothing would be lost.
    """

    path: Path
    made_by: str
    go_on: str
    done: str = "*"

    def read(self) -> dict[str, Any]:
        """Return the manifest; empty where the command has made none. One that is damaged is a `BadInputError`."""
        path = self.path / MANIFEST
        try:
            manifest = from_json(path.read_bytes())
        except OSError:
            return {}
        except JsonError as error:
            if has_checksum(path) or self._is_named():
                raise BadInputError(
                    f"{path}: not what `{self.made_by}` wrote, or damaged ({error}): remove the folder, or name another"
                ) from None
            return {}
        return manifest if manifest.get("made_by") == self.made_by else {}

    def _is_named(self) -> bool:
        """Say whether a manifest names the command, however damaged it is otherwise."""
        path = self.path / MANIFEST
        return path.is_file() and f'"made_by": "{self.made_by}"'.encode() in path.read_bytes()

    def write(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, whole or not at all."""
        with atomic_file(self.path / MANIFEST) as file:
            file.write(to_json({"made_by": self.made_by, **manifest}, indent=2) + "\n")

    def refuse_occupied(self) -> None:
        """Raise `UserError` where the folder holds work, as a new one must not.

        What a call that refused its input, or was ended before it had done anything, has left is no work.
        """
        manifest = self.read()
        is_work = manifest.get("is_finished") or (not manifest.get(REFUSED) and any(self.path.glob(self.done)))
        if manifest and is_work:
            state = "is finished" if manifest.get("is_finished") else "was interrupted"
            raise UserError(
                f"{self.path}: what `{self.made_by}` made here {state}: go on with {self.go_on}, start over with"
                f" {OVERWRITE}, or name another folder"
            )
        self.refuse_foreign()

    def refuse_foreign(self) -> None:
        """Raise `UserError` where the folder holds what the command has not made."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: a file of this name exists; name another folder")
        if not self.path.is_dir() or self._is_named():
            return
        if any(path.name != _LOCK for path in self.path.iterdir()) and not self.read():
            raise UserError(f"{self.path}: the folder holds what `{self.made_by}` did not make; name another folder")

    @contextlib.contextmanager
    def refusable(self, clear: Callable[[Path], None], kept: str | None = None) -> Iterator[None]:
        """Let a new call start over after a block that refuses its input, unless files of the pattern `kept` are there.

        Where nothing is done, nothing is left; else a note in the manifest, so that one may still go on.
        """
        try:
            yield
        except UserError:
            if not any(self.path.glob(self.done)):
                clear(self.path)
            elif (manifest := self.read()) and not (kept and any(self.path.glob(kept))):
                self.write(manifest | {REFUSED: True})
            raise

    def claimed(self) -> AbstractContextManager[None]:
        """Make the folder where it is missing, and keep other writers out of it while the block runs."""
        return claimed(self.path, self.made_by)


@contextlib.contextmanager
def claimed(folder: Path, command: str) -> Iterator[None]:
    """Make the folder where it is missing, and keep other processes from claiming it while the block runs.

    The lock ends with the process, however that ends. A new folder that is still empty afterwards is removed.

    Raises:
        UserError: another process has claimed the folder (the line names its command and number), or it cannot be made.
    """
    lock, is_new = folder / _LOCK, not folder.exists()
    with _refusals(folder):
        descriptor = _locked(folder, lock)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"`{command}` is at work in this folder (process {os.getpid()})".encode())
        yield
    finally:
        # Before the lock is released: whoever gets it next must see that the file is gone.
        lock.unlink(missing_ok=True)
        if is_new:
            with contextlib.suppress(OSError):  # it holds something, as it should
                folder.rmdir()
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make the folder, and those above it, where it is missing; one that cannot be made is a `UserError`."""
    with _refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def _refusals(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{folder}: {(error.strerror or str(error)).lower()}; name another folder") from error


def _locked(folder: Path, lock: Path) -> int:
    """Return the descriptor of the folder's lock file, which only this process has locked."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        # A file of its own: the folder itself is locked for a moment whenever a file appears in it.
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 1_000).decode(errors="replace") or "another process is at work in this folder"
            os.close(descriptor)
            raise UserError(f"{folder}: {owner}; wait for it, or name another folder") from None
        except OSError:  # a file system without locks
            return descriptor
        if _is_file(descriptor, lock):
            return descriptor
        os.close(descriptor)  # its last owner has removed it meanwhile


def _is_file(descriptor: int, path: Path) -> bool:
    """Say whether the open file is the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
