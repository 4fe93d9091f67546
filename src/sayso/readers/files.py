"""The files of a corpus: one file, or a folder of shards that are read one after the other."""

import hashlib
from pathlib import Path

from sayso.errors import BadInputError
from sayso.io.folder_kind import refuse_other_kind


def files_of(path: Path) -> list[Path]:
    """Return the file, or the files of the folder in order of their names, hidden ones left out."""
    if not path.is_dir():
        return [path]
    refuse_other_kind(path, "sentences")
    if (path / "train").is_dir():
        raise BadInputError(f"{path}: this folder holds a built corpus; name its sentences, {path / 'train'}")
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise BadInputError(f"{path}: this is a folder without a file in it")
    return files


def parts_of(path: Path) -> list[Path]:
    """Return the folders with the sentences of a built corpus, empty ones left out; the path itself for any other."""
    built = [path / name for name in ("train", "rest") if (path / name).is_dir()]
    return [part for part in built if any(part.iterdir())] if built else [path]


def size_of(path: Path) -> int:
    """Return the bytes of all files; 0 where that is not known (standard input)."""
    return sum(file.stat().st_size for file in files_of(path) if file.is_file())


def sha256_of(path: Path) -> str:
    """Return the hash of the files' content, one after the other."""
    if not path.exists() or not all(file.is_file() for file in files_of(path)):
        return "not a plain file"
    digest = hashlib.sha256()
    for file in files_of(path):
        with file.open("rb") as stream:
            while block := stream.read(2**20):
                digest.update(block)
    return digest.hexdigest()
