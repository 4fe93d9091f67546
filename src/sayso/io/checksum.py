"""Sizes and checksums of the files in a folder, stored in its manifest and verified when a file is opened.

CRC-32 is in the standard library, runs at over 1 GB/s and detects every change of up to four consecutive bytes. It
guards against damage, not against forgery.
"""

import logging
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sayso.errors import BadInputError, reason_of

FILES = "files"
"""The manifest key for the checksums of the folder's files."""
_OFF = "SAYSO_NO_VERIFY"
_BLOCK = 2**20
_log = logging.getLogger(__name__)
_warned: set[Path] = set()


class FileSum(NamedTuple):
    """The size of a file in bytes, and the CRC-32 of its content."""

    size: int
    crc32: int


class ChangedError(BadInputError):
    """A file has changed since it was opened."""


def is_verifying() -> bool:
    """Return whether checksums are verified; child processes inherit this."""
    return os.environ.get(_OFF, "") != "1"


def set_verifying(is_wanted: bool) -> None:
    """Turn verification of checksums on or off."""
    if is_wanted:
        os.environ.pop(_OFF, None)
    else:
        os.environ[_OFF] = "1"


def sum_of(path: Path) -> FileSum:
    """Return the size and checksum of a file, read block by block."""
    size = crc = 0
    block = memoryview(bytearray(_BLOCK))
    with path.open("rb", buffering=0) as file:
        while length := file.readinto(block):
            crc, size = zlib.crc32(block[:length], crc), size + length
    return FileSum(size, crc)


def sums_of(folder: Path, names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the checksums of these files, as stored in a manifest."""
    return {name: sum_of(folder / name)._asdict() for name in sorted(names)}


class CheckedFiles:
    """The files in a folder, each verified against the manifest's checksum when first opened.

    `sums` is None for a folder from an early version, without checksums. With `in_memory`, files are read, not mapped,
    and `refuse_changed` detects later changes: truncating a mapped file would kill the process.
    """

    def __init__(self, folder: Path, sums: Mapping[str, FileSum] | None, advice: str, in_memory: bool = False) -> None:
        self.folder, self.advice, self.in_memory = folder, advice, in_memory
        self._sums = sums
        self._compared: set[str] = set()
        self._opened: dict[str, tuple[tuple[int, ...], FileSum]] = {}
        if sums is None and is_verifying() and folder.resolve() not in _warned:
            _warned.add(folder.resolve())
            _log.warning("%s: made by an early version without checksums; damage may go unnoticed: %s", folder, advice)

    def path(self, name: str) -> Path:
        """Return the path of a file after verifying its content."""
        path = self.folder / name
        if is_verifying() and self._sums is not None and name not in self._compared:
            self._compare(name, sum_of(path))
            self._compared.add(name)
        return path

    def read(self, name: str) -> bytes:
        """Return the content of a file, and remember its checksum for `refuse_changed`."""
        with (self.folder / name).open("rb") as file:
            signature, data = signature_of(os.fstat(file.fileno())), file.read()
        found = FileSum(len(data), zlib.crc32(data))
        if is_verifying():
            self._compare(name, found)
        self._opened[name] = signature, found
        return data

    def refuse_changed(self) -> None:
        """Raise `ChangedError` if a file that was read has been replaced, truncated or removed since."""
        for name, (signature, expected) in list(self._opened.items()):
            path = self.folder / name
            try:
                now = signature_of(path.stat())
                if now != signature and (path.stat().st_size != expected.size or sum_of(path) != expected):
                    raise ChangedError(f"{path}: the file has changed since it was opened")
            except OSError as error:
                raise ChangedError(f"{path}: the file can no longer be read ({reason_of(error)})") from None
            self._opened[name] = now, expected

    def _compare(self, name: str, found: FileSum) -> None:
        if self._sums is None:
            return
        path, expected = self.folder / name, self._sums.get(name)
        if expected is None:
            raise BadInputError(f"{path}: this file is not in the manifest: {self.advice}")
        if found.size != expected.size:
            raise BadInputError(f"{path}: expected {expected.size:,} bytes, got {found.size:,}: {self.advice}")
        if found.crc32 != expected.crc32:
            raise BadInputError(
                f"{path}: damaged or changed since it was written (the checksum differs): {self.advice}"
            )


def signature_of(status: os.stat_result) -> tuple[int, ...]:
    """Return the attributes that change when a file is replaced or modified."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
