"""A folder that a command fills step by step: whose it is, how far it has come, and one writer at a time.

Its manifest says which command made it, so that nothing else is ever overwritten, and with what, so that work goes on
only where it fits what is there.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.atomic import atomic_file
from sayso.errors import UserError

MANIFEST = "manifest.json"
_LOCK = ".lock"


@dataclass(frozen=True, kw_only=True)
class Workfolder:
    """The folder of a command; `go_on` is the option that goes on with what is there."""

    path: Path
    made_by: str
    go_on: str

    def read(self) -> dict[str, Any]:
        """Return the manifest; empty where the command has made none."""
        try:
            manifest = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return manifest if isinstance(manifest, dict) and manifest.get("made_by") == self.made_by else {}

    def write(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, whole or not at all."""
        with atomic_file(self.path / MANIFEST) as file:
            file.write(json.dumps({"made_by": self.made_by, **manifest}, indent=2, ensure_ascii=False) + "\n")

    def refuse_occupied(self) -> None:
        """Raise `UserError` where the folder holds something, as a new one must not."""
        manifest = self.read()
        if manifest:
            state = "is finished" if manifest.get("is_finished") else "was interrupted"
            raise UserError(
                f"{self.path}: what `{self.made_by}` made here {state}: go on with {self.go_on}, start over with"
                " --overwrite, or name another folder"
            )
        self.refuse_foreign()

    def refuse_foreign(self) -> None:
        """Raise `UserError` where the folder holds what the command has not made."""
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path}: a file of this name exists; name another folder")
        if self.path.is_dir() and any(path.name != _LOCK for path in self.path.iterdir()) and not self.read():
            raise UserError(f"{self.path}: the folder holds what `{self.made_by}` did not make; name another folder")

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Make the folder where it is missing, and keep other writers out of it while the block runs."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # A file of its own: the folder itself is locked for a moment whenever a file appears in it.
            descriptor = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UserError(f"{self.path}: {(error.strerror or str(error)).lower()}; name another folder") from error
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{self.path}: `{self.made_by}` is at work in this folder; wait, or name another") from None
