"""The folder of an extraction: what must match to resume it, the entity types it used, and its output files."""

import os
import shutil
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from sayso.config import Range
from sayso.errors import UserError, option
from sayso.extract.forms import FORMS
from sayso.extract.gather import GATHERED
from sayso.io.atomic import atomic_file
from sayso.io.folder import OVERWRITE, OutputFolder, wrong_folder
from sayso.io.json_file import JsonError, read_object, record_of, to_json
from sayso.readers.tables import TypeTable, read_entity_types

FolderMode = Literal["new", "resume", "overwrite"]
SHARDS, TYPES = "shards", "types"
ADVICE = "start over with --overwrite"

_LEAST_SHARDS, _MOST_SHARDS = 16, 4_096
_SHARD_BYTES = 32 * 2**20
_FOLDERS = (TYPES, GATHERED, SHARDS)
"""Subfolders in the order in which they are copied; facts come last, because they are useless without sentences."""


class _Manifest(NamedTuple):
    """What a manifest must contain for the extraction to resume."""

    num_shards: Annotated[int, Range(1, 10**6)]
    model: str
    is_finished: bool


class _KeptTypes(NamedTuple):
    types: dict[str, list[str]]


def extraction_folder(path: Path) -> OutputFolder:
    """Return the output folder of an extraction."""
    return OutputFolder(
        path=path,
        made_by="sayso extract",
        resume_option=option('mode="resume"', "--resume"),
        done=f"{GATHERED}/*.json",
        contents=(*_FOLDERS, *(form.file_name for form in FORMS.values())),
    )


def prepare_folder(
    folder: OutputFolder, mode: FolderMode, identity: dict[str, Any], num_shards: int, num_bytes: int
) -> dict[str, Any]:
    """Prepare the folder and return its manifest: the settings that identify it, and the number of shards.

    `num_shards` is the requested number; 0 keeps that of an earlier run, or else chooses it by the size of the corpus.
    """
    if mode == "new":
        folder.refuse_occupied()
    if mode != "resume":
        folder.clear()
    before = _read_manifest(folder)
    if before:
        _refuse_other(folder.path, before, identity, f"use the same value, or start over with {OVERWRITE}")
        if num_shards not in (0, before["num_shards"]):
            raise UserError(
                f"{folder.path}: already divided into {before['num_shards']:,} shards: use the same number,"
                f" or start over with {OVERWRITE}"
            )
    by_size = min(max(_LEAST_SHARDS, num_bytes // _SHARD_BYTES), _MOST_SHARDS)
    manifest = {
        **identity,
        # The threshold has not changed, so how it was chosen still applies.
        "threshold_chosen": before.get("threshold_chosen"),
        "num_shards": before.get("num_shards") or num_shards or by_size,
        "is_finished": False,
    }
    folder.write(manifest)  # first: otherwise, a folder left by a killed run would be refused
    for name in _FOLDERS:
        (folder.path / name).mkdir(exist_ok=True)
    return manifest


def refuse_other_since(earlier: OutputFolder, identity: dict[str, Any]) -> None:
    """Raise `UserError` if there is no earlier extraction to continue, or if its settings differ."""
    manifest = _read_manifest(earlier)
    if not manifest:
        raise wrong_folder(earlier.path, "extraction")
    _refuse_other(earlier.path, manifest, identity, f"use the same value, or omit {option('since')}")


def copy_extraction(earlier: OutputFolder, folder: OutputFolder) -> None:
    """Copy an earlier extraction to a folder that continues it; the original does not change."""
    with earlier.locked():
        folder.write({**earlier.read(), "is_finished": False})
        for name in _FOLDERS:
            (folder.path / name).mkdir()
            files = [file for file in (earlier.path / name).iterdir() if not file.name.startswith(".")]
            # Copy the record of a piece after its other files: this run may be killed too.
            for file in sorted(files, key=lambda file: file.suffix == ".json"):
                _link(file, folder.path / name / file.name)


def keep_types(folder: Path, types: TypeTable | None) -> int:
    """Write the types if they differ from the last version; return the version that contains them."""
    if types is None:
        return 0
    last = max((int(path.stem) for path in (folder / TYPES).glob("[0-9]*.json")), default=0)
    if last and read_types(folder, last) == types:
        return last
    with atomic_file(_types_file(folder, last + 1)) as file:
        file.write(to_json({"types": {key: list(names) for key, names in types.items()}}))
    return last + 1


def read_types(folder: Path, version: int) -> TypeTable:
    """Return a version of the types; version 0 is empty."""
    if not version:
        return {}
    path = _types_file(folder, version)
    found = read_object(path, "file of entity types", ADVICE)
    try:
        kept = record_of(_KeptTypes, found).types
    except JsonError:
        return read_entity_types(path)  # written by 0.1, before there were checksums
    return {entity_id: tuple(names) for entity_id, names in kept.items()}


def remove_results(folder: Path) -> list[str]:
    """Remove the output files, which may be outdated, and return the names of their formats."""
    there = [name for name, form in FORMS.items() if (folder / form.file_name).exists()]
    for name in there:
        (folder / FORMS[name].file_name).unlink()
    return there


def _types_file(folder: Path, version: int) -> Path:
    return folder / TYPES / f"{version:03d}.json"


def _read_manifest(folder: OutputFolder) -> dict[str, Any]:
    """Return the manifest, or an empty dict if there is none."""
    folder.read_checked(_Manifest, "extraction manifest")
    return folder.read()


def _refuse_other(path: Path, before: dict[str, Any], identity: dict[str, Any], advice: str) -> None:
    """Refuse to mix facts from different models or settings."""
    for name, value in identity.items():
        if before.get(name) != value:
            raise UserError(f"{path}: extracted with {name} {before.get(name)}, not {value}: {advice}")


def _link(source: Path, target: Path) -> None:
    """Hard-link a file (files are replaced, never modified), or copy it if that fails."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
