"""What an extraction is asked to do, and which of it must stay the same when it goes on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from sayso.config import SHARE, Range, check_ranges
from sayso.explain import RANKED_BY, mechanisms_named
from sayso.extract.threshold import ChosenThreshold
from sayso.readers.read import MAX_BAD_SHARE

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class ExtractSettings:
    """`threshold`: the probability from which a fact counts. `method`: the mechanism that ranks the evidence.

    `max_evidence`: sentences kept with a fact, the first in rank. `num_shards`: into how many the pairs are divided, 0
    to decide by the size of the corpus. `form`: of the sentences, `auto` to look at the first lines of each file.
    `device`: where each worker computes, `auto` for its GPU where it has one.
    `piece_bytes`: about how much of a file is read at one go, more where the corpus is very large.
    `slice_bytes`: about how much of a shard is judged at one go; a larger one is read slice by slice.
    `table_memory`: MiB for the tables that make prediction on CPU fast, in each worker.
    `chosen`: how the threshold was chosen, for the manifest; None where it was given.
    """

    threshold: Annotated[float, SHARE] = 0.5
    method: str = RANKED_BY[0]
    max_evidence: Annotated[int, Range(1, 100_000)] = 5
    num_shards: Annotated[int, Range(0, 65_536)] = 0
    form: str = "auto"
    piece_bytes: Annotated[int, Range(1, 2**40)] = 32 * 2**20
    slice_bytes: Annotated[int, Range(1, 2**40)] = 64 * 2**20
    table_memory: Annotated[int, Range(0, 2**20)] = 512
    max_bad_share: Annotated[float, SHARE] = MAX_BAD_SHARE
    device: str = "cpu"
    chosen: ChosenThreshold | None = None

    def __post_init__(self) -> None:
        check_ranges(self)
        mechanisms_named([self.method])

    def identity(self) -> dict[str, Any]:
        """Return what must be the same when an extraction goes on: all that a fact depends on."""
        return {"threshold": self.threshold, "method": self.method, "max_evidence": self.max_evidence}


@dataclass(frozen=True, kw_only=True)
class ExtractInputs:
    """A run (or a model), the sentences, and what is known about their entities.

    `corpus` is a file, a folder of shards, or a folder that `sayso build` made.
    """

    run: Path
    corpus: Path
    types: Path | None = None
    kb: Path | None = None
