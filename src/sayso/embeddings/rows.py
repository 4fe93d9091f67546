"""Rows of vector files: the text form of word2vec and GloVe, and the binary form of word2vec.

Text: a word and its numbers on each line, separated by spaces or tabs. Binary: a header line, then for each word the
word, a space and its numbers as float32; a line end after each vector is optional. Binary files are read in blocks, and
rows that were not requested are skipped without being unpacked.
"""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from sayso.errors import BadInputError

MAX_WIDTH = 65_536
"""Maximum number of columns; a file with more is considered damaged."""

_BLOCK_BYTES = 4 * 2**20
_MAX_WORD_BYTES = 2**16


class VectorRow(NamedTuple):
    """A word and its vector as float32 bytes; `number` is its line (text) or its position from 1 (binary)."""

    number: int
    word: str
    vector: bytes


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


def read_text_rows(
    lines: Iterable[tuple[int, bytes]], path: Path, width: int, wanted: Collection[str] | None
) -> Iterator[VectorRow]:
    """Yield the rows of the `wanted` words (None: all words); each line has a word and `width` numbers."""
    file = VectorFile(path)
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
            yield VectorRow(number, word, numbers_of(columns[1:], file, number))


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


def read_binary_rows(
    start: bytes, stream: BinaryIO, path: Path, num_words: int, width: int, wanted: Collection[str] | None
) -> Iterator[VectorRow]:
    """Yield the rows of the `wanted` words (None: all), given the header's `num_words` and `width`.

    `start`: bytes after the header that were already read from the stream.
    """
    file, num_bytes = VectorFile(path, is_binary=True), 4 * width
    block, position = start, 0
    for number in range(1, num_words + 1):
        space = block.find(b" ", position)
        if space < 0 or space + 1 + num_bytes > len(block):
            # Enough of the file to contain a whole row.
            block, position = block[position:] + stream.read(_BLOCK_BYTES + _MAX_WORD_BYTES + num_bytes), 0
            space = _end_of_word(block, num_bytes, file, number, num_words)
        word = file.word(number, block[position:space].lstrip(b"\n"))
        if "\n" in word:
            raise file.fault(number, "the word contains a line end: the header's width does not match the file")
        position = space + 1 + num_bytes
        if wanted is None or word in wanted:
            yield VectorRow(number, word, block[space + 1 : position])
    if block[position:].strip() or stream.read(_BLOCK_BYTES).strip():
        raise BadInputError(f"{path}: more data after the {num_words:,} words in its header")


def _end_of_word(block: bytes, num_bytes: int, file: VectorFile, number: int, num_words: int) -> int:
    """Return where the first word of the block ends; raise if the block does not contain the whole row."""
    space = block.find(b" ", 0, _MAX_WORD_BYTES)
    if space < 0 and len(block) >= _MAX_WORD_BYTES:
        raise file.fault(number, "the word has no end: this is not a word2vec file, or its header is wrong")
    if space < 0 or space + 1 + num_bytes > len(block):
        raise file.fault(number, f"the file is truncated (its header announces {num_words:,} words)")
    return space
