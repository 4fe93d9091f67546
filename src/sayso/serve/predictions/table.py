"""The table of all facts of a run, built when the run is first viewed, and its precision-recall curve.

Predictions contain every fact above the threshold, but only labels and marked facts below it. The curve ends at the
threshold, because the rest would look better than it is. Each of its points stands for the facts that it adds. The
facts on which two runs differ are a table of their own.
Shapes: F facts, D facts that only one of two runs predicts, P steps of the curve.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sayso.metrics.faithfulness import comprehensiveness
from sayso.metrics.precision_recall import PrecisionRecallCurve, drawn_curve, precision_recall_curve
from sayso.serve.fact_table import FactRow, FactTable, Share, TableQuery, code, floats
from sayso.store.predictions import Predictions

Loss = Annotated[float, Field(ge=-1.0, le=1.0)]
PredictionSort = Literal["probability", "faithfulness", "disagreement", "sentences", "relation", "head", "tail"]


class PredictionQuery(TableQuery):
    """Filters for the facts in a run's predictions."""

    label: Annotated[Literal["", "yes", "no"], Field(description="Whether the fact is in the knowledge base.")] = ""
    max_probability: Share = 1.0
    min_disagreement: Annotated[
        Share, Field(description="Minimum fraction of mechanisms whose top-ranked sentence is not the most common one.")
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
        without_top = facts[f"probability_without_top.{predictions.manifest['ranked_by']}"]
        faithfulness_F = comprehensiveness(self.probability_F, floats(without_top))
        self.columns |= {"is_label": pa.array(self.is_label_F), "faithfulness": pa.array(faithfulness_F)}
        self.values |= {"faithfulness": faithfulness_F, "disagreement": floats(facts["disagreement"])}

    def find(self, bag: int, relation: str) -> int | None:
        """Return the index of this bag's fact, or None if the run does not have it."""
        order, sorted_bag = self._by_bag
        first, stop = np.searchsorted(sorted_bag, (bag, bag + 1)).tolist()
        rows = [row for row in order[first:stop].tolist() if self.relations[self.relation_F[row]] == relation]
        return rows[0] if rows else None

    def _tests(self, query: PredictionQuery) -> Iterator[np.ndarray]:
        yield from super()._tests(query)
        if query.label:
            yield self.is_label_F == (query.label == "yes")

    @cached_property
    def _by_bag(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.bag_F, kind="stable")
        return order, self.bag_F[order]


class DifferenceQuery(TableQuery):
    """Two runs, and filters for the facts that only one of them predicts."""

    left: Annotated[str, Field(max_length=300, description="Name of a run.")] = ""
    right: Annotated[str, Field(max_length=300, description="Name of another run.")] = ""
    only: Annotated[Literal["", "left", "right"], Field(description="The run that predicts the facts.")] = ""
    label: Annotated[Literal["", "yes", "no"], Field(description="Whether the fact is in the knowledge base.")] = ""
    sort: Literal["difference", "left", "right", "sentences", "relation", "head", "tail"] = "difference"


@dataclass(frozen=True, kw_only=True)
class DifferenceRow(FactRow):
    """A fact that only one of two runs predicts; `probability` and `support` are that run's.

    `left` and `right` are both runs' probabilities. A run stores only labels, marked facts and the facts that it
    predicts; a probability that is not stored is null, and `difference` takes the run's threshold in its place.
    """

    bag: int
    is_label: bool
    left: float | None
    right: float | None
    difference: float


class DifferenceTable(FactTable[DifferenceQuery, DifferenceRow]):
    """The facts that only one of two runs on the same store and part predicts."""

    row_type = DifferenceRow

    def __init__(self, tables: Sequence[PredictionTable], thresholds: Sequence[float]) -> None:
        relations = np.unique([name for table in tables for name in table.relations])
        keys = [
            table.bag_F * len(relations) + np.searchsorted(relations, table.relations)[table.relation_F]
            for table in tables
        ]
        predicted = (
            key_F[table.probability_F >= threshold]
            for key_F, table, threshold in zip(keys, tables, thresholds, strict=True)
        )
        key_D = np.setxor1d(*predicted)
        rows = [_rows_of(key_F, key_D) for key_F in keys]
        # Row -1, without a stored fact, is the NaN at the end.
        sides = [np.append(table.probability_F, np.nan)[row_D] for table, row_D in zip(tables, rows, strict=True)]
        self.is_left_F = sides[0] >= thresholds[0]
        row_F = pa.array(np.where(self.is_left_F, rows[0], rows[1] + tables[0].num_facts))
        names = [name for name in tables[0].columns if name in tables[1].columns]
        super().__init__(
            {name: pa.concat_arrays([each.columns[name] for each in tables]).take(row_F) for name in names}
        )
        self.is_label_F = floats(self.columns["is_label"]) > 0
        left_F, right_F = (
            np.where(np.isnan(side_F), threshold, side_F) for side_F, threshold in zip(sides, thresholds, strict=True)
        )
        self.values |= {"difference": np.abs(left_F - right_F), "left": sides[0], "right": sides[1]}
        self.columns |= {
            name: pa.array(self.values[name], mask=np.isnan(self.values[name]))
            for name in ("difference", "left", "right")
        }

    def _tests(self, query: DifferenceQuery) -> Iterator[np.ndarray]:
        yield from super()._tests(query)
        if query.only:
            yield self.is_left_F == (query.only == "left")
        if query.label:
            yield self.is_label_F == (query.label == "yes")


def _rows_of(key_F: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the row of each wanted key, -1 if there is none."""
    rows: np.ndarray = pc.index_in(pa.array(wanted), value_set=pa.array(key_F)).fill_null(-1).to_numpy()
    return rows


PLOT = (658.0, 332.0)
"""The width and height of the curve's plot on the page, in the units of its drawing."""
POINT_GAP = 24.0
"""The least distance between two points, so that each can be clicked; their circles have half of it as radius."""
MAX_POINTS = 48


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A point of the curve; it adds the facts from `first` up to `stop`, counted from the most probable."""

    precision: float
    recall: float
    probability: float
    first: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The curve of a run, or of one relation: its line as (recall, precision), and the points on it."""

    line: list[tuple[float, float]]
    points: list[CurvePoint]
    num_positives: int
    num_retrieved: int


def make_curve(index: PredictionTable, threshold: float, relation: str = "", num_unread: int = 0) -> Curve:
    """Compute the curve; `num_unread` facts that could not be read still count in the denominator of recall."""
    is_asked_F = np.full(index.num_facts, not relation) | (index.relation_F == code(index.relations, relation))
    is_predicted_F = is_asked_F & (index.probability_F >= threshold)
    num_positives = int(index.is_label_F[is_asked_F].sum()) + num_unread
    if not num_positives or not is_predicted_F.any():
        return Curve(line=[], points=[], num_positives=num_positives, num_retrieved=int(is_predicted_F.sum()))
    curve = precision_recall_curve(
        index.probability_F[is_predicted_F], index.is_label_F[is_predicted_F], num_positives=num_positives
    )
    return Curve(
        line=drawn_curve(curve),
        points=_points(curve, _apart(curve)),
        num_positives=num_positives,
        num_retrieved=int(curve.num_retrieved[-1]),
    )


def facts_at(index: PredictionTable, point: CurvePoint, relation: str = "") -> np.ndarray:
    """Return the indices of the facts that a point adds."""
    return index.find_all(PredictionQuery(relation=relation))[point.first : point.stop]


def _apart(curve: PrecisionRecallCurve) -> np.ndarray:
    """Return the steps of the curve to show as points: no two closer than POINT_GAP on the page, the last included."""
    place_P2 = np.stack([curve.recall * PLOT[0], curve.precision * PLOT[1]], axis=1)
    gap = POINT_GAP
    while len(chosen := _greedy(place_P2, gap)) > MAX_POINTS:
        gap *= 1.2
    return chosen


def _greedy(place_P2: np.ndarray, gap: float) -> np.ndarray:
    """Return places that are at least `gap` from each other: the last one, then each that is free, from the first."""
    chosen, step = [len(place_P2) - 1], -1
    is_free_P = np.hypot(*(place_P2 - place_P2[-1]).T) >= gap
    while (free := np.flatnonzero(is_free_P[step + 1 :])).size:
        step += 1 + int(free[0])
        chosen.append(step)
        is_free_P &= np.hypot(*(place_P2 - place_P2[step]).T) >= gap
    return np.sort(chosen)


def _points(curve: PrecisionRecallCurve, steps: np.ndarray) -> list[CurvePoint]:
    stops = curve.num_retrieved[steps].tolist()
    return [
        CurvePoint(
            precision=float(curve.precision[step]),
            recall=float(curve.recall[step]),
            probability=float(curve.threshold[step]),
            first=first,
            stop=stop,
        )
        for step, first, stop in zip(steps.tolist(), [0, *stops[:-1]], stops, strict=True)
    ]
