"""The facts of one shard of pairs: predicted, or kept from an earlier run where nothing has changed."""

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
from sayso.extract.gather import Stretch, gathered_lines, stretches_of
from sayso.extract.line import Slice, by_pair, pairs_of, sentence_of
from sayso.extract.predict import Judge, Judged, Origin
from sayso.extract.settings import ExtractSettings
from sayso.facts.fact import ExtractedFact
from sayso.facts.file import fact_at
from sayso.io.atomic import atomic_file
from sayso.io.checksum import is_verifying
from sayso.io.json_file import JsonError, from_json, read_object, record_of, to_json
from sayso.model.checkpoint import load_model
from sayso.readers.entity_type import EntityTypes, read_entity_types
from sayso.records import Bag
from sayso.train.device import choose_device

SHARDS, TYPES = "shards", "types"
SENTENCES_AT_A_TIME = 20_000
_ADVICE = "start over with --overwrite"
_LAST_LINE = '{"checksum": "crc32:'
_LAST_BYTES = len(_LAST_LINE) + len('01234567"}\n')
_MOST_BYTES = 2**20
_MOST_OPEN = 256
"""Files; operating systems allow a process some thousand."""


class ShardRecord(NamedTuple):
    """The first line of a shard's file: how much of the corpus it has seen, and what the run that wrote it did.

    `num_pieces` pieces are in it, and the types of version `types`. That run predicted `num_judged` of the pairs; the
    repeated sentences and those whose mentions are too far apart are counted of those alone.
    """

    number: int
    num_pieces: int
    types: int
    num_pairs: int
    num_sentences: int
    num_facts: int
    num_judged: int
    num_repeated: int
    num_too_far_apart: int


class KeptTypes(NamedTuple):
    """The types that an extraction used, as the folder keeps them."""

    types: dict[str, list[str]]


class _Change(NamedTuple):
    """Pairs with new sentences, and entities whose types are others than before."""

    pairs: set[tuple[str, str]]
    entity_ids: frozenset[str]

    def touches(self, head_id: str, tail_id: str) -> bool:
        return (head_id, tail_id) in self.pairs or head_id in self.entity_ids or tail_id in self.entity_ids


class _Work(NamedTuple):
    """What there is of a shard: its lines as of the last run and new ones, the earlier facts, entities of new types."""

    old: Sequence[Stretch]
    new: Sequence[Stretch]
    earlier: Path | None
    retyped: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class ShardJudge:
    """Judges shards of a folder; the model is loaded when it is first needed and then stays, in each worker its own."""

    folder: Path
    run: Path
    origin: Origin
    settings: ExtractSettings
    num_pieces: int
    types: int

    def __call__(self, number: int) -> ShardRecord:
        """Write the shard's file and return its first line; pairs in which nothing has changed keep their facts."""
        path = shard_file(self.folder, number)
        before = read_record(path)
        num_done = before.num_pieces if before else 0
        old = stretches_of(self.folder, range(num_done), number)
        new = stretches_of(self.folder, range(num_done, self.num_pieces), number)
        work = _Work(old, new, path if before else None, self._retyped(before.types) if before else frozenset())
        num_slices = 1 + sum(each.stop - each.start for each in (*old, *new)) // self.settings.slice_bytes
        counts, files = Counter[str](), list[Path]()
        with tempfile.TemporaryDirectory(prefix="sayso-") as name:
            for each in range(num_slices):
                facts, counted = self._judged(work, Slice(each, num_slices))
                counts.update(counted)
                if num_slices > 1:
                    files.append(Path(name) / str(each))
                    write_facts(files[-1], None, facts)
            record = ShardRecord(number=number, num_pieces=self.num_pieces, types=self.types, **counts)
            write_facts(path, record, merged_facts(files) if files else facts)
        return record

    def _judged(self, work: _Work, some: Slice) -> tuple[list[ExtractedFact], dict[str, int]]:
        """Return the facts of a slice, in order, and what a record counts of it."""
        new = some.lines(gathered_lines(work.new))
        lines = sorted([*some.lines(gathered_lines(work.old)), *new])
        change = _Change(pairs_of(new), work.retyped)
        earlier = read_facts(work.earlier) if work.earlier else ()
        kept = (fact for fact in earlier if not change.touches(fact.head_id, fact.tail_id))
        judged = Judged([fact for fact in kept if some.has(fact.head_id, fact.tail_id)])
        pairs = list(by_pair(lines))
        touched = [found for pair, found in pairs if change.touches(*pair)]
        for bags in _portions(touched):
            judged.add(self._judge.judge(bags))
        return sorted(judged.facts, key=lambda fact: fact.sort_key), {
            "num_pairs": len(pairs),
            "num_sentences": len(lines),
            "num_facts": len(judged.facts),
            "num_judged": len(touched),
            "num_repeated": judged.num_repeated,
            "num_too_far_apart": judged.num_too_far_apart,
        }

    def is_done(self, record: ShardRecord | None) -> bool:
        """Say whether a shard with this first line has all that there is."""
        return record is not None and (record.num_pieces, record.types) == (self.num_pieces, self.types)

    @cached_property
    def _judge(self) -> Judge:
        parts = load_model(self.run)
        parts.extractor.to(choose_device(self.settings.device))
        parts.extractor.limit_products(self.settings.table_memory * 2**20)
        types = read_types(self.folder, self.types)
        return Judge(model=parts, settings=self.settings, origin=self.origin, types=types)

    def _retyped(self, before: int) -> frozenset[str]:
        """Return the entities whose types are not those of the earlier version."""
        if before == self.types or self._judge.model.lexicon.mentions == "words":
            return frozenset()
        then, now = read_types(self.folder, before), self._judge.types
        return frozenset(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))


