"""Output folders of commands: which command made a folder, and how one writer at a time fills it step by step.

The manifest of an output folder records the command that made it, so that nothing else is ever overwritten, and its
settings, so that the folder is resumed only with the same settings.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from sayso.errors import BadInputError, UserError, as_command, option, reason_of
from sayso.io.atomic import write_text
from sayso.io.json_file import JsonError, checked_record, from_json, has_checksum, to_json

WantedKind = Literal["store", "run", "extraction", "sentences"]

MANIFEST = "manifest.json"
_KINDS = Path(__file__).with_name("folder_kinds.toml")
_PATH = re.compile(r"[^\s`]*\{0\}[^\s`…]*")
_LOCK = ".lock"
REFUSED = "is_refused"
_Record = TypeVar("_Record")
OVERWRITE = option('mode="overwrite"', "--overwrite")


@dataclass(frozen=True, kw_only=True)
class OutputFolder:
    """The output folder of a command.

    `resume_option` is the option that resumes. `done` is the pattern of the files that record finished steps; if there
    are none, starting over loses nothing. `contents` are the files and folders that the command writes.
    """

    path: Path
    made_by: str
    resume_option: str
    done: str = "*"
    contents: tuple[str, ...] = ()

    def read(self) -> dict[str, Any]:
        """Return the manifest, empty if the command has not written one; raise `BadInputError` if it is damaged."""
        path = self.path / MANIFEST
        try:
            manifest = from_json(path.read_bytes())
        except OSError:
            return {}
        except JsonError as error:
            if has_checksum(path) or self._is_named():
                raise BadInputError(
                    f"{path}: not written by `{self.made_by}`, or damaged ({error}):"
                    " remove the folder, or choose another"
                ) from None
            return {}
        return manifest if manifest.get("made_by") == self.made_by else {}

    def _is_named(self) -> bool:
        """Return whether the manifest names the command, even if it is damaged."""
        path = self.path / MANIFEST
        return path.is_file() and f'"made_by": "{self.made_by}"'.encode() in path.read_bytes()

    def write(self, manifest: dict[str, Any]) -> None:
        """Write the manifest atomically."""
        write_text(self.path / MANIFEST, to_json({"made_by": self.made_by, **manifest}, indent=2) + "\n")

    def read_checked(self, kind: type[_Record], what: str) -> _Record | None:
        """Return the manifest as a `kind`, or None if there is no manifest; `what` is for the error message."""
        manifest, advice = self.read(), f"start over with {OVERWRITE}"
        return checked_record(self.path / MANIFEST, kind, manifest, what, advice, is_open=True) if manifest else None

    def clear(self) -> None:
        """Remove what the command wrote, the manifest last, because it identifies the folder as ours."""
        for path in (self.path / name for name in (*self.contents, MANIFEST)):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def refuse_occupied(self) -> None:
        """Raise `UserError` if the folder already contains results.

        Files of a run that rejected its input, or ended before its first step was done, do not count.
        """
        manifest = self.read()
        has_steps = manifest.get("is_finished") or (not manifest.get(REFUSED) and any(self.path.glob(self.done)))
        if manifest and has_steps:
            state = "has finished" if manifest.get("is_finished") else "was interrupted"
            raise UserError(
                f"{self.path}: `{self.made_by}` {state} in this folder: continue with {self.resume_option}, start over"
                f" with {OVERWRITE}, or choose another folder"
            )
        self.refuse_foreign()

    def refuse_foreign(self) -> None:
        """Raise `UserError` if the folder contains anything not written by the command."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: a file with this name exists; choose another folder")
        if not self.path.is_dir() or self._is_named():
            return
        ours = (_LOCK, f".{MANIFEST}.")  # of a run killed before it had written its manifest
        if any(not path.name.startswith(ours) for path in self.path.iterdir()) and not self.read():
            raise UserError(f"{self.path}: the folder was not written by `{self.made_by}`; choose another folder")

    @contextlib.contextmanager
    def refusable(self, kept: str | None = None) -> Iterator[None]:
        """Let the next run start over if the block rejects its input, unless files matching `kept` exist.

        If no step is done, the folder is cleared; otherwise the manifest records the rejection, and the run can be
        resumed.
        """
        try:
            yield
        except UserError:
            if not any(self.path.glob(self.done)):
                self.clear()
            elif (manifest := self.read()) and not (kept and any(self.path.glob(kept))):
                self.write(manifest | {REFUSED: True})
            raise

    def locked(self) -> AbstractContextManager[None]:
        """Create the folder if it is missing, and lock out other writers while the block runs."""
        return locked(self.path, self.made_by)


