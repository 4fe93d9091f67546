"""The settings and inputs of an extraction."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from sayso.config import SHARE, Range, check_ranges
from sayso.explain import RANKED_BY, mechanisms_named
from sayso.extract.new_facts import NewFactThresholds
from sayso.extract.threshold import ChosenThreshold
from sayso.readers.read import MAX_BAD_SHARE
from sayso.records import Relation

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class ExtractSettings:
    """Settings of an extraction.

    Attributes:
        threshold: The minimum probability of a fact.
        method: The mechanism that ranks the evidence.
        max_evidence: How many top-ranked sentences to keep per fact.
        num_shards: The number of shards to divide the pairs into; 0 chooses one by the size of the corpus.
        form: The format of the sentences; `auto` detects it from the first lines of each file.
        piece_bytes: Approximate size of the piece of a file to read at once; larger for very large corpora.
        slice_bytes: Approximate size of the slice of a shard to predict at once.
        table_memory: MiB for the lookup tables that speed up prediction on CPU: of all processes on this machine, or
            of each worker of a cluster.
        max_bad_share: The largest allowed fraction of bad lines.
        device: The device of each worker; `auto` uses a GPU if it has one.
        use_kb_prior: Whether the other facts of a knowledge base count against new ones, in a run with folds.
        quantize: `int8` uses 8-bit matrix products in a pretrained encoder, on a CPU.
        chosen: How the thresholds were chosen, including those per relation; None if `threshold` was set directly.
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
    use_kb_prior: bool = True
    quantize: Literal["none", "int8"] = "none"
    chosen: ChosenThreshold | NewFactThresholds | None = None

    def __post_init__(self) -> None:
        check_ranges(self)
        mechanisms_named([self.method])

    def identity(self) -> dict[str, Any]:
        """Return the settings that facts depend on, which must match when an extraction resumes."""
        own: dict[str, Any] = {"thresholds": self.thresholds} if self.thresholds else {}
        own |= {"quantize": self.quantize} if self.quantize != "none" else {}
        return {"threshold": self.threshold, **own, "method": self.method, "max_evidence": self.max_evidence}

    @property
    def thresholds(self) -> dict[str, float]:
        """The minimum probability of the relations that have one of their own, by name."""
        return self.chosen.thresholds if self.chosen else {}

    def threshold_of(self, relations: Sequence[Relation]) -> np.ndarray:
        """Return threshold_R, the minimum probability of a fact of each relation."""
        return np.array([self.thresholds.get(relation.name, self.threshold) for relation in relations])


@dataclass(frozen=True, kw_only=True)
class ExtractInputs:
    """Inputs of an extraction.

    Attributes:
        run: A run or a model folder.
        corpus: A file of sentences, a folder of such files, or a folder written by `sayso build`.
        types: A table of entity types, which take precedence over the model's own.
        kb: A knowledge base to compare the facts with.
    """

    run: Path
    corpus: Path
    types: Path | None = None
    kb: Path | None = None
