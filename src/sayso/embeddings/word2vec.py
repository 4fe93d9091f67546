"""Files of word vectors, text or binary, plain or gzip: the form is found from the content, not from the name."""

import io
import logging
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sayso.embeddings import binary_rows, text_rows
from sayso.embeddings.row import MAX_WIDTH, Place, Row
from sayso.errors import BadInputError
from sayso.input_file import holds_no, open_bytes, without_mark
from sayso.io.atomic import atomic_file
from sayso.readers.files import MAX_LINE_BYTES

_LOG = logging.getLogger(__name__)
_NUM_BYTES_LOOKED_AT = 4096


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Distinct words and their vectors, `matrix[i]` (float32, finite) being that of `words[i]`.

    Where the file gave a word several times, its first vector is kept; `num_repeats` counts the others.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    num_repeats: int = 0

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.matrix.shape[1])


class _Header(NamedTuple):
    num_words: int
    width: int


def read_word_vectors(path: Path, wanted: Collection[str] | None = None) -> WordVectors:
    """Return the vectors of the file, or of the wanted words in it; the rest is read past and not kept.

    Pass a set or a dict: every word of the file is looked up in `wanted`. A binary file with a single number a word
    can be taken for text; no other can.
    """
    with open_bytes(path) as (_, stream):
        vectors = _read(stream, path, wanted)
    if vectors.num_repeats:
        _LOG.warning("%s: %d words stand there again; their first vector counts", path, vectors.num_repeats)
    return vectors


def write_word_vectors(path: Path, words: Sequence[str], matrix: NDArray[np.float32], binary: bool) -> None:
    """Write vectors that `read_word_vectors` reads back bit for bit; the file appears whole or not at all."""
    assert matrix.shape[:1] == (len(words),)
    refuse_unwritable(words)
    row_format = " %.9g" * matrix.shape[1] + "\n"  # nine digits tell any two float32 apart
    with atomic_file(path, "wb") as stream:
        stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for word, row in zip(words, matrix, strict=True):
            stream.write(word.encode("utf-8"))
            if binary:
                stream.write(b" " + row.astype("<f4").tobytes() + b"\n")
            else:
                stream.write((row_format % tuple(row.tolist())).encode("ascii"))


def refuse_unwritable(words: Iterable[str]) -> None:
    """Raise `BadInputError` for a word that a word2vec file cannot hold: there, a word ends at white space."""
    for word in words:
        raw = word.encode("utf-8")
        if raw.split() != [raw]:
            raise BadInputError(f"{word!r} is empty or has white space in it; a file of vectors cannot hold it")


def _read(stream: BinaryIO, path: Path, wanted: Collection[str] | None) -> WordVectors:
    first = without_mark(stream.readline(MAX_LINE_BYTES))
    if not first.strip() and not any(map(bytes.strip, stream)):
        raise holds_no(path, "vectors")
    header = _header(first)
    if header is None:
        width = _first_width(first, path)
        all_lines = chain([(1, first.rstrip())], _numbered_lines(stream, path))
        return _collected(text_rows.read_rows(all_lines, path, width, wanted), width, Place(path, "line"))
    num_words, width = header
    if num_words < 1 or not 1 <= width <= MAX_WIDTH:
        raise BadInputError(f"{path}:1: the header promises {num_words:,} words of {width:,} numbers")
    start = stream.read(_NUM_BYTES_LOOKED_AT)
    if _looks_like_text(start, width):
        # The line that the look ahead has cut through is made whole again.
        lines = _as_promised(_numbered_lines(stream, path, start + stream.readline(MAX_LINE_BYTES)), path, num_words)
        return _collected(text_rows.read_rows(lines, path, width, wanted), width, Place(path, "line"))
    rows = binary_rows.read_rows(start, stream, path, num_words, width, wanted)
    return _collected(rows, width, Place(path, "word"))


def _header(first: bytes) -> _Header | None:
    columns = first.split()
    if len(columns) == 2 and all(column.isdigit() and len(column) < 19 for column in columns):
        return _Header(int(columns[0]), int(columns[1]))
    return None


def _first_width(first: bytes, path: Path) -> int:
    """Return the width of a text file without a header, which its first line shows."""
    columns = first.split()
    if not 2 <= len(columns) <= MAX_WIDTH + 1 or not text_rows.is_number(columns[-1]):
        raise BadInputError(f"{path}:1: not a file of vectors: neither `words width` nor a word and its numbers")
    return len(columns) - 1


def _looks_like_text(start: bytes, width: int) -> bool:
    """Say whether the bytes after the header are lines of text rather than float32 numbers."""
    columns = start.split(b"\n")[0].split()
    if len(columns) == width + 1 and all(text_rows.is_number(column) for column in columns[1:]):
        return True
    # Numbers may look like text byte by byte, but then the line ends exactly where they do.
    end = start.find(b" ") + 1 + 4 * width
    if 4 * width < end < len(start) and start[end] == ord("\n"):
        return False
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 3:
            return False
    # Lines with a fault in them are text all the same, but a few bytes of float32 may look like text by chance.
    return width > 4 and not any(byte < 32 and byte not in b"\t\r\n" for byte in start)


def _numbered_lines(stream: BinaryIO, path: Path, start: bytes = b"") -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, from the second of the file on; `start` are bytes already read."""
    begun = io.BytesIO(start)
    number = 1
    while line := begun.readline(MAX_LINE_BYTES) or stream.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES:
            raise BadInputError(f"{path}:{number}: the line is longer than {MAX_LINE_BYTES // 2**20} MiB")
        if stripped := line.rstrip():
            yield number, stripped


def _as_promised(lines: Iterator[tuple[int, bytes]], path: Path, num_words: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines, which must be as many as the header says."""
    num_lines = 0
    for num_lines, (number, line) in enumerate(lines, 1):
        if num_lines > num_words:
            raise BadInputError(f"{path}:{number}: more than the {num_words:,} words that the header promises")
        yield number, line
    if num_lines < num_words:
        raise BadInputError(f"{path}:1: the header promises {num_words:,} words; the file has {num_lines:,}")


def _collected(rows: Iterable[Row], width: int, place: Place) -> WordVectors:
    """Return the rows as vectors: each word's first row, every number finite."""
    first_number: dict[str, int] = {}
    numbers, kept = array("q"), bytearray()
    num_repeats = 0
    for number, word, vector in rows:
        if word in first_number:
            num_repeats += 1
            continue
        first_number[word] = number
        numbers.append(number)
        kept += vector
    matrix = np.frombuffer(kept, dtype="<f4").reshape(-1, width)
    is_finite_V = np.isfinite(matrix).all(axis=1)
    if not is_finite_V.all():
        raise place.fault(numbers[int(is_finite_V.argmin())], "a number that is not finite (nan or inf)")
    return WordVectors(list(first_number), matrix.astype(np.float32, copy=False), num_repeats)
