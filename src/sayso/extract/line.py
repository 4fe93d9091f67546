"""Gathered sentences as compact lines (`readers.jsonl`): their pairs, and the shard and slice of each pair."""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from sayso.errors import BadInputError
from sayso.readers.base import BadLineError
from sayso.readers.jsonl import parse_compact
from sayso.records import Sentence

_PAIR = re.compile(r'\["(?:[^"\\]|\\.)*","(?:[^"\\]|\\.)*"')


def sentence_of(line: str) -> Sentence:
    """Return the sentence of a gathered line."""
    try:
        return parse_compact(line)
    except BadLineError as error:
        raise _damaged(line) from error


def by_pair(lines: Iterable[str]) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield (head id, tail id) with their lines, of lines that are sorted."""
    for key, group in groupby(lines, _pair_text):
        head_id, tail_id = json.loads(f"{key}]")
        yield (head_id, tail_id), list(group)


def pairs_of(lines: Iterable[str]) -> set[tuple[str, str]]:
    """Return the distinct (head id, tail id) of lines in any order."""
    return {(head_id, tail_id) for head_id, tail_id in (json.loads(f"{key}]") for key in set(map(_pair_text, lines)))}


def _pair_text(line: str) -> str:
    """Return the beginning of the line, with which all lines of the pair begin and no others."""
    found = _PAIR.match(line)
    if not found:
        raise _damaged(line)
    return found[0]


def _damaged(line: str) -> BadInputError:
    return BadInputError(f"a gathered sentence is damaged, {line[:40]!r}: start over with --overwrite")


def shard_of(head_id: str, tail_id: str, num_shards: int) -> int:
    """Return the shard of a pair: always the same, on any machine."""
    return zlib.crc32(f"{head_id}\t{tail_id}".encode()) % num_shards


class Slice(NamedTuple):
    """One of `num` slices of a shard, each with some of its pairs."""

    number: int
    num: int

    def lines(self, lines: Iterable[str]) -> list[str]:
        """Return those of the shard's lines that are in the slice."""
        return list(lines) if self.num == 1 else [line for line in lines if self._has(_pair_text(line))]

    def has(self, head_id: str, tail_id: str) -> bool:
        """Say whether a pair of the shard is in the slice."""
        return self.num == 1 or self._has(_written((head_id, tail_id))[:-1])

    def _has(self, pair: str) -> bool:
        # Another hash than the shard's, which all pairs of a shard share a part of.
        digest = hashlib.blake2b(pair.encode(), digest_size=8).digest()
        return int.from_bytes(digest) % self.num == self.number


def _written(record: tuple[object, ...]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))
