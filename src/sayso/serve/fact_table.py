"""A table of facts, sorted, filtered and paged in memory; shared by predictions and review.

Shapes: F facts.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from math import ceil
from typing import Annotated, Any, Generic, Literal, Self, TypeVar
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sayso.facts.fact import Fact

Share = Annotated[float, Field(ge=0.0, le=1.0)]
PAGE_SIZE = 50

MAX_TERMS = 8
"""The maximum number of words in a search."""


class TableQuery(BaseModel):
    """The filters, sort order and page that every table of facts supports; empty filters match everything."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    q: Annotated[str, Field(max_length=200, description="Words in the head's or tail's name.")] = ""
    relation: Annotated[str, Field(max_length=500, description="Name of a relation.")] = ""
    support: Annotated[
        Literal["", "one_sentence", "sentences_together", "several_sentences", "not_sentences", "not_predicted"],
        Field(description="What the model's prediction rests on."),
    ] = ""
    min_probability: Share = 0.0
    sort: str = "probability"
    order: Literal["up", "down"] = "down"
    page: Annotated[int, Field(ge=1, le=10_000_000)] = 1

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, values: Any) -> Any:
        """Drop empty fields: forms send them for inputs that are not filled in."""
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value != ""}

    @classmethod
    def within(cls, within: Annotated[str, Query(max_length=2_000)] = "") -> Self:
        """Return the query of the list that a fact was opened from; the default query if it is invalid."""
        try:
            return cls.model_validate(dict(parse_qsl(within)))
        except ValidationError:
            return cls()

    @property
    def terms(self) -> list[str]:
        """The lower-case words to search for."""
        return self.q.replace("_", " ").lower().split()[:MAX_TERMS]

    @property
    def has_more(self) -> bool:
        """Whether there are filters other than names and relation."""
        usual = type(self)()
        rest = {name: getattr(usual, name) for name in ("q", "relation", "sort", "order", "page")}
        return self.model_copy(update=rest) != usual

    def link(self, **changes: object) -> str:
        """Return the URL query string for this query, with some values changed.

        >>> TableQuery(relation="/a/b", page=3).link(page=4)
        'relation=%2Fa%2Fb&page=4'
        """
        values = self.model_copy(update=changes).model_dump()
        is_default = {name: field.default for name, field in type(self).model_fields.items()}
        return urlencode({name: value for name, value in values.items() if value != is_default[name]})


@dataclass(frozen=True, kw_only=True)
class FactRow(Fact):
    """A row of a table; `number` is its index among all facts."""

    number: int
    support: str
    num_sentences: int


_COLUMNS = [field.name for field in fields(FactRow) if field.name != "number"]

QueryT = TypeVar("QueryT", bound=TableQuery)
RowT = TypeVar("RowT", bound=FactRow)


@dataclass(frozen=True, kw_only=True)
class TablePage(Generic[RowT]):
    """One page of a query's results."""

    rows: list[RowT]
    num_found: int
    page: int
    num_pages: int

    @property
    def first(self) -> int:
        """The 1-based position of the page's first row in the results."""
        return (self.page - 1) * PAGE_SIZE + 1


@dataclass(frozen=True)
class Position(Generic[RowT]):
    """A fact's 1-based position in a query's results (0 if it is not there), and its neighbours."""

    number: int
    num: int
    before: RowT | None = None
    after: RowT | None = None


