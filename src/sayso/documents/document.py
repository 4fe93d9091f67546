"""Documents: a folder of texts, JSON lines, or one text, each plain or gzip; one at a time, in a fixed order."""

import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sayso.documents.decode import UnreadableError, decode, without_nul
from sayso.documents.name_table import checked_id
from sayso.documents.settings import BuildSettings
from sayso.errors import BadInputError
from sayso.input_file import holds_no, open_bytes, without_mark
from sayso.readers.base import BadLine, BadLineError, Line
from sayso.readers.files import OnBytes, lines_of
from sayso.readers.json_line import json_object, string

_ENDINGS = (".txt", ".text", ".html", ".htm")
_KNOWN = f"{', '.join(_ENDINGS)} (or .gz)"
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_MB = 2**20
_EMPTY = "empty"


class GivenMention(NamedTuple):
    """A mention that the document comes with, in characters."""

    start: int
    stop: int
    entity_id: str


class Document(NamedTuple):
    """A text with an id; `mentions` where it comes with them, None where names are to be found."""

    id: str
    text: str
    mentions: tuple[GivenMention, ...] | None = None
    is_not_utf8: bool = False
    has_nul: bool = False

    @property
    def fingerprint(self) -> str:
        """The same for the same text and mentions."""
        content = self.text if self.mentions is None else f"{self.text}\0{self.mentions}"
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class LeftOut(NamedTuple):
    """A document that was not used: where it stands, why, and whether that is a fault (an empty one is none)."""

    where: str
    reason: str
    is_fault: bool = True


def read_documents(path: Path, settings: BuildSettings, on_bytes: OnBytes) -> Iterator[Document | LeftOut]:
    """Yield the documents of a folder (in order of their paths), of JSON lines, or the one that a file is.

    `on_bytes` hears how many bytes are behind.
    """
    if path.is_dir():
        yield from _of_folder(path, settings, on_bytes)
        return
    with open_bytes(path) as (raw, stream):
        if _is_json_lines(path, stream):
            yield from _of_lines(path, lines_of(path, raw, stream, on_bytes), settings)
        else:
            document = _of_stream(path, path.name, stream, settings)
            if isinstance(document, LeftOut) and document.reason == _EMPTY:
                raise holds_no(path, "documents")
            yield document
            on_bytes(size_of(path))


def size_of(path: Path) -> int:
    """Return the bytes of all files that would be read; 0 where that is not known."""
    files = filter(_is_document, _files(path)) if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _files(folder: Path) -> list[Path]:
    """Return all files of the folder and below, hidden ones aside, in order of their paths."""
    found = [(Path(place) / name).relative_to(folder).parts for place, _, names in os.walk(folder) for name in names]
    return [folder.joinpath(*parts) for parts in sorted(found) if not any(part.startswith(".") for part in parts)]


def _is_document(file: Path) -> bool:
    return file.name.lower().removesuffix(".gz").endswith(_ENDINGS)


def _of_folder(folder: Path, settings: BuildSettings, on_bytes: OnBytes) -> Iterator[Document | LeftOut]:
    files, done = _files(folder), 0
    if not any(map(_is_document, files)):
        raise BadInputError(
            f"{folder}: there is no document in it; documents end in {_KNOWN} (a file of JSON lines is named itself)"
        )
    for file in files:
        if not _is_document(file):
            yield LeftOut(_written(file), f"does not end in {_KNOWN}", is_fault=False)
            continue
        yield _of_file(file, _written(file.relative_to(folder)), settings)
        done += size_of(file)
        on_bytes(done)


def _written(path: Path) -> str:
    """Return the path as text that can be written, also where the file's name is not UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _of_file(path: Path, document_id: str, settings: BuildSettings) -> Document | LeftOut:
    """Return the document that a file of a folder is; one that cannot be read, or is gone, must not end it all."""
    try:
        with open_bytes(path) as (_, stream):
            return _of_stream(path, document_id, stream, settings)
    except BadInputError as error:
        # Without the bytes that a message about gzip may have: reasons are counted by their text.
        return LeftOut(_written(path), str(error).removeprefix(f"{path}: ").partition(" (")[0])


def _of_stream(path: Path, document_id: str, stream: BinaryIO, settings: BuildSettings) -> Document | LeftOut:
    most_mb = settings.max_document_mb
    data = stream.read(most_mb * _MB + 1)
    if len(data) > most_mb * _MB:
        return LeftOut(_written(path), f"larger than {most_mb} MB")
    try:
        checked_id(document_id)
        text, is_not_utf8, has_nul = decode(data, settings.only_utf8)
    except (BadLineError, UnreadableError) as error:
        return LeftOut(_written(path), str(error))
    return _if_any(_written(path), Document(document_id, text, None, is_not_utf8, has_nul))


def _if_any(where: str, document: Document) -> Document | LeftOut:
    return document if document.text.strip() else LeftOut(where, _EMPTY, is_fault=False)


def _is_json_lines(path: Path, stream: "io.BufferedReader[Any]") -> bool:
    """Say whether the file holds JSON lines, or claims to: then what is not is told line by line."""
    if str(path) == "-" or path.name.lower().removesuffix(".gz").endswith(_JSON_ENDINGS):
        return True
    return without_mark(stream.peek(64)[:64]).lstrip()[:1] == b"{"


def _of_lines(path: Path, lines: Iterator[Line], settings: BuildSettings) -> Iterator[Document | LeftOut]:
    for number, line in lines:
        where = f"{path}:{number}"
        if isinstance(line, BadLine):
            yield LeftOut(where, line.reason)
        elif len(line) > settings.max_document_mb * _MB:
            yield LeftOut(where, f"larger than {settings.max_document_mb} MB")
        elif line.strip():
            try:
                yield _if_any(where, _document(line))
            except (BadLineError, UnreadableError) as error:
                yield LeftOut(where, str(error))


def _document(line: str) -> Document:
    record = json_object(line)
    text, _, has_nul = without_nul(string(record, "text", ""))
    given = record.get("id")
    document_id = str(given) if type(given) is int else checked_id(string(record, "id"))
    mentions = _mentions(record["mentions"], len(text)) if record.get("mentions") is not None else None
    return Document(document_id, text, mentions, has_nul=has_nul)


def _mentions(given: Any, length: int) -> tuple[GivenMention, ...]:
    if not isinstance(given, list) or not all(isinstance(mention, dict) for mention in given):
        raise BadLineError("'mentions' is not a list of objects {…}")
    mentions = []
    for mention in given:
        start, stop = mention.get("start"), mention.get("end", mention.get("stop"))
        if type(start) is not int or type(stop) is not int:
            raise BadLineError("a mention's 'start' and 'end' are not whole numbers")
        if not 0 <= start < stop <= length:
            raise BadLineError(f"mention [{start}, {stop}] lies outside the {length} characters of the text")
        mentions.append(GivenMention(start, stop, checked_id(string(mention, "id"))))
    return tuple(sorted(mentions))
