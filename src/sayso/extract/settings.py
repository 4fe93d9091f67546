"""What an extraction is asked to do, and which of it must stay the same when it goes on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sayso.corpus.read import MAX_BAD_SHARE
from sayso.errors import BadConfigError
from sayso.evaluate.mechanism import RANKED_BY, mechanisms_named

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
    """

    threshold: float = 0.5
    method: str = RANKED_BY[0]
    max_evidence: int = 5
    num_shards: int = 0
    form: str = "auto"
    piece_bytes: int = 32 * 2**20
    slice_bytes: int = 64 * 2**20
    table_memory: int = 512
    max_bad_share: float = MAX_BAD_SHARE
    device: str = "cpu"

    def __post_init__(self) -> None:
        mechanisms_named([self.method])
        if not 0 <= self.threshold <= 1:
            raise BadConfigError(f"the threshold is {self.threshold}; it must lie between 0 and 1")
        if self.max_evidence < 1:
            raise BadConfigError(f"max_evidence is {self.max_evidence}; a fact keeps at least one sentence")

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