def shard_file(folder: Path, number: int) -> Path:
    """Return where a shard has its facts."""
    return folder / SHARDS / f"{number:06d}.jsonl"


def read_record(path: Path) -> ShardRecord | None:
    """Return the first line of a shard's file, None where there is no file yet."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        line = file.readline(_MOST_BYTES)
    try:
        record = record_of(ShardRecord, from_json(line))
    except JsonError as error:
        raise BadInputError(f"{path}: not the facts of a shard, or damaged ({error}): {_ADVICE}") from None
    if min(record) < 0 or f"{record.number:06d}" != path.stem:
        raise BadInputError(f"{path}: the facts of another shard, or damaged: {_ADVICE}")
    return record


def read_facts(path: Path) -> Iterator[ExtractedFact]:
    """Yield the facts of a shard's file, the most probable first."""
    if is_verifying():
        _refuse_damaged(path)
    with path.open(encoding="utf-8", newline="\n") as file:
        next(file)
        for number, line in enumerate(file, 2):
            if line.startswith(_LAST_LINE):
                return
            yield fact_at(path, number, line.removesuffix("\n"))


def write_facts(path: Path, record: ShardRecord | None, facts: Iterable[ExtractedFact]) -> None:
    """Write facts behind a first line and before the checksum of all lines, whole or not at all."""
    crc = 0
    with atomic_file(path, "wb") as file:
        for line in chain([to_json(record._asdict()) if record else "null"], (fact.to_json() for fact in facts)):
            data = f"{line}\n".encode()
            crc = zlib.crc32(data, crc)
            file.write(data)
        file.write(f'{_LAST_LINE}{crc:08x}"}}\n'.encode())


def _refuse_damaged(path: Path) -> None:
    """Raise `BadInputError` where the lines are not those that the last line has the checksum of."""
    with path.open("rb") as file:
        is_sealed = _LAST_LINE.encode()[-7:] in file.readline(_MOST_BYTES)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST_BYTES))
        last = re.fullmatch(rb'\{"checksum": "crc32:([0-9a-f]{8})"\}\n', file.read())
        if not last and not is_sealed:
            return  # from before there were checksums
        file.seek(0)
        left, crc = size - _LAST_BYTES, 0
        while left > 0 and (block := file.read(min(left, 2**20))):
            crc, left = zlib.crc32(block, crc), left - len(block)
    if not last or int(last[1], 16) != crc:
        raise BadInputError(f"{path}: damaged or changed since it was written (the checksum differs): {_ADVICE}")


def merged_facts(files: Sequence[Path]) -> Iterator[ExtractedFact]:
    """Yield the facts of sorted files in order; too many to be open at once are merged in two rounds."""
    if len(files) <= _MOST_OPEN:
        yield from heapq.merge(*map(read_facts, files), key=lambda fact: fact.sort_key)
        return
    with tempfile.TemporaryDirectory(prefix="sayso-") as name:
        merged = []
        for first in range(0, len(files), _MOST_OPEN):
            merged.append(Path(name) / str(first))
            write_facts(merged[-1], None, merged_facts(files[first : first + _MOST_OPEN]))
        yield from merged_facts(merged)


def types_file(folder: Path, version: int) -> Path:
    """Return where the folder keeps the types of a version; version 0 is no types."""
    return folder / TYPES / f"{version:03d}.json"


def read_types(folder: Path, version: int) -> EntityTypes:
    """Return the types of a version."""
    if not version:
        return {}
    path = types_file(folder, version)
    found = read_object(path, "the types of an extraction", _ADVICE)
    try:
        kept = record_of(KeptTypes, found).types
    except JsonError:
        return read_entity_types(path)  # as they were kept before there were checksums
    return {entity_id: tuple(names) for entity_id, names in kept.items()}


def _portions(touched: Sequence[Sequence[str]]) -> Iterator[list[Bag]]:
    """Yield the bags of the pairs' lines, as many at a time as should be in memory, at least one."""
    bags: list[Bag] = []
    num_sentences = 0
    for lines in touched:
        sentences = tuple(map(sentence_of, lines))
        bags.append(Bag(*sentences[0].pair, sentences))
        num_sentences += len(sentences)
        if num_sentences >= SENTENCES_AT_A_TIME:
            yield bags
            bags, num_sentences = [], 0
    if bags:
        yield bags
