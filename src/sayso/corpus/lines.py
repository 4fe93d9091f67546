"""Lines of a file, plain or gzip, or of standard input, one at a time."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sayso.corpus.base import BadLine, Line
from sayso.errors import BadInputError

MAX_LINE_BYTES = 16 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER_BYTES = 2**20


def read_lines(path: Path, on_bytes: Callable[[int], None] | None = None) -> Iterator[Line]:
    """Yield the lines of a file, `-` being standard input, with their numbers.

    Windows line ends are taken off. A line that is not UTF-8, or longer than 16 MiB, comes as a `BadLine`.
    `on_bytes` hears how many bytes of the file are behind, now and then. The file must hold at least one line.
    """
    number = 0
    with open_bytes(path) as (raw, stream):
        try:
            while line := stream.readline(MAX_LINE_BYTES):
                number += 1
                yield number, _decoded(line, stream)
                if on_bytes and number % 2048 == 0:
                    on_bytes(_position(raw))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadInputError(f"{path}:{number + 1}: the gzip file is cut short or damaged ({error})") from error
    if not number:
        raise BadInputError(f"{path}: the file is empty")


def read_lines_between(path: Path, start: int, stop: int) -> Iterator[Line]:
    """Yield the lines of a plain file that begin from byte `start` up to `stop`, numbered from 1."""
    raw = _open_raw(path)
    try:
        raw.seek(start)
        stream, number = io.BufferedReader(raw, _BUFFER_BYTES), 0
        while stream.tell() < stop and (line := stream.readline(MAX_LINE_BYTES)):
            number += 1
            yield number, _decoded(line, stream)
    finally:
        raw.close()


@contextmanager
def open_bytes(path: Path) -> Iterator[tuple[io.RawIOBase, BinaryIO]]:
    """Give (the file itself, what to read from: the same, or unpacked where it is gzip)."""
    raw = _open_raw(path)
    try:
        packed = io.BufferedReader(raw, _BUFFER_BYTES)
        is_gzip = packed.peek(2)[:2] == _GZIP_MAGIC
        # A second buffer: reading lines from a GzipFile itself is several times slower.
        yield raw, io.BufferedReader(gzip.GzipFile(fileobj=packed), _BUFFER_BYTES) if is_gzip else packed
    finally:
        raw.close()


def _open_raw(path: Path) -> io.RawIOBase:
    if str(path) == "-":
        return io.FileIO(0, closefd=False)
    try:
        if path.is_dir():
            raise BadInputError(f"{path}: this is a folder; a file is needed")
        return path.open("rb", buffering=0)
    except OSError as error:
        raise BadInputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _decoded(line: bytes, stream: BinaryIO) -> str | BadLine:
    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        while rest := stream.readline(MAX_LINE_BYTES):
            if rest.endswith(b"\n"):
                break
        return BadLine(f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB")
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return BadLine(f"byte {error.start + 1} of the line is not UTF-8")


def _position(raw: io.RawIOBase) -> int:
    return raw.tell() if raw.seekable() else 0
