"""The table of all facts of a run, built when the run is first viewed.

Shapes: F facts.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from sayso.metrics.faithfulness import comprehensiveness
from sayso.serve.fact_table import FactRow, FactTable, Share, TableQuery, floats
from sayso.store.predictions import Predictions

Loss = Annotated[float, Field(ge=-1.0, le=1.0)]
PredictionSort = Literal["probability", "faithfulness", "disagreement", "sentences", "relation", "head", "tail"]


class PredictionQuery(TableQuery):
    """Filters for a run's facts."""

    label: Annotated[Literal["", "yes", "no"], Field(description="Whether the fact is in the knowledge base.")] = ""
    max_probability: Share = 1.0
    min_disagreement: Annotated[
        Share, Field(description="Minimum share of mechanisms whose top-ranked sentence is not the most common one.")
    ] = 0.0
    min_faithfulness: Annotated[
        Loss, Field(description="Minimum drop in probability without the top-ranked sentence.")
    ] = -1.0
    max_faithfulness: Loss = 1.0
    sort: PredictionSort = "probability"


PRESETS: tuple[tuple[str, PredictionQuery], ...] = (
    ("Not in the knowledge base", PredictionQuery(label="no")),
    (
        "Probable, but not because of the top sentence",
        PredictionQuery(min_probability=0.76, sort="faithfulness", order="up"),
    ),
    ("Mechanisms disagree", PredictionQuery(min_disagreement=0.34, sort="disagreement")),
    ("Does not rest on the sentences", PredictionQuery(support="not_sentences")),
    ("Labels that are not predicted", PredictionQuery(label="yes", support="not_predicted", order="up")),
)
"""Common questions about a run."""


@dataclass(frozen=True, kw_only=True)
class PredictionRow(FactRow):
    """A row of the table; metrics are None and the support is empty if the fact `is_withheld` from the annotator."""

    probability: float | None  # type: ignore[assignment]
    bag: int
    is_label: bool
    disagreement: float | None
    faithfulness: float | None
    is_withheld: bool = False


class PredictionTable(FactTable[PredictionQuery, PredictionRow]):
    """The facts of one run."""

    row_type = PredictionRow

    def __init__(self, predictions: Predictions) -> None:
        facts = predictions.facts
        super().__init__(facts)
        self.bag_F = floats(facts["bag"]).astype(np.int64)
        self.is_label_F = floats(facts["is_label"]) > 0
        self._disagreement_F = floats(facts["disagreement"])
        without_top = facts[f"probability_without_top.{predictions.manifest['ranked_by']}"]
        self._faithfulness_F = comprehensiveness(self.probability_F, floats(without_top))

    def find(self, bag: int, relation: str) -> int | None:
        """Return the index of this bag's fact, or None if the run does not have it."""
        order, sorted_bag = self._by_bag
        first, stop = np.searchsorted(sorted_bag, (bag, bag + 1)).tolist()
        rows = [row for row in order[first:stop].tolist() if self.relations[self.relation_F[row]] == relation]
        return rows[0] if rows else None

    def _own_columns(self, numbers: np.ndarray) -> dict[str, list[Any]]:
        return {
            "bag": self.bag_F[numbers].tolist(),
            "is_label": self.is_label_F[numbers].tolist(),
            "disagreement": self._disagreement_F[numbers].tolist(),
            "faithfulness": self._faithfulness_F[numbers].tolist(),
        }

    def _numbers(self, sort: str) -> np.ndarray | None:
        own = {"faithfulness": self._faithfulness_F, "disagreement": self._disagreement_F}
        return own[sort] if sort in own else super()._numbers(sort)

    def _tests(self, query: PredictionQuery) -> list[np.ndarray]:
        low, high = query.min_faithfulness, query.max_faithfulness
        return [
            *([self.is_label_F == (query.label == "yes")] if query.label else []),
            *([self.probability_F <= query.max_probability] if query.max_probability < 1 else []),
            *([self._faithfulness_F >= low] if low > -1 else []),
            *([self._faithfulness_F <= high] if high < 1 else []),
            *([self._disagreement_F >= query.min_disagreement] if query.min_disagreement else []),
        ]

    @cached_property
    def _by_bag(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.bag_F, kind="stable")
        return order, self.bag_F[order]
