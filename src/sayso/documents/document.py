"""Read documents one by one from a folder, JSON lines or a single text file, plain or gzip, in any encoding."""

import codecs
import contextlib
import hashlib
import io
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sayso.documents.knowledge import checked_id
from sayso.documents.settings import BuildSettings
from sayso.errors import BadInputError
from sayso.input_file import holds_no, open_bytes, without_mark
from sayso.io.folder import kind_of
from sayso.readers.base import BadLine, BadLineError, Line
from sayso.readers.files import OnBytes, lines_of
from sayso.readers.json_line import json_object, objects, string
from sayso.readers.read import has_sentences

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose byte order mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks, and the encodings that strip them."""
_MAX_NUL_SHARE = 0.01
_CHARSET = re.compile(rb"<meta\b[^>]*?charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
"""The encoding that an HTML page names; only its first bytes are searched."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_ENDINGS = (".txt", ".text", ".html", ".htm")
_KNOWN = f"{', '.join(_ENDINGS)} (or .gz)"
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
_PDF = "a PDF file: convert it to text first, for example with pdftotext"
_MB = 2**20
_EMPTY = "empty"


class Decoded(NamedTuple):
    """A decoded text, whether its encoding was not UTF-8, and whether NUL characters were replaced with spaces."""

    text: str
    is_not_utf8: bool = False
    has_nul: bool = False


def decode(data: bytes, only_utf8: bool = False) -> Decoded:
    """Decode by the byte order mark if there is one, else as UTF-8, else, unless `only_utf8` is set, as the encoding
    that an HTML page names or as Windows-1252.

    >>> decode("Zürich".encode("cp1252"))
    Decoded(text='Zürich', is_not_utf8=True, has_nul=False)
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return without_nul(data.decode(encoding))
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise BadLineError(
                f"the byte order mark says {encoding.removesuffix('-sig')}, but byte {error.start + 1:,} is invalid"
            ) from error
        if only_utf8:
            raise BadLineError(f"byte {error.start + 1:,} is not UTF-8") from error
    decoded = without_nul(_decoded_otherwise(data))
    num = len(_CONTROL.findall(decoded.text))
    if num > _MAX_NUL_SHARE * len(decoded.text) + 1:
        raise BadLineError(f"{num:,} of {len(decoded.text):,} characters are control characters: not text")
    return decoded._replace(is_not_utf8=True)


def _decoded_otherwise(data: bytes) -> str:
    """Decode bytes that are not UTF-8."""
    named = _CHARSET.search(data[:2048])
    for encoding in (named[1].decode() if named else "cp1252", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError, LookupError):
            return data.decode(encoding)
    return data.decode("latin-1")  # five bytes are undefined in Windows-1252, none in Latin-1


def without_nul(text: str) -> Decoded:
    """Replace each NUL with a space; raise `BadLineError` if there are more than a few."""
    num = text.count("\0")
    if num > _MAX_NUL_SHARE * len(text) + 1:
        raise BadLineError(f"{num:,} of {len(text):,} characters are NUL: not text, or UTF-16 without a BOM")
    return Decoded(text.replace("\0", " "), has_nul=num > 0)


class GivenMention(NamedTuple):
    """A mention supplied with the document, as character offsets."""

    start: int
    stop: int
    entity_id: str


class Document(NamedTuple):
    """A text with an id; `mentions` is None if names are to be found in the text."""

    id: str
    text: str
    mentions: tuple[GivenMention, ...] | None = None
    is_not_utf8: bool = False
    has_nul: bool = False

    @property
    def fingerprint(self) -> str:
        """Hash of text and mentions."""
        content = self.text if self.mentions is None else f"{self.text}\0{self.mentions}"
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class LeftOut(NamedTuple):
    """A document that was left out: where it is, the reason, and whether it counts as bad (empty ones do not)."""

    where: str
    reason: str
    is_fault: bool = True


def read_documents(path: Path, settings: BuildSettings, on_bytes: OnBytes) -> Iterator[Document | LeftOut]:
    """Yield the documents in a folder (sorted by path), a JSON lines file or a single text file."""
    if path.is_dir():
        yield from _of_folder(path, settings, on_bytes)
        return
    with open_bytes(path) as (raw, stream):
        if is_json_lines(path, stream):
            yield from _of_lines(path, lines_of(path, raw, stream, on_bytes), settings)
        else:
            document = _checked(written_path(path), partial(_of_stream, path.name, stream, settings))
            if isinstance(document, LeftOut) and document.reason == _EMPTY:
                raise holds_no(path, "documents")
            yield document
            on_bytes(size_of(path))


def digest_of(path: Path) -> str:
    """Return a hash of the documents' files and their names."""
    files = filter(is_document, files_in(path)) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{written_path(file.relative_to(path))}\0".encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def holds_documents(path: Path) -> bool:
    """Return whether these are documents, by their names and first lines, rather than sentences with pairs."""
    files = [file for file in files_in(path) if is_document(file)] if path.is_dir() else [path]
    is_json = path.name.lower().removesuffix(".gz").endswith(_JSON_ENDINGS)
    if not files or kind_of(path) or not path.exists() or not (path.is_dir() or is_json or is_document(path)):
        return False
    return not has_sentences(files[0])


