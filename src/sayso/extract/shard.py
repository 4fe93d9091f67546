"""The facts of one shard of pairs: predicted, or kept from an earlier run if nothing has changed."""

import heapq
import os
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from sayso.errors import BadInputError
from sayso.extract.folder import ADVICE, SHARDS, read_types
from sayso.extract.gather import LineSpan, ShardSlice, by_pair, gathered_lines, pairs_of, spans_of_shard
from sayso.extract.predict import FactPredictor, Origin
from sayso.extract.settings import ExtractSettings
from sayso.facts.fact import ExtractedFact
from sayso.facts.file import fact_at
from sayso.input_file import note_old_format
from sayso.io.atomic import atomic_file
from sayso.io.checksum import is_verifying
from sayso.io.json_file import JsonError, from_json, record_of, to_json
from sayso.model.ensemble import load_parts
from sayso.train.device import place

SENTENCES_AT_A_TIME = 20_000
_LAST_LINE = '{"checksum": "crc32:'
_LAST_BYTES = len(_LAST_LINE) + len('01234567"}\n')
_MOST_BYTES = 2**20
_MOST_OPEN = 256
"""Maximum number of open files; operating systems allow a process about a thousand."""


class ShardRecord(NamedTuple):
    """The first line of a shard's file: how much of the corpus it covers, and counts from the run that wrote it.

    It covers `num_pieces` pieces, with version `types` of the entity types. The run predicted `num_predicted` of the
    pairs; repeated sentences, those with mentions too far apart and those too long for the model are counted for
    these pairs only.
    """

    number: int
    num_pieces: int
    types: int
    num_pairs: int
    num_sentences: int
    num_facts: int
    num_predicted: int
    num_repeated: int
    num_too_far_apart: int
    num_cut: int = 0


class _ShardWork(NamedTuple):
    """A shard's lines from the last run, its new lines, its earlier facts, and entities whose types changed."""

    old: Sequence[LineSpan]
    new: Sequence[LineSpan]
    earlier: Path | None
    retyped: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class ShardPredictor:
    """Predicts the shards of a folder; each worker loads the model once, on first use."""

    folder: Path
    run: Path
    origin: Origin
    settings: ExtractSettings
    num_pieces: int
    types: int

    def __call__(self, number: int) -> ShardRecord:
        """Write the shard's file and return its record; unchanged pairs keep their facts."""
        path = shard_file(self.folder, number)
        before = read_shard_record(path)
        num_done = before.num_pieces if before else 0
        old = spans_of_shard(self.folder, range(num_done), number)
        new = spans_of_shard(self.folder, range(num_done, self.num_pieces), number)
        retyped = self._retyped(before.types) if before else frozenset()
        work = _ShardWork(old, new, path if before else None, retyped)
        num_slices = 1 + sum(each.stop - each.start for each in (*old, *new)) // self.settings.slice_bytes
        counts, files = Counter[str](), list[Path]()
        with tempfile.TemporaryDirectory(prefix="sayso-") as name:
            for each in range(num_slices):
                facts, counted = self._slice(work, each, num_slices)
                counts.update(counted)
                if num_slices > 1:
                    files.append(Path(name) / str(each))
                    write_facts(files[-1], None, facts)
            record = ShardRecord(number=number, num_pieces=self.num_pieces, types=self.types, **counts)
            write_facts(path, record, merged_facts(files) if files else facts)
        return record

    def _slice(self, work: _ShardWork, number: int, num_slices: int) -> tuple[list[ExtractedFact], dict[str, int]]:
        """Return the facts of one slice of the shard in order, and the counts for the shard's record."""
        some = ShardSlice(number, num_slices)
        new = some.lines(gathered_lines(work.new))
        new_pairs = pairs_of(new) if work.earlier else None

        def has_changed(head_id: str, tail_id: str) -> bool:
            is_new = new_pairs is None or (head_id, tail_id) in new_pairs
            return is_new or head_id in work.retyped or tail_id in work.retyped

        earlier = read_facts(work.earlier) if work.earlier else ()
        unchanged = (fact for fact in earlier if not has_changed(fact.head_id, fact.tail_id))
        facts = [fact for fact in unchanged if some.has(fact.head_id, fact.tail_id)]
        lines = sorted([*some.lines(gathered_lines(work.old)), *new])
        pairs = list(by_pair(lines))
        changed = [lines for pair, lines in pairs if has_changed(*pair)]
        found = [self._predictor.find_in_lines(some) for some in _batches(changed)]
        facts += chain.from_iterable(each.facts for each in found)
        return sorted(facts, key=lambda fact: fact.sort_key), {
            "num_pairs": len(pairs),
            "num_sentences": len(lines),
            "num_facts": len(facts),
            "num_predicted": len(changed),
            "num_repeated": sum(each.num_repeated for each in found),
            "num_too_far_apart": sum(each.num_too_far_apart for each in found),
            "num_cut": sum(each.num_cut for each in found),
        }

    def is_done(self, record: ShardRecord | None) -> bool:
        """Return whether a shard with this record covers the whole corpus with the current types."""
        return record is not None and (record.num_pieces, record.types) == (self.num_pieces, self.types)

    @cached_property
    def _predictor(self) -> FactPredictor:
        parts = load_parts(self.run)
        place(parts.extractor, self.settings.device, self.settings.quantize)
        parts.extractor.limit_products(self.settings.table_memory * 2**20)
        types = read_types(self.folder, self.types)
        return FactPredictor(model=parts, settings=self.settings, origin=self.origin, types=types)

    def _retyped(self, before: int) -> frozenset[str]:
        """Return the entities whose types differ from the earlier version."""
        if before == self.types or self._predictor.model.lexicon.mentions == "words":
            return frozenset()
        then, now = read_types(self.folder, before), self._predictor.types
        return frozenset(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))


