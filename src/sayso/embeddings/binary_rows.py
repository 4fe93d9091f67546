"""The binary form of word2vec: a header line, then for each word the word, a space and its numbers as float32.

The original program puts a line end after each vector, others do not; both are read. A file of millions of words is
read in blocks; rows nobody wants are stepped over without being unpacked.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from sayso.embeddings.row import Place, Row, is_wanted
from sayso.errors import BadInputError

_BLOCK_BYTES = 4 * 2**20
_MAX_WORD_BYTES = 2**16


def read_rows(
    start: bytes, stream: BinaryIO, path: Path, num_words: int, width: int, wanted: Collection[str] | None
) -> Iterator[Row]:
    """Yield the wanted rows of what follows the header, which promises `num_words` vectors of `width` numbers.

    `start` are bytes after the header that were already taken from the stream.
    """
    place, num_bytes = Place(path, "word"), 4 * width
    block, position = start, 0
    for number in range(1, num_words + 1):
        space = block.find(b" ", position)
        if space < 0 or space + 1 + num_bytes > len(block):
            block, position = _refilled(stream, block[position:], num_bytes), 0
            space = _end_of_word(block, num_bytes, place, number, num_words)
        word = place.word(number, block[position:space].lstrip(b"\n"))
        if "\n" in word:
            raise place.fault(number, "a line end inside the word: the header's width does not fit the file")
        position = space + 1 + num_bytes
        if is_wanted(word, wanted):
            yield Row(number, word, block[space + 1 : position])
    if block[position:].strip() or stream.read(_BLOCK_BYTES).strip():
        raise BadInputError(f"{path}: the file goes on after the {num_words:,} words that its header promises")


def _refilled(stream: BinaryIO, rest: bytes, num_bytes: int) -> bytes:
    """Return the rest and as much of the file as makes a whole row certain, if the file has it."""
    return rest + stream.read(_BLOCK_BYTES + _MAX_WORD_BYTES + num_bytes)


def _end_of_word(block: bytes, num_bytes: int, place: Place, number: int, num_words: int) -> int:
    """Return where the first word of the block ends, if the whole row is there."""
    space = block.find(b" ", 0, _MAX_WORD_BYTES)
    if space < 0 and len(block) >= _MAX_WORD_BYTES:
        raise place.fault(number, "the word has no end: this is not a word2vec file, or its header is wrong")
    if space < 0 or space + 1 + num_bytes > len(block):
        raise place.fault(number, f"the file is cut short (its header promises {num_words:,} words)")
    return space
