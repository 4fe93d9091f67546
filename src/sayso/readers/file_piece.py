"""Split corpus files into pieces that are processed one at a time; finished pieces are kept when files grow."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sayso.errors import UserError
from sayso.input_file import holds_no, refuse_missing, refuse_pipe
from sayso.io.folder import OVERWRITE
from sayso.readers.base import Line
from sayso.readers.files import files_of, is_not_blank, read_lines, read_lines_between
from sayso.readers.read import Tally, read_sentences

_GZIP = b"\x1f\x8b"
_BY_BLOCKS = frozenset({"tagged"})
"""Formats with several lines per sentence; their files are not split."""


class FilePiece(NamedTuple):
    """The lines of a file that begin between bytes `start` and `stop`; a file that cannot be split is one piece."""

    number: int
    file: str
    form: str
    start: int
    stop: int
    is_whole: bool

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.stop - self.start

    def lines(self) -> Iterator[Line]:
        """Yield the lines, numbered from 1."""
        path = Path(self.file)
        return read_lines(path) if self.is_whole else read_lines_between(path, self.start, self.stop)


class PieceRecord(NamedTuple):
    """A finished piece: its counts, and a hash to detect changes to the file."""

    piece: FilePiece
    sha256: str
    num_lines: int
    num_good: int
    num_bad: int
    first_bad: list[tuple[int, str]]


def corpus_files(corpus: Path) -> list[Path]:
    """Return the files of a corpus, which is a file, a folder of files, or a folder written by `sayso build`."""
    refuse_missing([corpus])
    refuse_pipe(corpus, "the corpus is")
    return files_with_text(corpus, files_of(corpus))


def files_with_text(corpus: Path, files: Iterable[Path]) -> list[Path]:
    """Return the files that are not blank; raise `BadInputError` if all are."""
    found = [file.resolve() for file in files if any(map(is_not_blank, read_lines(file)))]
    if not found:
        raise holds_no(corpus, "sentences")
    return found


def new_pieces(files: Sequence[Path], done: Sequence[PieceRecord], form: str, size: int) -> Iterator[FilePiece]:
    """Yield pieces of about `size` bytes from new files and from lines appended to known files.

    Raises:
        UserError: a known file is missing or changed before its end, or this is a different corpus.
    """
    stops = _stops(done, files)
    number = len(done)
    for path in files:
        start, length = stops.get(str(path), 0), path.stat().st_size
        if start >= length:
            continue
        form_here = _form_of(path, form)
        with path.open("rb") as file:
            is_whole = form_here in _BY_BLOCKS or file.read(len(_GZIP)) == _GZIP
        if is_whole and start:
            raise UserError(
                f"{path}: this file has grown, but this format (or gzip) cannot be resumed partway: put new sentences"
                " in a separate file"
            )
        for stop in [length] if is_whole else _cuts(path, start, length, size):
            yield FilePiece(number, str(path), form_here, start, stop, is_whole)
            number, start = number + 1, stop


def piece_digest(piece: FilePiece) -> str:
    """Return the SHA-256 hash of the piece's bytes."""
    digest = hashlib.sha256()
    with Path(piece.file).open("rb") as file:
        file.seek(piece.start)
        left = piece.size
        while left and (block := file.read(min(2**20, left))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


def first_bad_lines(records: Iterable[PieceRecord]) -> Iterator[str]:
    """Yield the recorded bad lines, with their line numbers in the file."""
    before: dict[str, int] = {}
    for record in records:
        file = record.piece.file
        for number, reason in record.first_bad:
            yield f"{file}:{before.get(file, 0) + number}: {reason}"
        before[file] = before.get(file, 0) + record.num_lines


def _stops(done: Sequence[PieceRecord], files: Sequence[Path]) -> dict[str, int]:
    """Return the number of finished bytes in each file, after checking that they are unchanged."""
    there = {str(path) for path in files}
    stops: dict[str, int] = {}
    for record in done:
        piece = record.piece
        if piece.file not in there:
            # If the file still exists, this is a different corpus.
            reason = (
                "part of the earlier extraction, but not of this corpus: use the same corpus (files may be added)"
                if Path(piece.file).exists()
                else "part of the earlier extraction, but now missing: restore it"
            )
            raise UserError(f"{piece.file}: {reason}, or start over")
        if piece_digest(piece) != record.sha256:
            raise UserError(f"{piece.file}: this file has changed since the earlier extraction: start over")
        stops[piece.file] = piece.stop
    for name, stop in stops.items():
        with Path(name).open("rb") as file:
            file.seek(stop - 1)
            # The last line has already been read.
            if file.read(1) != b"\n" and file.seek(0, os.SEEK_END) > stop:
                raise UserError(
                    f"{name}: text was appended to its last line, which did not end in a newline: start over"
                    f" ({OVERWRITE})"
                )
    return stops


def _cuts(path: Path, start: int, length: int, size: int) -> Iterator[int]:
    """Yield the end of each piece: after the first newline at least `size` bytes from its start."""
    with path.open("rb") as file:
        while length - start > size:
            file.seek(start + size - 1)
            while (line := file.readline(2**20)) and not line.endswith(b"\n"):
                pass
            start = min(file.tell(), length)
            yield start
    if start < length:
        yield length


def _form_of(path: Path, form: str) -> str:
    if form != "auto":
        return form
    tally = Tally(path)
    next(read_sentences(path, tally), None)
    return tally.form
