"""Create, append to or replace the folder of a built corpus, and read its manifest."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sayso.documents.shard import CONTEXTS, RECORDS, REST, TRAIN
from sayso.errors import UserError, option
from sayso.io.folder import OVERWRITE, REFUSED, OutputFolder

RELATIONS, FACTS, TYPES, GUESSED = "relations.jsonl", "kb.tsv", "types.json", "guessed_types.tsv"
_FOLDERS = (TRAIN, REST, CONTEXTS, RECORDS)

BuildMode = Literal["new", "append", "overwrite"]

_APPEND = option('mode="append"', "--append")


@contextlib.contextmanager
def corpus_folder(path: Path, mode: BuildMode, identity: dict[str, Any]) -> Iterator[OutputFolder]:
    """Prepare a corpus folder, and lock it for the duration of the block.

    `identity`: inputs and settings; to append, they must match those of the corpus.
    """
    folder = _output_folder(path)
    if mode == "append":
        _refuse_other(folder, identity)
    elif mode == "overwrite":
        folder.refuse_foreign()
    else:
        folder.refuse_occupied()
    with folder.locked():
        if mode == "new":
            folder.refuse_occupied()  # another process may have finished in the meantime
        if mode != "append":
            folder.clear()
        for name in _FOLDERS:
            (path / name).mkdir(exist_ok=True)
        folder.write({**folder.read(), **identity, "is_finished": False, REFUSED: False})
        with folder.refusable() if mode != "append" else contextlib.nullcontext():
            yield folder


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a built corpus, empty if there is none."""
    return _output_folder(path).read()


def types_of(corpus: Path, types: Path | None) -> Path | None:
    """Return the given types file, else that of the corpus if it was built with types, else None."""
    manifest = read_manifest(corpus)
    has_types = bool(manifest) and manifest.get("types", {}).get("given") != 0
    return types or (corpus / TYPES if has_types else None)


def na_share_of(lines: Path) -> float:
    """Return the fraction of the unrelated pairs that are among these lines; 1 unless `sayso build` sampled them."""
    if lines.name != TRAIN or not lines.is_dir():
        return 1.0
    # Without any NA pair, nothing is known about the others.
    return float(read_manifest(lines.parent).get("settings", {}).get("na_share", 1.0)) or 1.0


def rest_beside(lines: Path) -> Path | None:
    """Return the lines of the other pairs, if these are the training lines of a built corpus that has some."""
    is_built = lines.name == TRAIN and bool(read_manifest(lines.parent))
    return lines.parent / REST if is_built and any((lines.parent / REST).glob("[0-9]*")) else None


def num_rest_lines(lines: Path) -> int:
    """Return the number of lines that `sayso build` wrote for the pairs it left out; 0 if unknown."""
    counts = read_manifest(lines.parent).get("counts", {}) if lines.name == REST else {}
    return int(counts.get("lines in rest", 0))


def _output_folder(path: Path) -> OutputFolder:
    contents = (*_FOLDERS, RELATIONS, FACTS, TYPES, GUESSED)
    done = f"{RECORDS}/*.json"
    return OutputFolder(path=path, made_by="sayso build", resume_option=_APPEND, done=done, contents=contents)


class _Manifest(NamedTuple):
    """Manifest entries that are required to append to a corpus."""

    inputs: dict[str, str]
    settings: dict[str, Any]
    is_finished: bool


def _refuse_other(folder: OutputFolder, identity: dict[str, Any]) -> None:
    """Raise `UserError` if the corpus was built from different tables or with different settings."""
    path, manifest = folder.path, folder.read_checked(_Manifest, "corpus manifest")
    if not manifest:
        raise UserError(f"{path}: no built corpus to append to; build one without {_APPEND}")
    for name, digest in identity["inputs"].items():
        if manifest.inputs.get(name) != digest:
            raise UserError(
                f"{path}: {option(name, f'--{name}')} has changed since this corpus was built;"
                f" start over with {OVERWRITE}"
            )
    for name, value in identity["settings"].items():
        before = manifest.settings.get(name)
        if before != value:
            raise UserError(f"{path}: built with {name} {before}, not {value}; use the same value, or start over")
