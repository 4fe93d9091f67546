"""The folder of an extraction: what must match when it resumes, the entity types it used, and how it is cleared."""

import os
import shutil
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from sayso.config import Range
from sayso.errors import UserError, option
from sayso.extract.forms import FORMS
from sayso.extract.gather import GATHERED
from sayso.io.atomic import atomic_file
from sayso.io.folder import OVERWRITE, OutputFolder
from sayso.io.folder_kind import wrong_folder
from sayso.io.json_file import JsonError, read_object, record_of, to_json
from sayso.readers.entity_type import TypeTable, read_entity_types

FolderMode = Literal["new", "resume", "overwrite"]
SHARDS, TYPES = "shards", "types"
ADVICE = "start over with --overwrite"

_LEAST_SHARDS, _MOST_SHARDS = 16, 4_096
_SHARD_BYTES = 32 * 2**20
_FOLDERS = (TYPES, GATHERED, SHARDS)
"""In the order in which they are copied: facts without their sentences are of no use."""


class _Manifest(NamedTuple):
    """What a manifest must say for the extraction to resume."""

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
    """Make the folder ready and return its manifest: what is asked, and the number of shards.

    `num_shards` is the number asked for; 0 keeps the number of an earlier run, or chooses one by the corpus's size.
    """
    if mode == "new":
        folder.refuse_occupied()
    if mode != "resume":
        folder.clear()
    before = _read_manifest(folder)
    if before:
        _refuse_other(folder.path, before, identity, f"use the same, or start over with {OVERWRITE}")
        if num_shards not in (0, before["num_shards"]):
            raise UserError(f"{folder.path}: divided into {before['num_shards']:,} shards, which stays so; start over")
    for name in _FOLDERS:
        (folder.path / name).mkdir(exist_ok=True)
    by_size = min(max(_LEAST_SHARDS, num_bytes // _SHARD_BYTES), _MOST_SHARDS)
    manifest = {
        **identity,
        # The threshold has not changed, so how it was chosen still applies.
        "threshold_chosen": before.get("threshold_chosen"),
        "num_shards": before.get("num_shards") or num_shards or by_size,
        "is_finished": False,
    }
    folder.write(manifest)
    return manifest


def refuse_other_since(earlier: OutputFolder, identity: dict[str, Any]) -> None:
    """Raise `UserError` if there is no earlier extraction to continue, or one made in another way."""
    manifest = _read_manifest(earlier)
    if not manifest:
        raise wrong_folder(earlier.path, "extraction")
    _refuse_other(earlier.path, manifest, identity, f"use the same, or leave {option('since')} out")


def copy_extraction(earlier: OutputFolder, folder: OutputFolder) -> None:
    """Make the folder one that continues an earlier extraction, which itself does not change."""
    with earlier.locked():
        folder.write({**earlier.read(), "is_finished": False})
        for name in _FOLDERS:
            (folder.path / name).mkdir()
            files = [file for file in (earlier.path / name).iterdir() if not file.name.startswith(".")]
            # The record of a piece comes after its other files: this run may be killed as well.
            for file in sorted(files, key=lambda file: file.suffix == ".json"):
                _link(file, folder.path / name / file.name)


def keep_types(folder: Path, types: TypeTable | None) -> int:
    """Write the types if they differ from the last version, and return the version that has them."""
    if types is None:
        return 0
    last = max((int(path.stem) for path in (folder / TYPES).glob("[0-9]*.json")), default=0)
    if last and read_types(folder, last) == types:
        return last
    with atomic_file(_types_file(folder, last + 1)) as file:
        file.write(to_json({"types": {key: list(names) for key, names in types.items()}}))
    return last + 1


def read_types(folder: Path, version: int) -> TypeTable:
    """Return the types of a version; version 0 has none."""
    if not version:
        return {}
    path = _types_file(folder, version)
    found = read_object(path, "the types of an extraction", ADVICE)
    try:
        kept = record_of(_KeptTypes, found).types
    except JsonError:
        return read_entity_types(path)  # as 0.1 wrote them before there were checksums
    return {entity_id: tuple(names) for entity_id, names in kept.items()}


def remove_results(folder: Path) -> list[str]:
    """Remove the files of facts, which may be outdated, and return the names of their formats."""
    there = [name for name, form in FORMS.items() if (folder / form.file_name).exists()]
    for name in there:
        (folder / FORMS[name].file_name).unlink()
    return there


def _types_file(folder: Path, version: int) -> Path:
    return folder / TYPES / f"{version:03d}.json"


def _read_manifest(folder: OutputFolder) -> dict[str, Any]:
    """Return the manifest, empty if there is none."""
    folder.read_checked(_Manifest, "an extraction")
    return folder.read()


def _refuse_other(path: Path, before: dict[str, Any], identity: dict[str, Any], advice: str) -> None:
    """Refuse to mix facts of different models or settings."""
    for name, value in identity.items():
        if before.get(name) != value:
            raise UserError(f"{path}: extracted with {name} {before.get(name)}, not {value}: {advice}")


def _link(source: Path, target: Path) -> None:
    """Link a file, which is only ever replaced and never changed, or copy it where links are not possible."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
