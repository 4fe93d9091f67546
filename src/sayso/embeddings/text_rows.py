"""The text form of word2vec and GloVe: one word a line, then its numbers, with spaces or tabs between them."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import numpy as np

from sayso.embeddings.row import Place, Row, is_wanted


def read_rows(
    lines: Iterable[tuple[int, bytes]], path: Path, width: int, wanted: Collection[str] | None
) -> Iterator[Row]:
    """Yield the wanted rows of the numbered lines, each of which must hold a word and `width` numbers."""
    place = Place(path, "line")
    for number, line in lines:
        # Most lines of a large file are not wanted: they are not cut into columns.
        if line.count(b" ") == width and not is_wanted(place.word(number, line[: line.find(b" ")]), wanted):
            continue
        columns = line.split()
        if len(columns) != width + 1:
            columns = _with_spaced_word(columns, width, place, number)
        word = place.word(number, columns[0])
        if is_wanted(word, wanted):
            yield Row(number, word, numbers_of(columns[1:], place, number))


def numbers_of(columns: list[bytes], place: Place, number: int) -> bytes:
    """Return the numbers of a row as float32 bytes."""
    try:
        values = [float(column) for column in columns]
    except ValueError as error:
        culprit = next(column for column in columns if not is_number(column))
        raise place.fault(number, f"{culprit[:40].decode('utf-8', 'replace')!r} is not a number") from error
    # What is too large for float32 becomes infinite here, and is refused with the other numbers that are not finite.
    with np.errstate(over="ignore"):
        return np.array(values, dtype=np.float64).astype("<f4").tobytes()


def is_number(column: bytes) -> bool:
    """Say whether the column reads as a number, `nan` and `inf` included."""
    try:
        float(column)
    except ValueError:
        return False
    return True


def _with_spaced_word(columns: list[bytes], width: int, place: Place, number: int) -> list[bytes]:
    """Return the columns with the word's pieces joined: large GloVe files have words such as `. . .`."""
    num_pieces = len(columns) - width
    if num_pieces < 2 or any(is_number(piece) for piece in columns[1:num_pieces]):
        raise place.fault(number, f"{max(len(columns) - 1, 0)} numbers where the file has {width}")
    return [b" ".join(columns[:num_pieces]), *columns[num_pieces:]]
