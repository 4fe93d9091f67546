"""Group the sentences of a corpus by the shard of their pair: one file of lines per piece, with an index.

A shard is a span of every such file, so there are as many files as pieces, and only one block of lines is in memory.
Unlike the temporary files of `DiskShuffle`, these stay: a killed run resumes with them, and later sentences are added.
The index has two layers of blocks and shards: where the lines start, and a checksum of every span; its last block
contains only a checksum of the index. Shapes: L blocks and one more, K shards and one more.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from sayso.errors import BadInputError
from sayso.io.atomic import atomic_file
from sayso.io.checksum import is_verifying
from sayso.io.json_file import JsonError, read_object, record_of, to_json
from sayso.readers import READERS
from sayso.readers.base import BadLine, BadLineError, Line
from sayso.readers.file_piece import FilePiece, PieceRecord, piece_digest
from sayso.readers.jsonl import parse_compact, write_compact
from sayso.records import Sentence
from sayso.store.block import SentenceBlock
from sayso.store.parallel import is_read_in_bulk, read_piece

GATHERED = "gathered"
BLOCK_BYTES = 64 * 2**20
_NUM_BAD_SHOWN = 3
_ADVICE = "start over with --overwrite"
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00.{2}\{'descr': '<i8', 'fortran_order': False, 'shape': \((\d+, \d+(?:, \d+)?)\), \} *",
    re.DOTALL,
)
"""The header of a numpy file with integers in two or three dimensions."""
_PAIR = re.compile(r'\["(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"')


@dataclass(frozen=True)
class Gatherer:
    """Writes the sentences of a piece to its files; stateless, so any process can run it."""

    folder: Path
    num_shards: int

    def __call__(self, piece: FilePiece) -> PieceRecord:
        """Write the piece's files, its record last, and return the record."""
        tally = _Tally()
        lines, index, record = _files(self.folder, piece.number)
        with atomic_file(lines, "wb") as file:
            blocks = [*self._blocks(piece, tally, file)]
        with atomic_file(index, "wb") as file:
            index_2LK = np.stack([*blocks, np.zeros((2, self.num_shards + 1), np.int64)], axis=1)
            index_2LK[1, -1, -1] = zlib.crc32(index_2LK.tobytes())
            np.save(file, index_2LK)
        done = PieceRecord(piece, piece_digest(piece), tally.num_lines, tally.num_good, tally.num_bad, tally.first_bad)
        with atomic_file(record) as text:
            text.write(to_json(done._asdict() | {"piece": piece._asdict()}))
        return done

    def _blocks(self, piece: FilePiece, tally: "_Tally", file: IO[bytes]) -> Iterator[np.ndarray]:
        """Write the piece block by block, and yield the index of each block, as returned by `_write`."""
        shards: dict[int, list[bytes]] = {}
        num_bytes = position = 0
        for head_id, tail_id, text in _in_bulk(piece, tally) if is_read_in_bulk(piece) else _one_by_one(piece, tally):
            tally.num_good += 1
            line = f"{text}\n".encode()
            shards.setdefault(shard_of(head_id, tail_id, self.num_shards), []).append(line)
            num_bytes += len(line)
            if num_bytes >= BLOCK_BYTES:
                yield (block := self._write(shards, file, position))
                shards, num_bytes, position = {}, 0, int(block[0, -1])
        if shards:
            yield self._write(shards, file, position)

    def _write(self, shards: dict[int, list[bytes]], file: IO[bytes], position: int) -> np.ndarray:
        """Write a block; return two rows: where each shard's lines start (and the last end), and their checksums."""
        index_2K = np.zeros((2, self.num_shards + 1), np.int64)
        index_2K[0, 0] = position
        for shard in range(self.num_shards):
            lines = b"".join(shards.get(shard, ()))
            file.write(lines)
            index_2K[0, shard + 1] = index_2K[0, shard] + len(lines)
            index_2K[1, shard] = zlib.crc32(lines)
        return index_2K