def shard_file(folder: Path, number: int) -> Path:
    """Return the path of a shard's facts."""
    return folder / SHARDS / f"{number:06d}.jsonl"


def read_shard_record(path: Path) -> ShardRecord | None:
    """Return the record on the first line of a shard's file, None if the file does not exist."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        line = file.readline(_MOST_BYTES)
    try:
        found = from_json(line)
        if isinstance(found, dict) and "num_judged" in found:
            note_old_format(path.parent.parent, "'num_judged' is called 'num_predicted' now")
            found["num_predicted"] = found.pop("num_judged")
        record = record_of(ShardRecord, found)
    except JsonError as error:
        raise BadInputError(f"{path}: not a valid file of facts ({error}): {ADVICE}") from None
    if min(record) < 0 or f"{record.number:06d}" != path.stem:
        raise BadInputError(f"{path}: contains the facts of a different shard, or is damaged: {ADVICE}")
    return record


def read_facts(path: Path) -> Iterator[ExtractedFact]:
    """Yield the facts in a shard's file, most probable first."""
    if is_verifying():
        _refuse_damaged(path)
    with path.open(encoding="utf-8", newline="\n") as file:
        next(file)
        for number, line in enumerate(file, 2):
            if line.startswith(_LAST_LINE):
                return
            yield fact_at(path, number, line.removesuffix("\n"))


def write_facts(path: Path, record: ShardRecord | None, facts: Iterable[ExtractedFact]) -> None:
    """Write the record, the facts and a checksum of these lines, atomically."""
    crc = 0
    with atomic_file(path, "wb") as file:
        for line in chain([to_json(record._asdict()) if record else "null"], (fact.to_json() for fact in facts)):
            data = f"{line}\n".encode()
            crc = zlib.crc32(data, crc)
            file.write(data)
        file.write(f'{_LAST_LINE}{crc:08x}"}}\n'.encode())


def _refuse_damaged(path: Path) -> None:
    """Raise `BadInputError` if the lines do not match the checksum on the last line."""
    with path.open("rb") as file:
        is_sealed = _LAST_LINE.encode()[-7:] in file.readline(_MOST_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST_BYTES))
        last = re.fullmatch(rb'\{"checksum": "crc32:([0-9a-f]{8})"\}\n', file.read())
        if not last and not is_sealed:
            return  # written by 0.1, before there were checksums
        file.seek(0)
        left, crc = size - _LAST_BYTES, 0
        while left > 0 and (block := file.read(min(left, 2**20))):
            crc, left = zlib.crc32(block, crc), left - len(block)
    if not last or int(last[1], 16) != crc:
        raise BadInputError(f"{path}: damaged or changed since it was written (the checksum differs): {ADVICE}")


def merged_facts(files: Sequence[Path]) -> Iterator[ExtractedFact]:
    """Yield the facts of sorted files in order; if there are too many files to open at once, merge them in rounds."""
    if len(files) <= _MOST_OPEN:
        yield from heapq.merge(*map(read_facts, files), key=lambda fact: fact.sort_key)
        return
    with tempfile.TemporaryDirectory(prefix="sayso-") as name:
        merged = []
        for first in range(0, len(files), _MOST_OPEN):
            merged.append(Path(name) / str(first))
            write_facts(merged[-1], None, merged_facts(files[first : first + _MOST_OPEN]))
        yield from merged_facts(merged)


def _batches(pairs: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield the lines of the pairs in lists that fit into memory."""
    some: list[Sequence[str]] = []
    num_sentences = 0
    for lines in pairs:
        some.append(lines)
        num_sentences += len(lines)
        if num_sentences >= SENTENCES_AT_A_TIME:
            yield some
            some, num_sentences = [], 0
    if some:
        yield some