class FactTable(ABC, Generic[QueryT, RowT]):
    """The columns of all facts; sort orders and searchable names are built when first needed."""

    row_type: type[RowT]

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        self._columns = columns
        self._orders: dict[str, np.ndarray] = {}
        self.num_facts = len(columns["relation"])
        self.probability_F = floats(columns["probability"])
        self.relations, self.relation_F = coded(columns["relation"])
        self._supports, self._support_F = coded(columns["support"])

    @cached_property
    def relation_counts(self) -> dict[str, int]:
        """The number of facts per relation."""
        return dict(zip(self.relations, np.bincount(self.relation_F).tolist(), strict=True))

    def rows(self, numbers: np.ndarray) -> list[RowT]:
        """Return the table rows of these facts."""
        which = pa.array(numbers, pa.int64())
        columns: dict[str, list[Any]] = {name: self._columns[name].take(which).to_pylist() for name in _COLUMNS}
        columns |= {"number": numbers.tolist(), **self._own_columns(numbers)}
        return [
            self.row_type(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)
        ]

    @abstractmethod
    def _own_columns(self, numbers: np.ndarray) -> dict[str, list[Any]]:
        """Return the columns that only this kind of table has, for these facts."""

    def _numbers(self, sort: str) -> np.ndarray | None:
        """Return the values of a numeric sort column; None for a column of names."""
        if sort == "sentences":
            return floats(self._columns["num_sentences"])
        shared = {"probability": self.probability_F, "relation": self.relation_F, "support": self._support_F}
        return shared.get(sort)

    @abstractmethod
    def _tests(self, query: QueryT) -> list[np.ndarray]:
        """Return a mask for each filter that only this kind of table has."""

    def find_all(self, query: QueryT) -> np.ndarray:
        """Return the indices of all matching facts, sorted."""
        order = self._order(query.sort)
        if query.order == "down":
            order = order[::-1]
        tests = [*self._tests(query), *self._shared_tests(query)]
        return order[np.logical_and.reduce(tests)[order]] if tests else order

    def page(self, query: QueryT) -> TablePage[RowT]:
        """Return a page of the matching facts, or the last page if there are fewer."""
        found = self.find_all(query)
        num_pages = max(1, ceil(len(found) / PAGE_SIZE))
        page = min(query.page, num_pages)
        rows = self.rows(found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE])
        return TablePage(rows=rows, num_found=len(found), page=page, num_pages=num_pages)

    def position(self, row: int, query: QueryT) -> Position[RowT]:
        """Return a fact's position in a query's results."""
        found = self.find_all(query)
        places = np.flatnonzero(found == row)
        if not len(places):
            return Position(0, len(found))
        position = int(places[0])
        before, after = found[max(0, position - 1) : position], found[position + 1 : position + 2]
        neighbours = (next(iter(self.rows(each)), None) for each in (before, after))
        return Position(position + 1, len(found), *neighbours)

    def _order(self, sort: str) -> np.ndarray:
        """Return the indices of the facts in ascending order; NaN comes first."""
        if sort not in self._orders:
            value_F = self._numbers(sort)
            if value_F is None:
                value_F = floats(pc.rank(pc.utf8_lower(self._columns[f"{sort}_name"]), tiebreaker="dense"))
            # Negate and reverse, so that ties stay in file order when sorting from high to low.
            self._orders[sort] = np.argsort(-np.nan_to_num(value_F, nan=-np.inf), kind="stable")[::-1]
        return self._orders[sort]

    def _shared_tests(self, query: QueryT) -> list[np.ndarray]:
        return [
            *([self.probability_F >= query.min_probability] if query.min_probability else []),
            *([self.relation_F == code(self.relations, query.relation)] if query.relation else []),
            *([self._support_F == code(self._supports, query.support)] if query.support else []),
            *(pc.match_substring(self._names, term).to_numpy(zero_copy_only=False) for term in query.terms),
        ]

    @cached_property
    def _names(self) -> pa.Array:
        """Both names of each fact, in lower case."""
        both = pc.binary_join_element_wise(
            self._columns["head_name"], self._columns["tail_name"], pa.scalar("\n", pa.large_string())
        )
        return pc.utf8_lower(pc.replace_substring(both, "_", " "))


def floats(column: pa.Array) -> np.ndarray:
    """Return a column as floats."""
    values: np.ndarray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return values


def coded(column: pa.Array) -> tuple[list[str], np.ndarray]:
    """Return the distinct values of a column, sorted, and each row's index among them."""
    encoded = column.dictionary_encode()
    names, code_of = np.unique(np.array(encoded.dictionary.to_pylist(), object), return_inverse=True)
    codes: np.ndarray = code_of[encoded.indices.to_numpy(zero_copy_only=False)]
    return names.tolist(), codes


def code(names: list[str], name: str) -> int:
    """Return the index of a value, or -1 if it is missing."""
    return names.index(name) if name in names else -1
