"""Stretches of corpus files that are read at one go: what is done stays done, and files may grow at their end."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sayso.errors import BadInputError, UserError
from sayso.input_file import holds_no, refuse_pipe
from sayso.readers.base import Line
from sayso.readers.files import files_of, holds_something, parts_of, read_lines, read_lines_between
from sayso.readers.read import Tally, read_sentences

_GZIP = b"\x1f\x8b"
_BY_BLOCKS = frozenset({"tagged"})
"""Forms in which a sentence takes several lines, so that files are not cut."""


class FilePiece(NamedTuple):
    """The lines of a file that begin from byte `start` up to `stop`; a file that cannot be cut is one piece."""

    number: int
    file: str
    form: str
    start: int
    stop: int
    is_whole: bool

    @property
    def size(self) -> int:
        """The bytes of the piece."""
        return self.stop - self.start

    def lines(self) -> Iterator[Line]:
        """Yield the lines, numbered from 1."""
        path = Path(self.file)
        return read_lines(path) if self.is_whole else read_lines_between(path, self.start, self.stop)


class PieceRecord(NamedTuple):
    """A piece that is done: what it held, and how to tell that the file still holds the same."""

    piece: FilePiece
    sha256: str
    num_lines: int
    num_good: int
    num_bad: int
    first_bad: list[tuple[int, str]]


def corpus_files(corpus: Path) -> list[Path]:
    """Return the files of a corpus: one file, a folder's, or the sentences that `sayso build` made, all of them."""
    if str(corpus) != "-" and not corpus.exists():
        raise BadInputError(f"{corpus}: no such file or directory")
    refuse_pipe(corpus, "a corpus to extract from is")
    return filled(corpus, [file for part in parts_of(corpus) for file in files_of(part)])


def filled(corpus: Path, files: Iterable[Path]) -> list[Path]:
    """Return the corpus's files that hold something; not one of them is a `BadInputError`."""
    found = [file.resolve() for file in files if any(map(holds_something, read_lines(file)))]
    if not found:
        raise holds_no(corpus, "sentences")
    return found


def new_pieces(files: Sequence[Path], done: Sequence[PieceRecord], form: str, size: int) -> Iterator[FilePiece]:
    """Yield what is not done yet: files that are new, and what was added to the others, in pieces of about this size.

    A file that has changed in any other way, or is gone, is a `UserError`, and so is another corpus than before.
    """
    behind = _stops(done, files)
    number = len(done)
    for path in files:
        start, length = behind.get(str(path), 0), path.stat().st_size
        if start >= length:
            continue
        form_here = _form_of(path, form)
        is_whole = form_here in _BY_BLOCKS or _starts_with(path, _GZIP)
        if is_whole and start:
            raise UserError(f"{path}: this file has grown, but its form cannot be read on: put new sentences elsewhere")
        for stop in [length] if is_whole else _cuts(path, start, length, size):
            yield FilePiece(number, str(path), form_here, start, stop, is_whole)
            number, start = number + 1, stop


def piece_digest(piece: FilePiece) -> str:
    """Return the hash of the piece's bytes."""
    digest = hashlib.sha256()
    with Path(piece.file).open("rb") as file:
        file.seek(piece.start)
        left = piece.stop - piece.start
        while left and (block := file.read(min(2**20, left))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


def first_bad_lines(records: Iterable[PieceRecord]) -> Iterator[str]:
    """Yield the bad lines that pieces remember, with the number of the line in its file."""
    before: dict[str, int] = {}
    for record in records:
        file = record.piece.file
        for number, reason in record.first_bad:
            yield f"{file}:{before.get(file, 0) + number}: {reason}"
        before[file] = before.get(file, 0) + record.num_lines


def _stops(done: Sequence[PieceRecord], files: Sequence[Path]) -> dict[str, int]:
    """Return how many bytes of each file are done, once it is sure that they are still the same."""
    there = {str(path) for path in files}
    stops: dict[str, int] = {}
    for record in done:
        piece = record.piece
        if piece.file not in there:
            # Where the file still exists, it is the corpus that is another.
            reason = (
                "extracted from before, but not in the corpus given now: give the same corpus (files may be added)"
                if Path(piece.file).exists()
                else "this file was extracted from and is gone: put it back"
            )
            raise UserError(f"{piece.file}: {reason}, or start over")
        if piece_digest(piece) != record.sha256:
            raise UserError(f"{piece.file}: this file has changed since it was extracted from: start over")
        stops[piece.file] = piece.stop
    _refuse_half_lines(stops)
    return stops


def _refuse_half_lines(stops: Mapping[str, int]) -> None:
    """Refuse a file that grew where its last line had no end: that line is another one now."""
    for name, stop in stops.items():
        with Path(name).open("rb") as file:
            file.seek(stop - 1)
            if file.read(1) != b"\n" and file.seek(0, os.SEEK_END) > stop:
                raise UserError(f"{name}: this file's last line was not ended when it grew: start over")


def _cuts(path: Path, start: int, length: int, size: int) -> Iterator[int]:
    """Yield where pieces end: after the first line end behind every `size` bytes."""
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


def _starts_with(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark
