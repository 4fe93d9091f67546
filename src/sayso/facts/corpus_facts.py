"""Facts predicted from a corpus, stored as integer ids: 28 bytes per fact, regardless of the number of pairs.

Shapes: B bags, R relations, F facts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sayso.errors import import_extra
from sayso.facts.fact import Fact

_INTEGERS = ("relation", "head", "tail", "num_sentences")
_COLUMNS = np.dtype([("probability", np.float32), ("line", np.int64), *((name, np.int32) for name in _INTEGERS)])


@dataclass(frozen=True, kw_only=True)
class CorpusFact(Fact):
    """A fact predicted from a corpus, with the number of distinct sentences of its pair."""

    num_sentences: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as plain values."""
        return {**super().to_dict(), "num_sentences": self.num_sentences}


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """The facts of a corpus, most probable first; ties are in corpus order.

    `num_repeated` sentences are repeated within their pair, and `num_too_far_apart` have mentions too far apart; both
    are left out. `num_cut` sentences are too long and were cut. `highest` is the highest probability of all, NaN
    if there are no pairs.
    """

    found_F: np.ndarray
    relations: Sequence[str]
    entity_ids: Sequence[str]
    names: Sequence[str]
    num_pairs: int
    num_repeated: int
    num_too_far_apart: int
    num_cut: int
    highest: float

    def __len__(self) -> int:
        """Return F, the number of facts."""
        return len(self.found_F)

    def __iter__(self) -> Iterator[CorpusFact]:
        """Yield the facts."""
        for probability, _, relation, head, tail, num_sentences in self.found_F.tolist():
            yield CorpusFact(
                head_id=self.entity_ids[head],
                head_name=self.names[head],
                tail_id=self.entity_ids[tail],
                tail_name=self.names[tail],
                relation=self.relations[relation],
                probability=probability,
                num_sentences=num_sentences,
            )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per fact."""
        return frame_of(fact.to_dict() for fact in self)


class FactCollector:
    """Collects the facts with a probability of at least `threshold`, batch by batch."""

    def __init__(self, threshold: float, top: int | None) -> None:
        self.threshold, self.top = threshold, top
        self.num_pairs = 0
        self.highest = float("nan")
        self._pieces = [np.zeros(0, _COLUMNS)]

    def add(
        self,
        probability_BR: np.ndarray,
        head_B: np.ndarray,
        tail_B: np.ndarray,
        line_B: np.ndarray,
        size_B: np.ndarray,
    ) -> None:
        """Add the bags of one part of the corpus; `line_B` is the line on which each pair first appears."""
        self.num_pairs += len(probability_BR)
        if probability_BR.size:
            self.highest = float(np.fmax(self.highest, probability_BR.max()))
        bag, relation = np.nonzero(probability_BR >= self.threshold)
        found = np.zeros(len(bag), _COLUMNS)
        found["probability"], found["relation"] = probability_BR[bag, relation], relation
        found["head"], found["tail"], found["line"] = head_B[bag], tail_B[bag], line_B[bag]
        found["num_sentences"] = size_B[bag]
        self._pieces.append(found)
        if self.top is not None:
            self._pieces = [self.sorted()]

    def sorted(self) -> np.ndarray:
        """Return the facts as a structured array, most probable first, at most `top` of them."""
        found = np.concatenate(self._pieces)
        order = np.lexsort((found["relation"], found["line"], -found["probability"]))
        return found[order[: self.top]]


def frame_of(rows: Iterable[Mapping[str, object]]) -> Any:
    """Return a pandas DataFrame with these rows; raise `MissingExtraError` without pandas."""
    pandas = import_extra("pandas", "to_frame()", "frame")
    return pandas.DataFrame.from_records(list(rows))
