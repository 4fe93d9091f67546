"""Read and write word vector files, text or binary, plain or gzip; the format is detected from the content.

Text (word2vec, GloVe): a word and its numbers on each line, separated by spaces or tabs. Binary (word2vec): a header
line, then for each word the word, a space and its numbers as float32; a newline after each vector is optional. Binary
files are read in blocks, and rows that were not requested are skipped without being unpacked.
"""

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

from sayso.errors import BadInputError
from sayso.input_file import holds_no, open_bytes, without_mark
from sayso.io.atomic import atomic_file
from sayso.readers.files import MAX_LINE_BYTES

_LOG = logging.getLogger(__name__)
_NUM_BYTES_LOOKED_AT = 4096
_BLOCK_BYTES = 4 * 2**20
_MAX_WORD_BYTES = 2**16

MAX_WIDTH = 65_536
"""Maximum number of columns; a file with more is considered damaged."""


_Row = tuple[int, str, bytes]
"""A row's number (its line in text, its position from 1 in a binary file), word, and vector as float32 bytes."""


class VectorFile(NamedTuple):
    """A vector file, for error messages: these name a line, or the index of a word if the file is binary."""

    path: Path
    is_binary: bool = False

    def fault(self, number: int, what: str) -> BadInputError:
        """Return an error that names the file, the row and the problem."""
        where = f"{self.path}: word {number:,}" if self.is_binary else f"{self.path}:{number}"
        return BadInputError(f"{where}: {what}")

    def word(self, number: int, raw: bytes) -> str:
        """Decode the word of the row."""
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(number, f"byte {error.start + 1} of the word is not UTF-8") from error
        if not word:
            raise self.fault(number, "the word is empty")
        return word


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Distinct words and their vectors: `matrix[i]` (float32, finite) is the vector of `words[i]`.

    If a word is repeated, its first vector is kept; `num_repeats` counts the others.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    num_repeats: int = 0

    @property
    def width(self) -> int:
        """Length of a vector."""
        return int(self.matrix.shape[1])


def read_word_vectors(path: Path, wanted: Collection[str] | None = None) -> WordVectors:
    """Read the vectors in the file, or only those of the words in `wanted` (a set or dict, for fast lookup).

    Whether the file is text or binary is guessed from its content; only binary vectors of width 1 are ambiguous.
    """
    with open_bytes(path) as (_, stream):
        vectors = _read(stream, path, wanted)
    if vectors.num_repeats:
        _LOG.warning("%s: %d repeated words; the first vector of each is used", path, vectors.num_repeats)
    return vectors


def write_word_vectors(path: Path, words: Sequence[str], matrix: NDArray[np.float32], binary: bool) -> None:
    """Write vectors atomically; `read_word_vectors` reads them back bit for bit."""
    assert matrix.shape[:1] == (len(words),)
    refuse_unwritable(words)
    row_format = " %.9g" * matrix.shape[1] + "\n"  # nine digits distinguish any two float32
    with atomic_file(path, "wb") as stream:
        stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
        for word, row in zip(words, matrix, strict=True):
            stream.write(word.encode("utf-8"))
            if binary:
                stream.write(b" " + row.astype("<f4").tobytes() + b"\n")
            else:
                stream.write((row_format % tuple(row.tolist())).encode("ascii"))


def refuse_unwritable(words: Iterable[str]) -> None:
    """Raise `BadInputError` for a word that a word2vec file cannot contain: empty, or with white space."""
    for word in words:
        raw = word.encode("utf-8")
        if raw.split() != [raw]:
            raise BadInputError(f"{word!r} is empty or contains white space; a vector file cannot contain it")


def _read(stream: BinaryIO, path: Path, wanted: Collection[str] | None) -> WordVectors:
    first = without_mark(stream.readline(MAX_LINE_BYTES))
    if not first.strip() and not any(map(bytes.strip, stream)):
        raise holds_no(path, "vectors")
    file, columns = VectorFile(path), first.split()
    if len(columns) != 2 or not all(column.isdigit() and len(column) < 19 for column in columns):
        width = len(columns) - 1
        if not 1 <= width <= MAX_WIDTH or not is_number(columns[-1]):
            raise file.fault(1, "not a vector file: expected a header (`WORDS WIDTH`) or a word followed by its vector")
        lines = chain([(1, first.rstrip())], _numbered_lines(stream, path))
        return _collected(_text_rows(lines, file, width, wanted), width, file)
    num_words, width = map(int, columns)
    if num_words < 1 or not 1 <= width <= MAX_WIDTH:
        raise BadInputError(f"{path}:1: invalid header: {num_words:,} words, vector width {width:,}")
    start = stream.read(_NUM_BYTES_LOOKED_AT)
    if _looks_like_text(start, width):
        # The look-ahead may have ended inside a line.
        numbered = _numbered_lines(stream, path, start + stream.readline(MAX_LINE_BYTES))
        return _collected(_text_rows(_as_announced(numbered, path, num_words), file, width, wanted), width, file)
    file = VectorFile(path, is_binary=True)
    return _collected(_binary_rows(start, stream, file, num_words, width, wanted), width, file)


def _looks_like_text(start: bytes, width: int) -> bool:
    """Return whether the bytes after the header are lines of text rather than float32 numbers."""
    columns = start.split(b"\n")[0].split()
    if len(columns) == width + 1 and all(is_number(column) for column in columns[1:]):
        return True
    # Binary numbers may look like text, but then a newline follows exactly after the last one.
    end = start.find(b" ") + 1 + 4 * width
    if 4 * width < end < len(start) and start[end] == ord("\n"):
        return False
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 3:
            return False
    # Malformed lines are text too, but a few bytes of float32 may look like text by chance.
    return width > 4 and not any(byte < 32 and byte not in b"\t\r\n" for byte in start)


