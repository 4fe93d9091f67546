"""The file of facts that `sayso extract` writes: where it is, whether it is intact, and its facts one by one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError
from sayso.facts.fact import ExtractedFact
from sayso.input_file import holding, note_old_format
from sayso.io.checksum import FILES
from sayso.io.folder import MANIFEST, OutputFolder
from sayso.io.folder_kind import refuse_other_kind
from sayso.io.json_file import checked_files
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.files import is_not_blank, read_lines
from sayso.readers.json_line import json_object

FACTS_FILE = "facts.jsonl"


def facts_file(path: Path) -> Path:
    """Return the path of the facts, given the file or the folder of an extraction."""
    if not path.is_dir():
        return path
    refuse_other_kind(path, "extraction")
    if not (path / FACTS_FILE).is_file():
        raise BadInputError(f"{path}: there is no {FACTS_FILE} here; `sayso extract --format jsonl` writes it")
    return path / FACTS_FILE


def read_extracted(path: Path) -> Iterator[ExtractedFact]:
    """Yield the facts of a file of JSON lines that `sayso extract` wrote, or of its folder."""
    path = facts_file(path)
    refuse_damaged(path)
    for number, text in holding(path, "facts", filter(is_not_blank, read_lines(path))):
        yield fact_at(path, number, text)


def refuse_damaged(path: Path) -> None:
    """Raise `BadInputError` where a file differs from the manifest of the extraction beside it."""
    advice = "`sayso extract --resume` writes it again; if the change is meant, copy the file into another folder"
    if manifest := manifest_beside(path):
        checked_files(path.parent / MANIFEST, manifest, advice).path(path.name)


def manifest_beside(path: Path) -> dict[str, Any]:
    """Return the manifest of the extraction that wrote a file of facts, empty if there is none beside it."""
    manifest = OutputFolder(path=path.parent, made_by="sayso extract", resume_option="--resume").read()
    return manifest if path.name in manifest.get(FILES, ()) else {}


def fact_at(path: Path, number: int, text: str | BadLine) -> ExtractedFact:
    """Return the fact on a line of such a file."""
    try:
        if isinstance(text, BadLine):
            raise BadLineError(text.reason)
        record = json_object(text)
        if "verdict" in record and "support" not in record:
            note_old_format(path, "'verdict' is called 'support' now")
        return ExtractedFact.from_dict(record)
    except BadLineError as error:
        raise not_a_fact(path, number, str(error)) from None


def not_a_fact(path: Path, number: int, reason: str) -> BadInputError:
    """Return the error for a line that is not a fact."""
    return BadInputError(f"{path}:{number}: not a fact of `sayso extract --format jsonl` ({reason})")
