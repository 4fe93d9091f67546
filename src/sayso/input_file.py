"""Input files: plain or gzip, standard input (`-`) or a pipe, with one-line errors.

A pipe can be read only once. It is `-`, /dev/stdin, or a /dev/fd/N from the shell (`<(command)`). Other pipes, devices
and sockets are rejected: opening or reading them may block forever.
"""

import codecs
import gzip
import io
import logging
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sayso.errors import BadInputError, reason_of

MAX_UNPACKED_BYTES = 512 * 2**20
"""Limit for a gzip file or a pipe that is read into memory; the size of a plain file is known in advance."""

_Item = TypeVar("_Item")

_log = logging.getLogger(__name__)

_GZIP_MAGIC = b"\x1f\x8b"
_BUFFER_BYTES = 2**20
_NUM_FIRST_BYTES = 64
_HANDED_OVER = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


@cache
def note_old_format(path: Path, what: str) -> None:
    """Warn once that a file was written by sayso 0.1, and say what has changed in its format."""
    _log.warning("%s: written by sayso 0.1 (%s); sayso 0.3 will no longer read it", path, what)


@contextmanager
def open_bytes(path: Path) -> Iterator[tuple[io.RawIOBase, "io.BufferedReader[Any]"]]:
    """Open a file; yield the raw file and a stream that decompresses gzip.

    Read errors inside the block are raised as `BadInputError`.
    """
    raw = open_raw(path)
    try:
        packed = io.BufferedReader(raw, _BUFFER_BYTES)
        is_gzip = packed.peek(2)[:2] == _GZIP_MAGIC
        # A second buffer: reading lines from a GzipFile itself is several times slower.
        stream = io.BufferedReader(gzip.GzipFile(fileobj=packed), _BUFFER_BYTES) if is_gzip else packed
        yield raw, stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged_gzip(path, error) from error
    except OSError as error:
        raise os_error(path, error) from error
    finally:
        raw.close()


def damaged_gzip(where: object, error: Exception) -> BadInputError:
    """Return the error for a gzip file that cannot be decompressed."""
    return BadInputError(f"{where}: the gzip file is truncated or damaged ({error})")


def read_bytes(path: Path) -> bytes:
    """Return the content of the file, decompressed if it is gzip, without a byte order mark."""
    with open_bytes(path) as (raw, stream):
        if stream.raw is raw and raw.seekable():
            return without_mark(stream.read())
        data = stream.read(MAX_UNPACKED_BYTES + 1)
    if len(data) > MAX_UNPACKED_BYTES:
        raise BadInputError(
            f"{path}: this gzip file or pipe contains more than {MAX_UNPACKED_BYTES // 2**20} MiB, the limit for"
            " reading it into memory: decompress it to a plain file"
        )
    return without_mark(data)


def without_mark(data: bytes) -> bytes:
    """Return the bytes without a UTF-8 byte order mark."""
    return data.removeprefix(codecs.BOM_UTF8)


def open_raw(path: Path) -> io.RawIOBase:
    """Open a file unbuffered."""
    if str(path) == "-":
        # If standard input is closed, the next file to be opened gets its descriptor.
        if sys.stdin is None:
            raise BadInputError("-: standard input is closed; pipe a file into it, or pass a file name")
        return _FirstBytes(0, closefd=False)
    try:
        refuse_special(path)
        return _FirstBytes(path)
    except OSError as error:
        raise os_error(path, error) from error


def holds_no(path: Path, what: str) -> BadInputError:
    """Return the error for an input without records: empty, or blank lines only."""
    return BadInputError(f"{path}: contains no {what}")


def holding(path: Path, what: str, items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield the records of a file; raise `BadInputError` if there are none."""
    is_empty = True
    for item in items:
        is_empty = False
        yield item
    if is_empty:
        raise holds_no(path, what)


def os_error(path: Path, error: OSError) -> BadInputError:
    """Convert an OSError to a one-line error about the file."""
    return BadInputError(f"{path}: {reason_of(error)}")


def refuse_special(path: Path) -> None:
    """Raise `BadInputError` for anything but a plain file or a pipe from the shell."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and path.parent in _HANDED_OVER):
        return
    if stat.S_ISDIR(mode):
        raise BadInputError(f"{path}: this is a folder; expected a file")
    if stat.S_ISFIFO(mode):
        raise BadInputError(f"{path}: this is a named pipe; choose a file, or pipe into `-` if the command accepts it")
    raise BadInputError(f"{path}: this is a device or a socket, not a file")


def refuse_missing(paths: Iterable[Path]) -> None:
    """Raise `BadInputError` for the first missing file or folder, before hours of work are spent on the others."""
    for path in paths:
        if str(path) != "-" and not path.exists():
            raise BadInputError(f"{path}: no such file or directory")


def is_pipe(path: Path) -> bool:
    """Return whether the path can be read only once: standard input, or a pipe."""
    return str(path) == "-" or path.is_fifo()


def refuse_pipe(path: Path, what: str) -> None:
    """Raise `BadInputError` for standard input and pipes, because `what` is read more than once."""
    if is_pipe(path):
        raise BadInputError(f"{path}: {what} read more than once: choose a file, not standard input or a pipe")


class _FirstBytes(io.FileIO):
    """A file whose first read returns enough bytes to detect its format, even from a pipe that yields one at a time."""

    _is_begun = False

    def readinto(self, buffer: Any) -> int | None:
        num = super().readinto(buffer)
        if not self._is_begun:
            self._is_begun = True
            view = memoryview(buffer)
            while num and num < min(_NUM_FIRST_BYTES, len(view)) and (more := super().readinto(view[num:])):
                num += more
        return num