@dataclass
class _Tally:
    num_lines: int = 0
    num_good: int = 0
    num_bad: int = 0
    first_bad: list[tuple[int, str]] = field(default_factory=list)

    def counted(self, lines: Iterable[Line]) -> Iterator[Line]:
        for line in lines:
            self.num_lines += 1
            yield line

    def count_lines(self, num: int) -> None:
        self.num_lines += num

    def count_bad(self, number: int, reason: str) -> None:
        self.num_bad += 1
        if len(self.first_bad) < _NUM_BAD_SHOWN:
            self.first_bad.append((number, reason))


def _one_by_one(piece: FilePiece, tally: _Tally) -> Iterator[tuple[str, str, str]]:
    """Yield head id, tail id and compact line of each sentence of a piece."""
    for number, item in READERS[piece.form].read(tally.counted(piece.lines())):
        if isinstance(item, BadLine):
            tally.count_bad(number, item.reason)
        else:
            yield *item.pair, write_compact(item)


def _in_bulk(piece: FilePiece, tally: _Tally) -> Iterator[tuple[str, str, str]]:
    """Yield the same as `_one_by_one`."""
    for item in read_piece(piece, None, tally.count_bad, tally.count_lines):
        if isinstance(item, SentenceBlock):
            yield from item.compact_lines()
        else:
            yield *item.pair, write_compact(item)


class LineSpan(NamedTuple):
    """Lines of one shard in a piece's file, from byte `start` to `stop`, and their checksum."""

    file: Path
    start: int
    stop: int
    crc32: int | None = None


def spans_of_shard(folder: Path, pieces: Iterable[int], shard: int) -> list[LineSpan]:
    """Return the spans of a shard's lines in these pieces."""
    found: list[LineSpan] = []
    for number in pieces:
        lines, path, _ = _files(folder, number)
        start_LK1, sum_LK = _read_index(path)
        if not 0 <= shard < start_LK1.shape[1] - 1:
            raise BadInputError(
                f"{path}: shard {shard} does not exist, only {start_LK1.shape[1] - 1:,} shards: {_ADVICE}"
            )
        bounds = start_LK1[:, shard : shard + 2].tolist()
        sums = [None] * len(bounds) if sum_LK is None else sum_LK[:, shard].tolist()
        found += [
            LineSpan(lines, start, stop, crc) for (start, stop), crc in zip(bounds, sums, strict=True) if start < stop
        ]
    return found


def refuse_other_division(folder: Path, num_pieces: int, num_shards: int) -> None:
    """Raise `BadInputError` if the number of shards of a piece does not match the manifest."""
    for number in range(num_pieces):
        path = _files(folder, number)[1]
        found = _read_index(path)[0].shape[1] - 1
        if found != num_shards:
            raise BadInputError(
                f"{path}: divided into {found:,} shards, but the manifest says {num_shards:,}: {_ADVICE}"
            )


