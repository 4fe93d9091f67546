"""Corpus files in pieces of lines that are processed one at a time; finished pieces are kept when files grow."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sayso.errors import BadInputError, UserError
from sayso.input_file import holds_no, refuse_pipe
from sayso.readers.base import Line
from sayso.readers.files import files_of, is_not_blank, parts_of, read_lines, read_lines_between
from sayso.readers.read import Tally, read_sentences

_GZIP = b"\x1f\x8b"
_BY_BLOCKS = frozenset({"tagged"})
"""Forms with several lines per sentence, whose files are not divided."""


class FilePiece(NamedTuple):
    """The lines of a file that begin in the bytes from `start` up to `stop`; an indivisible file is one piece."""

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
    """A finished piece: its counts, and the hash that tells whether the file still has the same bytes."""

    piece: FilePiece
    sha256: str
    num_lines: int
    num_good: int
    num_bad: int
    first_bad: list[tuple[int, str]]


def corpus_files(corpus: Path) -> list[Path]:
    """Return the files of a corpus: one file, a folder of files, or all sentences of a built corpus."""
    if str(corpus) != "-" and not corpus.exists():
        raise BadInputError(f"{corpus}: no such file or directory")
    refuse_pipe(corpus, "a corpus to extract from is")
    return files_with_text(corpus, [file for part in parts_of(corpus) for file in files_of(part)])


def files_with_text(corpus: Path, files: Iterable[Path]) -> list[Path]:
    """Return the files that are not blank; raise `BadInputError` if there is none."""
    found = [file.resolve() for file in files if any(map(is_not_blank, read_lines(file)))]
    if not found:
        raise holds_no(corpus, "sentences")
    return found


def new_pieces(files: Sequence[Path], done: Sequence[PieceRecord], form: str, size: int) -> Iterator[FilePiece]:
    """Yield the unfinished pieces of about `size` bytes: of new files, and of what was added to the others.

    Raises:
        UserError: a file has changed in another way or is missing, or the corpus is another one.
    """
    stops = _stops(done, files)
    number = len(done)
    for path in files:
        start, length = stops.get(str(path), 0), path.stat().st_size
        if start >= length:
            continue
        form_here = _form_of(path, form)
        is_whole = form_here in _BY_BLOCKS or _starts_with(path, _GZIP)
        if is_whole and start:
            raise UserError(
                f"{path}: this file has grown, but cannot be read from there: put new sentences into another file"
            )
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
    """Yield the recorded bad lines, with their line numbers in the file."""
    before: dict[str, int] = {}
    for record in records:
        file = record.piece.file
        for number, reason in record.first_bad:
            yield f"{file}:{before.get(file, 0) + number}: {reason}"
        before[file] = before.get(file, 0) + record.num_lines


def _stops(done: Sequence[PieceRecord], files: Sequence[Path]) -> dict[str, int]:
    """Return the number of finished bytes of each file, after checking that they are unchanged."""
    there = {str(path) for path in files}
    stops: dict[str, int] = {}
    for record in done:
        piece = record.piece
        if piece.file not in there:
            # If the file still exists, it is another corpus.
            reason = (
                "extracted from before, but not in the corpus given now: give the same corpus (files may be added)"
                if Path(piece.file).exists()
                else "this file was extracted from and is missing now: put it back"
            )
            raise UserError(f"{piece.file}: {reason}, or start over")
        if piece_digest(piece) != record.sha256:
            raise UserError(f"{piece.file}: this file has changed since it was extracted from: start over")
        stops[piece.file] = piece.stop
    _refuse_half_lines(stops)
    return stops


def _refuse_half_lines(stops: Mapping[str, int]) -> None:
    """Raise `UserError` for a file that grew after an unfinished last line, which is another line now."""
    for name, stop in stops.items():
        with Path(name).open("rb") as file:
            file.seek(stop - 1)
            if file.read(1) != b"\n" and file.seek(0, os.SEEK_END) > stop:
                raise UserError(f"{name}: this file grew after a last line without a line end: start over")


def _cuts(path: Path, start: int, length: int, size: int) -> Iterator[int]:
    """Yield the ends of pieces: after the first line end beyond every `size` bytes."""
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
