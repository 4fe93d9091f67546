"""The settings and inputs of an extraction."""

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
    """How to extract facts.

    Attributes:
        threshold: The probability from which a fact is kept.
        method: The mechanism that ranks the evidence.
        max_evidence: How many sentences to keep with a fact, the first in rank.
        num_shards: Into how many shards to divide the pairs; 0 decides by the size of the corpus.
        form: The format of the sentences; `auto` looks at the first lines of each file.
        piece_bytes: About how much of a file to read at once, more if the corpus is very large.
        slice_bytes: About how much of a shard to predict at once.
        table_memory: MiB for the tables that make prediction on CPU fast, per worker.
        max_bad_share: The share of bad lines from which the corpus is refused.
        device: Where each worker computes; `auto` uses its GPU if it has one.
        chosen: How the threshold was chosen, for the manifest; None if it was given.
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
        """Return what a fact depends on, and so must be the same when an extraction resumes."""
        return {"threshold": self.threshold, "method": self.method, "max_evidence": self.max_evidence}


@dataclass(frozen=True, kw_only=True)
class ExtractInputs:
    """What to extract from.

    Attributes:
        run: A run or a model folder.
        corpus: A file of sentences, a folder of them, or a folder that `sayso build` made.
        types: A table of entity types, for entities that the model does not know.
        kb: A knowledge base to compare the facts with.
    """

    run: Path
    corpus: Path
    types: Path | None = None
    kb: Path | None = None