@contextlib.contextmanager
def locked(folder: Path, command: str) -> Iterator[None]:
    """Create the folder if it is missing, and lock it for this process while the block runs.

    The lock ends with the process, even if it is killed. A new folder that is still empty afterwards is removed.

    Raises:
        UserError: another process holds the lock (the message has its command and process id), or the folder cannot be
            created.
    """
    lock, is_new = folder / _LOCK, not folder.exists()
    with _refusals(folder):
        descriptor = _open_lock(folder, lock)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"`{command}` is running in this folder (process {os.getpid()})".encode())
        yield
    finally:
        # Before the lock is released: the next process to lock it must see that the file is gone.
        lock.unlink(missing_ok=True)
        if is_new:
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create the folder and its parents if missing; raise `UserError` if that fails."""
    with _refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def _refusals(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"{folder}: {reason_of(error)}; choose another folder") from error


def _open_lock(folder: Path, lock: Path) -> int:
    """Open the folder's lock file, lock it for this process and return its descriptor."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        # A separate file, because the folder itself is briefly locked whenever a file is created in it.
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 1_000).decode(errors="replace") or "another process is using this folder"
            os.close(descriptor)
            raise UserError(f"{folder}: {owner}; wait for it, or choose another folder") from None
        except OSError:  # a file system without locks
            return descriptor
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)  # its last owner has removed it in the meantime


def kind_of(folder: Path) -> str | None:
    """Return the kind of a folder (see folder_kinds.toml); None if no sayso command made it."""
    manifest = _manifest(folder)
    if (made := manifest.get("made_by")) is not None:
        kind: str | None = _kinds()["made_by"].get(made) if isinstance(made, str) else None
        return kind
    is_kind = {
        "store": "fingerprint" in manifest and "parts" in manifest,
        "predictions": "mechanisms" in manifest,
        "model": all((folder / name).is_file() for name in ("config.json", "model.safetensors")),
        "run": (folder / "run.json").is_file(),
        "seeds": any((each / name).is_file() for each in folder.glob("seed-*") for name in ("run.json", "config.json")),
        "reproduction": (folder / "runs").is_dir() and (folder / "outcomes").is_dir(),
    }
    return next((name for name, is_it in is_kind.items() if is_it), None)


def refuse_other_kind(folder: Path, wanted: WantedKind) -> None:
    """Raise `BadInputError` if this is not a folder, or is known to be a different kind of folder."""
    if kind_of(folder) not in (None, *_kinds()["wanted"][wanted]["kinds"]) or not folder.is_dir():
        raise wrong_folder(folder, wanted)


def wrong_folder(folder: Path, wanted: WantedKind, why: str = "") -> BadInputError:
    """Return the error for a folder of the wrong kind: what it is, and what to do."""
    kind, about = kind_of(folder), _kinds()["wanted"][wanted]
    target, remedies = about["called"], about["remedy"]
    remedy = _PATH.sub(lambda word: as_command(word[0].format(folder)), remedies.get(kind, remedies["any"]))
    if kind not in (None, *about["kinds"]):
        return BadInputError(f"{folder}: this is {_kinds()['kind'][kind]}, not {target}: {remedy}")
    if not folder.exists():
        return BadInputError(f"{folder}: no such folder: {remedy}")
    if not folder.is_dir():
        return BadInputError(f"{folder}: this is a file, not {target}: {remedy}")
    return BadInputError(f"{folder}: not {target}{f' ({why})' if why else ''}: {remedy}")


@cache
def _kinds() -> dict[str, Any]:
    return tomllib.loads(_KINDS.read_text("utf-8"))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
