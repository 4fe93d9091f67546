"""Read the files of a corpus, plain or gzip: line by line, or the whole text of a small file."""

import gzip
import hashlib
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, BinaryIO

from sayso.errors import BadInputError
from sayso.input_file import damaged_gzip, holding, holds_no, open_bytes, open_raw, read_bytes, without_mark
from sayso.io.folder import refuse_other_kind
from sayso.readers.base import BadLine, BadLineError, Line, Parsed

MAX_LINE_BYTES = 16 * 2**20
_BUFFER_BYTES = 2**20
_LINE = re.compile(r".*\n|.+")

OnBytes = Callable[[int], None]
"""Progress callback: number of bytes read so far."""


def files_of(path: Path) -> list[Path]:
    """Return the file, or the folder's files sorted by name, without hidden ones; of a built corpus, of its parts."""
    if not path.is_dir():
        return [path]
    refuse_other_kind(path, "sentences")
    files = [file for part in parts_of(path) for file in sorted(part.iterdir()) if _is_visible(file)]
    if not files:
        raise BadInputError(f"{path}: this folder contains no files")
    return files


def _is_visible(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def parts_of(path: Path) -> list[Path]:
    """Return the non-empty sentence folders of a built corpus, or the path itself for anything else."""
    built = [path / name for name in ("train", "rest") if path.is_dir() and (path / name).is_dir()]
    return [part for part in built if any(map(_is_visible, part.iterdir()))] if built else [path]


def size_of(path: Path) -> int:
    """Return the total size of the files in bytes; 0 if unknown (standard input)."""
    return sum(file.stat().st_size for file in files_of(path) if file.is_file())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 hash of the concatenated files."""
    if not path.exists() or not all(file.is_file() for file in files_of(path)):
        return "not a plain file"
    digest = hashlib.sha256()
    for file in files_of(path):
        with file.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


def read_lines(path: Path, on_bytes: OnBytes | None = None) -> Iterator[Line]:
    """Yield the numbered lines of a file (`-` is standard input) without newlines and byte order marks.

    A line that is not UTF-8, or longer than 16 MiB, is a `BadLine`.
    """
    with open_bytes(path) as (raw, stream):
        yield from lines_of(path, raw, stream, on_bytes)


def lines_of(
    path: Path, raw: IO[bytes] | io.RawIOBase, stream: BinaryIO, on_bytes: OnBytes | None = None
) -> Iterator[Line]:
    """Yield the lines of a file that is already open; see `read_lines`."""
    number = 0
    try:
        while line := stream.readline(MAX_LINE_BYTES):
            number += 1
            yield number, _decoded(line, stream)
            if on_bytes and number % 2048 == 0:
                on_bytes(raw.tell() if raw.seekable() else 0)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged_gzip(f"{path}:{number + 1}", error) from error


def read_lines_between(path: Path, start: int, stop: int) -> Iterator[Line]:
    """Yield the lines of an uncompressed file that begin between bytes `start` and `stop`, numbered from 1."""
    raw = open_raw(path)
    try:
        raw.seek(start)
        stream, number = io.BufferedReader(raw, _BUFFER_BYTES), 0
        while stream.tell() < stop and (line := stream.readline(MAX_LINE_BYTES)):
            number += 1
            yield number, _decoded(line, stream)
    finally:
        raw.close()


def _decoded(line: bytes, stream: BinaryIO) -> str | BadLine:
    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        while rest := stream.readline(MAX_LINE_BYTES):
            if rest.endswith(b"\n"):
                break
        return BadLine(f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB")
    try:
        # Any line may begin with a byte order mark if files were concatenated.
        return without_mark(line).decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return BadLine(f"byte {error.start + 1} of the line is not UTF-8")


def first_of(lines: Iterator[Line]) -> tuple[str, Iterator[Line]]:
    """Return the first line that is not blank ("" if there is none), and an iterator over all lines.

    The file is not opened again, since a pipe can be read only once.
    """
    seen: list[Line] = []
    for line in lines:
        seen.append(line)
        if is_not_blank(line):
            break
    first = seen[-1][1] if seen else ""
    return ("" if isinstance(first, BadLine) else first), chain(seen, lines)


def is_not_blank(line: Line) -> bool:
    """Return whether the line is not blank."""
    return isinstance(line[1], BadLine) or bool(line[1] and not line[1].isspace())


def parse_lines(path: Path, what: str, parse: Callable[[str], Parsed]) -> Iterator[tuple[int, Parsed]]:
    """Yield the number and the record of each non-blank line; raise `BadInputError` on the first bad line.

    `what` names the records in the error for an empty file.
    """
    for number, text in holding(path, what, filter(is_not_blank, read_lines(path))):
        try:
            if isinstance(text, BadLine):
                raise BadLineError(text.reason)
            record = parse(text)
        except BadLineError as error:
            raise BadInputError(f"{path}:{number}: {error}") from None
        yield number, record


def read_text(path: Path, what: str) -> str:
    """Return the text of a small file with `\\n` line endings; raise `BadInputError` if it contains no `what`."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{path}:{number}: not UTF-8") from error
    if not text or text.isspace():
        raise holds_no(path, what)
    return text


def lines_with_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines with their numbers, without building a list of lines."""
    for number, line in enumerate(_LINE.finditer(text), 1):
        if not line[0].isspace():
            yield number, line[0].rstrip("\n")


def read_json(path: Path, text: str) -> dict[str, Any]:
    """Parse the file's text as a JSON object; raise `BadInputError` on a repeated key."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
    except _RepeatedKeyError as error:
        (key,) = error.args
        spelled = json.dumps(key, ensure_ascii=False)
        second = text.find(spelled, text.find(spelled) + 1)
        number = text.count("\n", 0, max(second, 0)) + 1
        raise BadInputError(f"{path}:{number}: {key!r} appears twice") from error
    except json.JSONDecodeError as error:
        raise BadInputError(f"{path}:{error.lineno}: not JSON: {error.msg.lower()}") from error
    except (RecursionError, ValueError) as error:
        raise BadInputError(f"{path}: not usable JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadInputError(f"{path}: valid JSON, but not an object {{…}}")
    return value


class _RepeatedKeyError(Exception):
    """A key that appears twice."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return value