def size_of(path: Path) -> int:
    """Return the total size of the documents in bytes; 0 if unknown."""
    files = filter(is_document, files_in(path)) if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def files_in(folder: Path) -> list[Path]:
    """Return all files in the folder and its subfolders, without hidden ones, sorted by path."""
    found = [(Path(root) / name).relative_to(folder).parts for root, _, names in os.walk(folder) for name in names]
    return [folder.joinpath(*parts) for parts in sorted(found) if not any(part.startswith(".") for part in parts)]


def is_document(file: Path) -> bool:
    """Return whether a file in a folder of documents is one of them, by its name."""
    return file.name.lower().removesuffix(".gz").endswith(_ENDINGS)


def _of_folder(folder: Path, settings: BuildSettings, on_bytes: OnBytes) -> Iterator[Document | LeftOut]:
    files, done = files_in(folder), 0
    if not any(map(is_document, files)):
        has_pdf = any(file.suffix.lower() == ".pdf" for file in files)
        hint = "convert PDF files to text first, for example with pdftotext" if has_pdf else "pass JSON lines by file"
        raise BadInputError(f"{folder}: no documents; expected files ending in {_KNOWN}; {hint}")
    for file in files:
        if not is_document(file):
            reason = _PDF if file.suffix.lower() == ".pdf" else f"does not end in {_KNOWN}"
            yield LeftOut(written_path(file), reason, is_fault=False)
            continue
        yield _checked(written_path(file), partial(_of_file, file, written_path(file.relative_to(folder)), settings))
        done += size_of(file)
        on_bytes(done)


def written_path(path: Path) -> str:
    """Return the path as text that can be encoded, even if the file name is not UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def _of_file(path: Path, document_id: str, settings: BuildSettings) -> Document:
    try:
        with open_bytes(path) as (_, stream):
            return _of_stream(document_id, stream, settings)
    except BadInputError as error:
        # Without the details of a gzip error: reasons are counted by their text.
        raise BadLineError(str(error).removeprefix(f"{path}: ").partition(" (")[0]) from None


def _of_stream(document_id: str, stream: BinaryIO, settings: BuildSettings) -> Document:
    data = stream.read(settings.max_document_mb * _MB + 1)
    _refuse_large(len(data), settings)
    if data.startswith(b"%PDF-"):
        raise BadLineError(_PDF)
    checked_id(document_id)
    text, is_not_utf8, has_nul = decode(data, settings.only_utf8)
    return Document(document_id, text, None, is_not_utf8, has_nul)


def _refuse_large(size: int, settings: BuildSettings) -> None:
    if size > settings.max_document_mb * _MB:
        raise BadLineError(f"larger than max_document_mb ({settings.max_document_mb} MB)")


def _checked(where: str, read: Callable[[], Document]) -> Document | LeftOut:
    """Read a document; one that is empty or cannot be read is left out."""
    try:
        document = read()
    except BadLineError as error:
        return LeftOut(where, str(error))
    return document if document.text.strip() else LeftOut(where, _EMPTY, is_fault=False)


def is_json_lines(path: Path, stream: "io.BufferedReader[Any]") -> bool:
    """Return whether the file contains JSON lines, according to its name or its first character."""
    if str(path) == "-" or path.name.lower().removesuffix(".gz").endswith(_JSON_ENDINGS):
        return True
    return without_mark(stream.peek(64)[:64]).lstrip()[:1] == b"{"


def _of_lines(path: Path, lines: Iterator[Line], settings: BuildSettings) -> Iterator[Document | LeftOut]:
    for number, line in lines:
        if isinstance(line, BadLine):
            yield LeftOut(f"{path}:{number}", line.reason)
        elif line.strip():
            yield _checked(f"{path}:{number}", partial(_of_line, line, settings))


def _of_line(line: str, settings: BuildSettings) -> Document:
    _refuse_large(len(line), settings)
    record = json_object(line)
    text, _, has_nul = without_nul(string(record, "text", ""))
    given = record.get("id")
    document_id = str(given) if type(given) is int else checked_id(string(record, "id"))
    mentions = _mentions(objects(record, "mentions"), len(text)) if record.get("mentions") is not None else None
    return Document(document_id, text, mentions, has_nul=has_nul)


def _mentions(given: list[dict[str, Any]], length: int) -> tuple[GivenMention, ...]:
    mentions = []
    for mention in given:
        start, stop = mention.get("start"), mention.get("end", mention.get("stop"))
        if type(start) is not int or type(stop) is not int:
            raise BadLineError("a mention's 'start' and 'end' are not integers")
        if not 0 <= start < stop <= length:
            raise BadLineError(f"mention [{start}, {stop}] lies outside the {length} characters of the text")
        mentions.append(GivenMention(start, stop, checked_id(string(mention, "id"))))
    return tuple(sorted(mentions))
