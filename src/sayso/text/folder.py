"""The folder of a built corpus: refused, continued or replaced, its manifest, and one writer at a time."""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from sayso.atomic import atomic_file
from sayso.errors import UserError
from sayso.text.shard import CONTEXTS, RECORDS, REST, TRAIN

MANIFEST, RELATIONS, FACTS, TYPES, GUESSED = (
    "manifest.json",
    "relations.jsonl",
    "kb.tsv",
    "types.json",
    "guessed_types.tsv",
)
_LOCK = ".lock"
_MADE_BY = "sayso build"

Mode = Literal["new", "append", "overwrite"]


@contextlib.contextmanager
def corpus_folder(path: Path, mode: Mode, identity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the manifest of the corpus that is there, empty for a new one, while nobody else may write into it.

    `identity` is what a corpus that is appended to must have been built with.
    """
    if path.exists() and not path.is_dir():
        raise UserError(f"{path}: a file of this name exists; name another folder")
    manifest = read_manifest(path)
    _refuse(path, mode, manifest, identity)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or str(error)).lower()}; name another folder") from error
    with _locked(path):
        if mode == "overwrite":
            _clear(path)
        for name in (TRAIN, REST, CONTEXTS, RECORDS):
            (path / name).mkdir(exist_ok=True)
        if mode != "append":
            write_manifest(path, {"is_finished": False, **identity})
        yield manifest if mode == "append" else {}


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a built corpus; empty where there is none."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and manifest.get("made_by") == _MADE_BY else {}


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest, whole or not at all."""
    with atomic_file(path / MANIFEST) as file:
        file.write(json.dumps({"made_by": _MADE_BY, **manifest}, indent=2, ensure_ascii=False) + "\n")


def _refuse(path: Path, mode: Mode, manifest: dict[str, Any], identity: dict[str, Any]) -> None:
    is_occupied = path.is_dir() and any(path.iterdir())
    if mode == "append":
        if not manifest:
            raise UserError(f"{path}: there is no built corpus to append to; build one without --append")
        _refuse_other_identity(path, manifest, identity)
    elif is_occupied and not manifest:
        raise UserError(f"{path}: the folder holds something that `sayso build` did not make; name another folder")
    elif is_occupied and mode == "new":
        state = "there is a corpus here" if manifest["is_finished"] else "a build was interrupted here"
        raise UserError(f"{path}: {state}: go on with --append, start over with --overwrite, or name another folder")


def _refuse_other_identity(path: Path, manifest: dict[str, Any], identity: dict[str, Any]) -> None:
    """Refuse to mix what was built from other tables or with other settings."""
    for name, digest in identity["inputs"].items():
        if manifest["inputs"].get(name) != digest:
            raise UserError(f"{path}: --{name} has changed since this corpus was built; start over with --overwrite")
    for name, value in identity["settings"].items():
        before = manifest["settings"].get(name)
        if before != value:
            raise UserError(f"{path}: built with {name} {before}, not {value}; use the same, or start over")


def _clear(path: Path) -> None:
    # The manifest goes last: as long as it is there the folder is known to be ours.
    for name in (TRAIN, REST, CONTEXTS, RECORDS):
        shutil.rmtree(path / name, ignore_errors=True)
    for name in (RELATIONS, FACTS, TYPES, GUESSED, MANIFEST):
        (path / name).unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    # A file of its own: the folder itself is locked for a moment with every file that appears in it.
    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UserError(f"{path}: another build writes into this folder; wait for it, or name another") from None
    finally:
        os.close(descriptor)
