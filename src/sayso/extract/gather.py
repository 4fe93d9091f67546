"""Sentences of a piece to the shards of their pairs: one file a piece, shard after shard, with an index.

A shard is then a stretch of every such file. There are as many files as pieces, not pieces times shards, and memory
holds one block of lines, however large the piece. Shapes: L blocks, K shards.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from sayso.atomic import atomic_file
from sayso.corpus import READERS
from sayso.corpus.base import BadLine, Line
from sayso.corpus.piece import Piece, PieceRecord, piece_digest
from sayso.extract.filed import line_of, shard_of

GATHERED = "gathered"
BLOCK_BYTES = 64 * 2**20
_NUM_BAD_SHOWN = 3


@dataclass(frozen=True)
class Gatherer:
    """Files the sentences of pieces; has no state, so any process may do it."""

    folder: Path
    num_shards: int

    def __call__(self, piece: Piece) -> PieceRecord:
        """Write the piece's files, its record last, and return the record."""
        tally = _Tally()
        lines, index, record = _files(self.folder, piece.number)
        with atomic_file(lines, "wb") as file:
            start_LK1 = [*self._blocks(piece, tally, file)]
        with atomic_file(index, "wb") as file:
            np.save(file, np.array(start_LK1, np.int64).reshape(-1, self.num_shards + 1))
        done = PieceRecord(piece, piece_digest(piece), tally.num_lines, tally.num_good, tally.num_bad, tally.first_bad)
        with atomic_file(record) as text:
            text.write(json.dumps(done._asdict()))
        return done

    def _blocks(self, piece: Piece, tally: "_Tally", file: BinaryIO) -> Iterator[list[int]]:
        """Write block after block and yield where in the file each shard's lines begin, and where the last ends."""
        shards: dict[int, list[bytes]] = {}
        num_bytes = position = 0
        for number, item in READERS[piece.form].read(tally.counted(piece.lines())):
            if isinstance(item, BadLine):
                tally.count_bad(number, item.reason)
                continue
            tally.num_good += 1
            line = f"{line_of(item)}\n".encode()
            shards.setdefault(shard_of(*item.pair, self.num_shards), []).append(line)
            num_bytes += len(line)
            if num_bytes >= BLOCK_BYTES:
                yield (starts := self._write(shards, file, position))
                shards, num_bytes, position = {}, 0, starts[-1]
        if shards:
            yield self._write(shards, file, position)

    def _write(self, shards: dict[int, list[bytes]], file: BinaryIO, position: int) -> list[int]:
        starts = [position]
        for shard in range(self.num_shards):
            block = b"".join(shards.get(shard, ()))
            file.write(block)
            starts.append(starts[-1] + len(block))
        return starts


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

    def count_bad(self, number: int, reason: str) -> None:
        self.num_bad += 1
        if len(self.first_bad) < _NUM_BAD_SHOWN:
            self.first_bad.append((number, reason))


class Stretch(NamedTuple):
    """Lines of one shard that stand together in a piece's file, from byte `start` up to `stop`."""

    file: Path
    start: int
    stop: int


def stretches_of(folder: Path, pieces: Iterable[int], shard: int) -> list[Stretch]:
    """Return where the lines of one shard stand that came from these pieces."""
    found: list[Stretch] = []
    for number in pieces:
        lines, index, _ = _files(folder, number)
        places = np.load(index, mmap_mode="r")[:, shard : shard + 2].tolist()
        found += [Stretch(lines, start, stop) for start, stop in places if start < stop]
    return found


def gathered_lines(stretches: Iterable[Stretch]) -> Iterator[str]:
    """Yield the lines, as they were read; memory holds those of one stretch, which is of one block."""
    for path, start, stop in stretches:
        with path.open("rb") as file:
            file.seek(start)
            yield from file.read(stop - start).decode().split("\n")[:-1]


def read_records(folder: Path) -> list[PieceRecord]:
    """Return the records of the pieces that are done, in order, up to the first that is missing."""
    records: list[PieceRecord] = []
    while (path := _files(folder, len(records))[2]).is_file():
        record = json.loads(path.read_text(encoding="utf-8"))
        record["first_bad"] = [(number, reason) for number, reason in record["first_bad"]]
        records.append(PieceRecord(**{**record, "piece": Piece(*record["piece"])}))
    return records


def remove_from(folder: Path, number: int) -> None:
    """Remove the files of pieces from this number on."""
    for path in (folder / GATHERED).glob("[0-9]*.*"):
        if int(path.name.partition(".")[0]) >= number:
            path.unlink()


def _files(folder: Path, number: int) -> tuple[Path, Path, Path]:
    """Return where a piece has its lines, their index and its record."""
    stem = f"{number:06d}"
    return tuple(folder / GATHERED / f"{stem}.{ending}" for ending in ("lines", "npy", "json"))  # type: ignore[return-value]
