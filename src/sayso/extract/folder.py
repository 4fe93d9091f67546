"""The folder of an extraction: what must fit when it goes on, the types it used, and what killed runs left in it."""

import os
import shutil
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sayso.errors import BadInputError, UserError, option
from sayso.extract.forms import FORMS
from sayso.extract.gather import GATHERED
from sayso.extract.shard import SHARDS, TYPES, KeptTypes, read_types, types_file
from sayso.io.atomic import atomic_file
from sayso.io.folder import MANIFEST, OVERWRITE, OutputFolder
from sayso.io.folder_kind import wrong_folder
from sayso.io.json_file import JsonError, record_of, to_json
from sayso.readers.entity_type import EntityTypes

Mode = Literal["new", "resume", "overwrite"]

_LEAST_SHARDS, _MOST_SHARDS = 16, 4_096
_BYTES_A_SHARD = 32 * 2**20
_FOLDERS = (TYPES, GATHERED, SHARDS)
"""In the order in which they are copied: facts are worth something only where their sentences are."""


def work_folder(path: Path) -> OutputFolder:
    """Return the folder of an extraction."""
    return OutputFolder(
        path=path, made_by="sayso extract", resume_option=option('mode="resume"', "--resume"), done=f"{GATHERED}/*.json"
    )


def begin(place: OutputFolder, mode: Mode, identity: dict[str, Any], num_shards: int, num_bytes: int) -> dict[str, Any]:
    """Make the folder ready, and return the manifest to go on with: what is asked, and how pairs are divided.

    `num_shards` is what was asked for; 0 leaves it as it is, or decides by the size of the corpus.
    """
    if mode == "new":
        place.refuse_occupied()
    if mode != "resume":
        clear(place.path)
    before = _read(place)
    if before:
        _refuse_other(place.path, before, identity, f"use the same, or start over with {OVERWRITE}")
        if num_shards not in (0, before["num_shards"]):
            raise UserError(f"{place.path}: divided into {before['num_shards']:,} shards, which stays so; start over")
    for name in _FOLDERS:
        (place.path / name).mkdir(exist_ok=True)
    divided = before.get("num_shards") or num_shards or num_shards_for(num_bytes)
    # The threshold is the same as before, so what is known about its choice still holds.
    chosen = {"threshold_chosen": before.get("threshold_chosen")}
    manifest = {**identity, **chosen, "num_shards": divided, "is_finished": False}
    place.write(manifest)
    return manifest


def refuse_other_since(earlier: OutputFolder, identity: dict[str, Any]) -> None:
    """Raise `UserError` where there is no earlier extraction to go on from, or one that was done in another way."""
    manifest = _read(earlier)
    if not manifest:
        raise wrong_folder(earlier.path, "extraction")
    _refuse_other(earlier.path, manifest, identity, f"use the same, or leave {option('since')} out")


def copy_extraction(earlier: OutputFolder, place: OutputFolder) -> None:
    """Make the folder one that goes on where an earlier extraction ended, which itself stays as it is."""
    with earlier.locked():
        place.write({**earlier.read(), "is_finished": False})
        for name in _FOLDERS:
            (place.path / name).mkdir()
            files = [file for file in (earlier.path / name).iterdir() if not file.name.startswith(".")]
            # What says that a piece is done comes after what the piece holds: this run may be killed as well.
            for file in sorted(files, key=lambda file: file.suffix == ".json"):
                _link(file, place.path / name / file.name)


def num_shards_for(num_bytes: int) -> int:
    """Return into how many shards the pairs of a corpus of this size are divided."""
    return min(max(_LEAST_SHARDS, num_bytes // _BYTES_A_SHARD), _MOST_SHARDS)


def keep_types(folder: Path, types: EntityTypes | None) -> int:
    """Write the types where they are not those of the last version, and return the version that has them."""
    if types is None:
        return 0
    last = max((int(path.stem) for path in (folder / TYPES).glob("[0-9]*.json")), default=0)
    if last and read_types(folder, last) == types:
        return last
    with atomic_file(types_file(folder, last + 1)) as file:
        file.write(to_json(KeptTypes({key: list(names) for key, names in types.items()})._asdict()))
    return last + 1


def remove_results(folder: Path) -> list[str]:
    """Remove the files of facts, which may not hold any longer, and return the names of their forms."""
    there = [name for name, form in FORMS.items() if (folder / form.file_name).exists()]
    for name in there:
        (folder / FORMS[name].file_name).unlink()
    return there


class _Manifest(NamedTuple):
    """What a folder must say to be gone on with."""

    num_shards: int
    model: str
    is_finished: bool


def _read(place: OutputFolder) -> dict[str, Any]:
    """Return the manifest, once it is known to say what must be known; empty where there is none."""
    manifest = place.read()
    try:
        if manifest and not 1 <= record_of(_Manifest, manifest, is_open=True).num_shards <= 10**6:
            raise JsonError(f"num_shards is {manifest['num_shards']}")
    except JsonError as error:
        raise BadInputError(
            f"{place.path / MANIFEST}: not the manifest of an extraction, or damaged ({error}):"
            f" start over with {OVERWRITE}"
        ) from None
    return manifest


def _refuse_other(path: Path, before: dict[str, Any], identity: dict[str, Any], advice: str) -> None:
    """Refuse to mix facts that were found by another model or in another way."""
    for name, value in identity.items():
        if before.get(name) != value:
            raise UserError(f"{path}: extracted with {name} {before.get(name)}, not {value}: {advice}")


def clear(path: Path) -> None:
    """Remove all that an extraction has left in its folder."""
    for name in _FOLDERS:
        shutil.rmtree(path / name, ignore_errors=True)
    remove_results(path)
    (path / MANIFEST).unlink(missing_ok=True)  # last: as long as it is there the folder is known to be ours


def _link(source: Path, target: Path) -> None:
    """Share a file that is only ever replaced, never changed; copy it where it cannot be shared."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
