"""A finished extraction as Python sees it: facts one by one, in order, from the shards on disk."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.dataframe import frame_of
from sayso.extract.compare import Known
from sayso.extract.shard import merged_facts, shard_file
from sayso.facts.fact import ExtractedFact, Status


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The facts of a folder, the most probable first; iterating reads them from disk and holds only a few.

    `known` is what they are compared with, None for nothing; `only` are the statuses that are wanted, empty for all.
    """

    folder: Path
    manifest: dict[str, Any]
    known: Known | None = None
    only: Collection[Status] = ()

    def __iter__(self) -> Iterator[ExtractedFact]:
        """Yield the facts."""
        files = [shard_file(self.folder, number) for number in range(self.manifest["num_shards"])]
        for fact in merged_facts(files):
            compared = self.known.compare(fact) if self.known else fact
            if not self.only or compared.status in self.only:
                yield compared

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each fact, evidence and support as they are in `to_dict`."""
        return frame_of(fact.to_dict() for fact in self)
