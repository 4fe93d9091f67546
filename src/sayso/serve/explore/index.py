"""All facts of a run as columns that can be sorted and filtered at once, made when the run is first looked at.

Shapes: F facts.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sayso.bags.predictions import Predictions
from sayso.metrics.faithfulness import comprehensiveness
from sayso.serve.explore.query import FactQuery, Sort

PAGE_SIZE = 50


@dataclass(frozen=True, kw_only=True)
class FactRow:
    """A fact as a line of the table; `number` is its row in the predictions.

    Figures are None and the verdict is empty where the fact `is_withheld` from whoever asks.
    """

    number: int
    bag: int
    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    probability: float | None
    is_label: bool
    verdict: str
    num_sentences: int
    disagreement: float | None
    faithfulness: float | None
    is_withheld: bool = False


@dataclass(frozen=True, kw_only=True)
class FactPage:
    """One page of the facts that were asked for."""

    rows: list[FactRow]
    num_found: int
    page: int
    num_pages: int


class FactIndex:
    """The facts of one run; sort orders and searchable names are made once, when they are first needed."""

    def __init__(self, predictions: Predictions) -> None:
        self._facts = facts = predictions.facts
        self._orders: dict[Sort, np.ndarray] = {}
        self.num_facts = len(facts["bag"])
        self.bag_F = _floats(facts["bag"]).astype(np.int64)
        self.probability_F = _floats(facts["probability"])
        self.is_label_F = _floats(facts["is_label"]) > 0
        self._disagreement_F = _floats(facts["disagreement"])
        without_top = facts[f"probability_without_top.{predictions.manifest['ranked_by']}"]
        self._faithfulness_F = comprehensiveness(self.probability_F, _floats(without_top))
        self.relations, self.relation_F = _coded(facts["relation"])
        self._verdicts, self._verdict_F = _coded(facts["verdict"])

    @cached_property
    def relation_counts(self) -> dict[str, int]:
        """How many facts each relation has, by name."""
        return dict(
            zip(self.relations, np.bincount(self.relation_F, minlength=len(self.relations)).tolist(), strict=True)
        )

    def find(self, bag: int, relation: str) -> int | None:
        """Return the row of this bag's fact, None where the run has none."""
        order, sorted_bag = self._by_bag
        first, stop = np.searchsorted(sorted_bag, (bag, bag + 1)).tolist()
        rows = [row for row in order[first:stop].tolist() if self.relations[self.relation_F[row]] == relation]
        return rows[0] if rows else None

    def find_all(self, query: FactQuery) -> np.ndarray:
        """Return the rows of all facts that were asked for, in the order that was asked for."""
        order = self._order(query.sort)
        if query.order == "down":
            order = order[::-1]
        is_found_F = self._is_found(query)
        return order if is_found_F is None else order[is_found_F[order]]

    def page(self, query: FactQuery) -> FactPage:
        """Return the page that was asked for, the last one where there are fewer."""
        found = self.find_all(query)
        num_pages = max(1, ceil(len(found) / PAGE_SIZE))
        page = min(query.page, num_pages)
        rows = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        return FactPage(rows=self.rows(rows), num_found=len(found), page=page, num_pages=num_pages)

    def rows(self, numbers: np.ndarray) -> list[FactRow]:
        """Return these facts as lines of the table."""
        names = (
            "bag",
            "head_id",
            "head_name",
            "relation",
            "tail_id",
            "tail_name",
            "probability",
            "verdict",
            "num_sentences",
        )
        taken = {name: self._facts[name].take(pa.array(numbers, pa.int64())).to_pylist() for name in names}
        computed = {
            "number": numbers.tolist(),
            "is_label": self.is_label_F[numbers].tolist(),
            "disagreement": self._disagreement_F[numbers].tolist(),
            "faithfulness": self._faithfulness_F[numbers].tolist(),
        }
        columns = taken | computed
        return [FactRow(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)]

    def _order(self, sort: Sort) -> np.ndarray:
        """Return the facts from the lowest value up; what is not a number comes first."""
        if sort not in self._orders:
            value_F = self._sort_values(sort)
            # Turned twice, so that the turned order (highest first) keeps ties as the run has them.
            self._orders[sort] = np.argsort(-np.nan_to_num(value_F, nan=-np.inf), kind="stable")[::-1]
        return self._orders[sort]

    def _sort_values(self, sort: Sort) -> np.ndarray:
        numbers = {
            "probability": self.probability_F,
            "faithfulness": self._faithfulness_F,
            "disagreement": self._disagreement_F,
            "relation": self.relation_F,
        }
        if sort in numbers:
            return numbers[sort]
        if sort == "sentences":
            return _floats(self._facts["num_sentences"])
        return _floats(pc.rank(pc.utf8_lower(self._facts[f"{sort}_name"]), tiebreaker="dense"))

    def _is_found(self, query: FactQuery) -> np.ndarray | None:
        """Return which facts fit, None where all do."""
        tests = [
            *self._ranges(query),
            *([self.is_label_F == (query.label == "yes")] if query.label else []),
            *([self.relation_F == _code(self.relations, query.relation)] if query.relation else []),
            *([self._verdict_F == _code(self._verdicts, query.verdict)] if query.verdict else []),
            *(pc.match_substring(self._names, term).to_numpy(zero_copy_only=False) for term in query.terms),
        ]
        return np.logical_and.reduce(tests) if tests else None

    def _ranges(self, query: FactQuery) -> list[np.ndarray]:
        asked = (
            (self.probability_F, query.min_probability, 0.0, query.max_probability, 1.0),
            (self._faithfulness_F, query.min_faithfulness, -1.0, query.max_faithfulness, 1.0),
            (self._disagreement_F, query.min_disagreement, 0.0, 1.0, 1.0),
        )
        low = [value_F >= least for value_F, least, bound, _, _ in asked if least > bound]
        return low + [value_F <= most for value_F, _, _, most, bound in asked if most < bound]

    @cached_property
    def _names(self) -> pa.Array:
        """The two names of each fact as one text, in small letters."""
        both = pc.binary_join_element_wise(
            self._facts["head_name"], self._facts["tail_name"], pa.scalar("\n", pa.large_string())
        )
        return pc.utf8_lower(pc.replace_substring(both, "_", " "))

    @cached_property
    def _by_bag(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.bag_F, kind="stable")
        return order, self.bag_F[order]


def _floats(column: pa.Array) -> np.ndarray:
    values: np.ndarray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return values


def _coded(column: pa.Array) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of a column in order, and each row's number among them."""
    encoded = column.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    codes: np.ndarray = place[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
    return [names[number] for number in order], codes


def _code(names: list[str], name: str) -> int:
    return names.index(name) if name in names else -1