def _read_index(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the starts of the shards' lines and their checksums (None if written by 0.1, which had none)."""
    try:
        header, _, data = path.read_bytes().partition(b"\n")
        # Not np.load: on a damaged header it raises almost any exception.
        found = _HEADER.fullmatch(header)
        if not found:
            raise ValueError("unknown header")
        index = np.frombuffer(data, "<i8").reshape([int(number) for number in found[1].split(b",")]).copy()
        if index.ndim == 3 and len(index) != 2:
            raise ValueError("unknown shape")
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: not a valid index of gathered lines ({error}): {_ADVICE}") from None
    if index.ndim == 2:
        return index, None
    stored, index[1, -1, -1] = int(index[1, -1, -1]), 0
    if is_verifying() and stored != zlib.crc32(index.tobytes()):
        raise BadInputError(f"{path}: damaged or changed since it was written (the checksum differs): {_ADVICE}")
    return index[0, :-1], index[1, :-1]


def gathered_lines(spans: Iterable[LineSpan]) -> Iterator[str]:
    """Yield the lines of spans; only one span, which is part of one block, is in memory."""
    for path, start, stop, crc32 in spans:
        try:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(stop - start)
            if len(data) < stop - start or (crc32 is not None and is_verifying() and crc32 != zlib.crc32(data)):
                raise ValueError("the checksum differs")
            lines = data.decode().split("\n")
        except (OSError, ValueError) as error:
            raise BadInputError(f"{path}: not a valid file of gathered lines ({error}): {_ADVICE}") from None
        yield from lines[:-1]


def read_records(folder: Path) -> list[PieceRecord]:
    """Return the records of the finished pieces in order, up to the first missing one."""
    records: list[PieceRecord] = []
    while (path := _files(folder, len(records))[2]).is_file():
        record = read_object(path, "piece record", _ADVICE)
        if isinstance(piece := record.get("piece"), list):  # written by 0.1, before there were checksums
            record["piece"] = dict(zip(FilePiece._fields, piece, strict=False))
        try:
            records.append(record_of(PieceRecord, record))
        except JsonError as error:
            raise BadInputError(f"{path}: not a valid piece record ({error}): {_ADVICE}") from None
        if records[-1].piece.number != len(records) - 1:
            raise BadInputError(
                f"{path}: this is the record of a different piece, {records[-1].piece.number}: {_ADVICE}"
            )
    return records


def remove_from(folder: Path, number: int) -> None:
    """Remove the files of pieces with this number or a higher one."""
    for path in (folder / GATHERED).glob("[0-9]*.*"):
        if int(path.name.partition(".")[0]) >= number:
            path.unlink()


def _files(folder: Path, number: int) -> tuple[Path, Path, Path]:
    """Return the paths of a piece's lines, index and record."""
    stem = folder / GATHERED / f"{number:06d}"
    return stem.with_suffix(".lines"), stem.with_suffix(".npy"), stem.with_suffix(".json")


def shard_of(head_id: str, tail_id: str, num_shards: int) -> int:
    """Return the shard of a pair, the same on every machine."""
    return zlib.crc32(f"{head_id}\t{tail_id}".encode()) % num_shards


class ShardSlice(NamedTuple):
    """One of `num` slices of a shard, each with some of its pairs."""

    number: int
    num: int

    def lines(self, lines: Iterable[str]) -> list[str]:
        """Return the lines that are in the slice."""
        return list(lines) if self.num == 1 else [line for line in lines if self._has(_pair_text(line))]

    def has(self, head_id: str, tail_id: str) -> bool:
        """Return whether a pair of the shard is in the slice."""
        if self.num == 1:
            return True
        return self._has(json.dumps((head_id, tail_id), ensure_ascii=False, separators=(",", ":"))[:-1])

    def _has(self, pair: str) -> bool:
        # Not the hash of `shard_of`: within a shard its values are not spread evenly.
        digest = hashlib.blake2b(pair.encode(), digest_size=8).digest()
        return int.from_bytes(digest) % self.num == self.number


def by_pair(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield each (head id, tail id) with its lines, given sorted lines."""
    for pair, group in groupby(lines, _pair_text):
        head_id, tail_id = json.loads(f"{pair}]")
        yield (head_id, tail_id), list(group)


def pairs_of(lines: Iterable[str]) -> set[tuple[str, str]]:
    """Return the distinct (head id, tail id) pairs of lines in any order."""
    return {(head_id, tail_id) for head_id, tail_id in (json.loads(f"{pair}]") for pair in set(map(_pair_text, lines)))}


def _pair_text(line: str) -> str:
    """Return the prefix of all lines of this pair, which no other line starts with."""
    if found := _PAIR.match(line):
        return found[0]
    raise _damaged(line)


def sentence_of(line: str) -> Sentence:
    """Parse the sentence on a gathered line."""
    try:
        return parse_compact(line)
    except BadLineError as error:
        raise _damaged(line) from error


def _damaged(line: str) -> BadInputError:
    return BadInputError(f"damaged gathered sentence {line[:40]!r}: {_ADVICE}")
