"""Pretrained vectors for the words and the entities of a corpus.

Corpora join the words of a name (`el_paso`), but vector files seldom contain the joined form. Such a word gets the mean
of its parts' vectors, ignoring parts without one. Entity vectors come as OpenKE's pair of files (also used by ERNIE)
or as a word2vec file with entity ids as words.
Shapes: V words of the vocabulary, D width of a vector.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sayso.embeddings.word2vec import MAX_WIDTH, VectorFile, is_number, numbers_of, read_word_vectors
from sayso.errors import BadInputError
from sayso.input_file import refuse_pipe
from sayso.readers.files import first_of, parse_lines, read_lines

_ID_FILE = "entity2id.txt"


class VectorKind(IntEnum):
    """Where a word's vector comes from; NONE is a row of zeros."""

    NONE = 0
    OWN = 1
    PARTS = 2


def vectors_for(words: Sequence[str], path: Path) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return vectors [V, D] and `VectorKind`s [V] for the words, in one pass over a word vector file."""
    wanted = set(words).union(*(parts_of(word) for word in words if "_" in word))
    found = read_word_vectors(path, wanted)
    row_of = {word: row for row, word in enumerate(found.words)}
    matrix_VD = np.zeros((len(words), found.width), dtype=np.float32)
    kind_V = np.zeros(len(words), dtype=np.uint8)
    for index, word in enumerate(words):
        if (row := row_of.get(word)) is not None:
            matrix_VD[index], kind_V[index] = found.matrix[row], VectorKind.OWN
        elif (mean_D := parts_mean(word, row_of, found.matrix)) is not None:
            matrix_VD[index], kind_V[index] = mean_D, VectorKind.PARTS
    return matrix_VD, kind_V


def parts_of(word: str) -> list[str]:
    """Return the parts of a joined name; an empty list for other words.

    >>> parts_of("el_paso"), parts_of("paso"), parts_of("_")
    (['el', 'paso'], [], [])
    """
    return [part for part in word.split("_") if part] if "_" in word else []


def parts_mean(word: str, row_of: Mapping[str, int], matrix: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the mean vector of a joined name's parts, ignoring parts without one; None if no part has one."""
    rows = [row_of[part] for part in parts_of(word) if part in row_of]
    return matrix[rows].mean(axis=0) if rows else None


def measure_coverage(kind_V: NDArray[np.uint8], count_V: NDArray[np.int64]) -> dict[str, int]:
    """Return the numbers of words and of tokens with each kind of vector, given each word's number of occurrences.

    >>> measure_coverage(np.array([VectorKind.OWN, VectorKind.PARTS]), np.array([90, 9]))["own_tokens"]
    90
    """
    order = (VectorKind.OWN, VectorKind.PARTS, VectorKind.NONE)
    words = {f"{kind.name.lower()}_words": int((kind_V == kind).sum()) for kind in order}
    return words | {f"{kind.name.lower()}_tokens": int(count_V[kind_V == kind].sum()) for kind in order}


def read_entity_vectors(path: Path, wanted: Collection[str] | None = None) -> tuple[list[str], NDArray[np.float32]]:
    """Return entity ids and their vectors (one row per id), for all entities or only those in `wanted`.

    A file that contains only tab-separated numbers is read as OpenKE's `entity2vec.vec`, whose ids are in
    `entity2id.txt` in the same folder. Anything else is read as word vectors: text or binary, plain or gzip.
    """
    refuse_pipe(path, "entity vectors are")
    if not _is_numbers_only(path):
        vectors = read_word_vectors(path, wanted)
        return vectors.words, vectors.matrix
    ids = path.with_name(_ID_FILE)
    if not ids.is_file():
        raise BadInputError(f"{path}: numbers without entity ids; expected {_ID_FILE} in the same folder")
    id_of_row = _read_ids(ids)
    return _read_rows(path, id_of_row, wanted)


def _is_numbers_only(path: Path) -> bool:
    first, _ = first_of(read_lines(path))
    if "\t" not in first.strip():
        return False
    columns = first.encode().split()
    # Two integers are the header of a word2vec file.
    is_header = len(columns) == 2 and all(column.isdigit() for column in columns)
    return not is_header and all(is_number(column) for column in columns)


def _read_ids(path: Path) -> dict[int, str]:
    """Return the entity id of each row, from a file whose first line is the number of entities."""
    file, lines = VectorFile(path), parse_lines(path, "entities", str.split)
    number, first = next(lines)
    if len(first) != 1 or not _is_count(first[0]):
        raise file.fault(number, f"expected the number of entities, got {' '.join(first)[:40]!r}")
    id_of_row: dict[int, str] = {}
    for number, columns in lines:
        if len(columns) != 2 or not _is_count(columns[1]):
            raise file.fault(number, f"expected an entity id and its row, got {' '.join(columns)[:40]!r}")
        entity_id, row = columns[0], int(columns[1])
        if row in id_of_row:
            raise file.fault(number, f"row {row} already belongs to {id_of_row[row]}")
        id_of_row[row] = entity_id
    if len(set(id_of_row.values())) != len(id_of_row):
        raise BadInputError(f"{path}: an entity id has two rows")
    if len(id_of_row) != int(first[0]):
        raise BadInputError(f"{path}:1: declares {int(first[0]):,} entities, but the file lists {len(id_of_row):,}")
    return id_of_row


def _read_rows(
    path: Path, id_of_row: dict[int, str], wanted: Collection[str] | None
) -> tuple[list[str], NDArray[np.float32]]:
    file, width, row = VectorFile(path), 0, -1
    ids: list[str] = []
    kept = bytearray()
    for row, (number, columns) in enumerate(parse_lines(path, "vectors", lambda line: line.encode().split())):
        width = width or len(columns)
        if width > MAX_WIDTH:
            raise file.fault(number, f"expected at most {MAX_WIDTH:,} numbers, got {width:,}")
        if len(columns) != width:
            raise file.fault(number, f"expected {width} numbers, got {len(columns)}")
        if row not in id_of_row:
            raise file.fault(number, f"no entity in {_ID_FILE} has row {row}")
        if wanted is None or id_of_row[row] in wanted:
            vector = numbers_of(columns, file, number)
            if not np.isfinite(np.frombuffer(vector, "<f4")).all():
                raise file.fault(number, "a number is not finite (nan or inf)")
            ids.append(id_of_row[row])
            kept += vector
    if row + 1 != len(id_of_row):
        raise BadInputError(f"{path}: expected {len(id_of_row):,} rows, one per entity in {_ID_FILE}, got {row + 1:,}")
    return ids, np.frombuffer(kept, "<f4").reshape(-1, width).astype(np.float32, copy=False)


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) < 19