def _numbered_lines(stream: BinaryIO, path: Path, start: bytes = b"") -> Iterator[tuple[int, bytes]]:
    """Yield the non-blank lines after the first line, beginning with the bytes already read (`start`)."""
    already_read = io.BytesIO(start)
    number = 1
    while line := already_read.readline(MAX_LINE_BYTES) or stream.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES:
            raise BadInputError(f"{path}:{number}: the line is longer than {MAX_LINE_BYTES // 2**20} MiB")
        if stripped := line.rstrip():
            yield number, stripped


def _as_announced(lines: Iterator[tuple[int, bytes]], path: Path, num_words: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines; raise `BadInputError` if their number differs from the number in the header."""
    num_lines = 0
    for num_lines, (number, line) in enumerate(lines, 1):
        if num_lines > num_words:
            raise BadInputError(f"{path}:{number}: the header declares {num_words:,} words, but there are more")
        yield number, line
    if num_lines < num_words:
        raise BadInputError(f"{path}:1: the header declares {num_words:,} words, but there are {num_lines:,}")


def _collected(rows: Iterable[_Row], width: int, file: VectorFile) -> WordVectors:
    """Collect the first row of each word; raise on a number that is not finite."""
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
        raise file.fault(numbers[int(is_finite_V.argmin())], "a number is not finite (nan or inf)")
    return WordVectors(list(first_number), matrix.astype(np.float32, copy=False), num_repeats)


def _text_rows(
    lines: Iterable[tuple[int, bytes]], file: VectorFile, width: int, wanted: Collection[str] | None
) -> Iterator[_Row]:
    """Yield the rows of the `wanted` words (None: all words); each line has a word and `width` numbers."""
    for number, line in lines:
        # Most lines of a large file are skipped, without splitting them into columns.
        is_plain = line.count(b" ") == width
        if wanted is not None and is_plain and file.word(number, line[: line.find(b" ")]) not in wanted:
            continue
        columns = line.split()
        if len(columns) != width + 1:
            columns = _with_spaced_word(columns, width, file, number)
        word = file.word(number, columns[0])
        if wanted is None or word in wanted:
            yield number, word, numbers_of(columns[1:], file, number)


def numbers_of(columns: list[bytes], file: VectorFile, number: int) -> bytes:
    """Return the numbers of a row as float32 bytes."""
    try:
        values = [float(column) for column in columns]
    except ValueError as error:
        culprit = next(column for column in columns if not is_number(column))
        raise file.fault(number, f"{culprit[:40].decode('utf-8', 'replace')!r} is not a number") from error
    # A number too large for float32 becomes infinite, and is refused later like any other that is not finite.
    with np.errstate(over="ignore"):
        return np.array(values, dtype=np.float64).astype("<f4").tobytes()


def is_number(column: bytes) -> bool:
    """Return whether the column reads as a number, including `nan` and `inf`."""
    try:
        float(column)
    except ValueError:
        return False
    return True


def _with_spaced_word(columns: list[bytes], width: int, file: VectorFile, number: int) -> list[bytes]:
    """Return the columns with the parts of the word joined: large GloVe files have words such as `. . .`."""
    num_parts = len(columns) - width
    if num_parts < 2 or any(is_number(part) for part in columns[1:num_parts]):
        raise file.fault(number, f"expected {width} numbers, got {max(len(columns) - 1, 0)}")
    return [b" ".join(columns[:num_parts]), *columns[num_parts:]]


def _binary_rows(
    start: bytes, stream: BinaryIO, file: VectorFile, num_words: int, width: int, wanted: Collection[str] | None
) -> Iterator[_Row]:
    """Yield the rows of the `wanted` words (None: all), given the header's `num_words` and `width`.

    `start`: bytes after the header that were already read from the stream.
    """
    num_bytes, block, position = 4 * width, start, 0
    for number in range(1, num_words + 1):
        space = block.find(b" ", position)
        if space < 0 or space + 1 + num_bytes > len(block):
            # Enough of the file to contain a whole row.
            block, position = block[position:] + stream.read(_BLOCK_BYTES + _MAX_WORD_BYTES + num_bytes), 0
            space = _end_of_word(block, num_bytes, file, number, num_words)
        word = file.word(number, block[position:space].lstrip(b"\n"))
        if "\n" in word:
            raise file.fault(number, "the word contains a newline: the header's width does not match the file")
        position = space + 1 + num_bytes
        if wanted is None or word in wanted:
            yield number, word, block[space + 1 : position]
    if block[position:].strip() or stream.read(_BLOCK_BYTES).strip():
        raise BadInputError(f"{file.path}: more data after the {num_words:,} words in its header")


def _end_of_word(block: bytes, num_bytes: int, file: VectorFile, number: int, num_words: int) -> int:
    """Return where the first word of the block ends; raise if the block does not contain the whole row."""
    space = block.find(b" ", 0, _MAX_WORD_BYTES)
    if space < 0 and len(block) >= _MAX_WORD_BYTES:
        raise file.fault(number, "no end of the word found: this is not a word2vec file, or its header is wrong")
    if space < 0 or space + 1 + num_bytes > len(block):
        raise file.fault(number, f"the file is truncated (its header declares {num_words:,} words)")
    return space
