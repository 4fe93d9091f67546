"""Detect which command made a folder, and what to do if a different kind of folder is needed."""

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sayso.errors import BadInputError, as_command

WantedKind = Literal["store", "run", "extraction", "sentences"]

_KINDS = Path(__file__).with_name("folder_kinds.toml")
_MANIFEST = "manifest.json"
_PATH = re.compile(r"[^\s`]*\{0\}[^\s`…]*")


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
    path = folder / _MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
