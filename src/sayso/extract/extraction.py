"""A finished extraction as Python sees it: facts one by one, in order, from the shards on disk."""

import heapq
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.extract.compare import Known
from sayso.extract.shard import read_facts, shard_file, write_facts
from sayso.frame import frame_of
from sayso.provenance.found import FoundFact, Status

_MOST_OPEN = 256
"""Files; operating systems allow a process some thousand."""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The facts of a folder, the most probable first; iterating reads them from disk and holds only a few.

    `known` is what they are compared with, None for nothing; `only` are the statuses that are wanted, empty for all.
    """

    folder: Path
    manifest: dict[str, Any]
    known: Known | None = None
    only: Collection[Status] = ()

    def __iter__(self) -> Iterator[FoundFact]:
        """Yield the facts."""
        files = [shard_file(self.folder, number) for number in range(self.manifest["num_shards"])]
        for fact in _merged(files):
            compared = self.known.compare(fact) if self.known else fact
            if not self.only or compared.status in self.only:
                yield compared

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each fact, evidence and verdict as they are in `to_dict`."""
        return frame_of(fact.to_dict() for fact in self)


def _merged(files: Sequence[Path]) -> Iterator[FoundFact]:
    """Yield the facts of sorted files in order; too many to be open at once are merged in two rounds."""
    if len(files) <= _MOST_OPEN:
        yield from heapq.merge(*map(read_facts, files), key=lambda fact: fact.sort_key)
        return
    with tempfile.TemporaryDirectory(prefix="sayso-") as name:
        merged = []
        for first in range(0, len(files), _MOST_OPEN):
            merged.append(Path(name) / str(first))
            write_facts(merged[-1], None, _merged(files[first : first + _MOST_OPEN]))
        yield from _merged(merged)
