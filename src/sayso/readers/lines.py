"""Lines of a file, plain or gzip, or of standard input, one at a time."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from sayso.input_file import damaged_gzip, open_bytes, open_raw, without_mark
from sayso.readers.base import BadLine, Line

MAX_LINE_BYTES = 16 * 2**20
_BUFFER_BYTES = 2**20

OnBytes = Callable[[int], None]
"""Progress callback of a reader: bytes of the file read so far."""


def read_lines(path: Path, on_bytes: OnBytes | None = None) -> Iterator[Line]:
    """Yield the lines of a file, `-` being standard input, with their numbers.

    Windows line ends and byte order marks are taken off. A line that is not UTF-8, or longer than 16 MiB, comes as a
    `BadLine`.
    """
    with open_bytes(path) as (raw, stream):
        yield from lines_of(path, raw, stream, on_bytes)


def lines_of(path: Path, raw: io.RawIOBase, stream: BinaryIO, on_bytes: OnBytes | None = None) -> Iterator[Line]:
    """Yield the lines of a file that is open already; see `read_lines`."""
    number = 0
    try:
        while line := stream.readline(MAX_LINE_BYTES):
            number += 1
            yield number, _decoded(line, stream)
            if on_bytes and number % 2048 == 0:
                on_bytes(_position(raw))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged_gzip(f"{path}:{number + 1}", error) from error


def first_of(lines: Iterator[Line]) -> tuple[str, Iterator[Line]]:
    """Return the first line that holds something, empty where there is none, and all lines: to tell a form by it.

    The file is not opened again, since a pipe can be read only once.
    """
    looked_at: list[Line] = []
    for line in lines:
        looked_at.append(line)
        if holds_something(line):
            break
    first = looked_at[-1][1] if looked_at else ""
    return ("" if isinstance(first, BadLine) else first), chain(looked_at, lines)


def holds_something(line: Line) -> bool:
    """Say whether a line is anything but white space."""
    return isinstance(line[1], BadLine) or bool(line[1] and not line[1].isspace())


def read_lines_between(path: Path, start: int, stop: int) -> Iterator[Line]:
    """Yield the lines of a plain file that begin from byte `start` up to `stop`, numbered from 1."""
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
        # The mark may stand on any line: files are joined with `cat`.
        return without_mark(line).decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return BadLine(f"byte {error.start + 1} of the line is not UTF-8")


def _position(raw: io.RawIOBase) -> int:
    return raw.tell() if raw.seekable() else 0
