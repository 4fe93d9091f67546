"""The facts file written by `sayso extract`: its path, integrity check and reader."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sayso.errors import BadInputError
from sayso.facts.fact import ExtractedFact
from sayso.input_file import holding, note_old_format
from sayso.io.checksum import FILES
from sayso.io.folder import MANIFEST, OutputFolder, refuse_other_kind
from sayso.io.json_file import checked_files
from sayso.readers.base import BadLine, BadLineError
from sayso.readers.files import is_not_blank, read_lines
from sayso.readers.json_line import json_object

FACTS_FILE = "facts.jsonl"
WITHHELD = "withheld facts"
"""What thresholds for new facts are measured on, as an extraction's manifest names it."""


def facts_file(path: Path) -> Path:
    """Return the path of the facts file, given the file itself or the extraction folder."""
    if not path.is_dir():
        return path
    refuse_other_kind(path, "extraction")
    if not (path / FACTS_FILE).is_file():
        raise BadInputError(f"{path}: there is no {FACTS_FILE} here; `sayso extract --format jsonl` writes it")
    return path / FACTS_FILE


def read_extracted(path: Path) -> Iterator[ExtractedFact]:
    """Yield the facts in a JSON Lines file written by `sayso extract`, or in its folder."""
    path = facts_file(path)
    refuse_damaged(path)
    for number, text in holding(path, "facts", filter(is_not_blank, read_lines(path))):
        yield fact_at(path, number, text)


def refuse_damaged(path: Path) -> None:
    """Raise `BadInputError` if a file does not match the extraction manifest next to it."""
    advice = "`sayso extract --resume` writes it again; if the change is intended, copy the file to another folder"
    if manifest := manifest_next_to(path):
        checked_files(path.parent / MANIFEST, manifest, advice).path(path.name)


def manifest_next_to(path: Path) -> dict[str, Any]:
    """Return the manifest next to a facts file, or an empty dict if there is none that lists the file."""
    manifest = OutputFolder(path=path.parent, made_by="sayso extract", resume_option="--resume").read()
    return manifest if path.name in manifest.get(FILES, ()) else {}


def fact_at(path: Path, number: int, text: str | BadLine) -> ExtractedFact:
    """Parse the fact on a line of a facts file."""
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
    return BadInputError(f"{path}:{number}: not a fact written by `sayso extract --format jsonl` ({reason})")
