"""A table of facts, sorted, filtered and paged in memory; shared by predictions and review.

Shapes: F facts.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from math import ceil
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sayso.facts.fact import Fact
from sayso.records import Triple

Share = Annotated[float, Field(ge=0.0, le=1.0)]
PAGE_SIZE = 50

NUM_AHEAD = 4
"""The number of facts that a page fetches in advance, so that several key presses in a row never wait."""
MAX_TERMS = 8
"""The maximum number of words in a search."""


class TableQuery(BaseModel):
    """The filters, sort order and page that every table of facts supports; empty filters match everything."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    unfolded: ClassVar[frozenset[str]] = frozenset({"q", "relation", "sort", "order", "page"})
    """The fields that are not among the folded filters of a page."""

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
        """Whether one of the folded filters is set."""
        usual = type(self)()
        rest = {name: getattr(usual, name) for name in self.unfolded}
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
    """A fact's 1-based position in a query's results (0 if it is not there), and its neighbours.

    `ahead` are the next facts, which a page fetches in advance.
    """

    number: int
    num: int
    before: RowT | None = None
    ahead: tuple[RowT, ...] = ()

    @property
    def after(self) -> RowT | None:
        """The next fact."""
        return next(iter(self.ahead), None)


class FactTable(Generic[QueryT, RowT]):
    """The columns of all facts; sort orders and searchable names are built when first needed.

    Each row has the columns that are fields of `row_type`. A query can sort by the columns in `values`, filter by their
    range (`min_` and `max_` fields), and by equality with those in `codes`: distinct values, and their index per fact.
    """

    row_type: type[RowT]

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        self.columns = dict(columns)
        self.num_facts = len(columns["relation"])
        self.codes = {name: coded(columns[name]) for name in ("relation", "support")}
        self.relations, self.relation_F = self.codes["relation"]
        self.probability_F = floats(columns["probability"])
        self.values = {
            "probability": self.probability_F,
            "sentences": floats(columns["num_sentences"]),
            **{name: code_F for name, (_, code_F) in self.codes.items()},
        }
        self._orders: dict[str, np.ndarray] = {}

    @cached_property
    def relation_counts(self) -> dict[str, int]:
        """The number of facts per relation."""
        return dict(zip(self.relations, np.bincount(self.relation_F).tolist(), strict=True))

    def rows(self, numbers: np.ndarray) -> list[RowT]:
        """Return the table rows of these facts."""
        which = pa.array(numbers, pa.int64())
        names = [field.name for field in fields(self.row_type) if field.name in self.columns]
        columns = [self.columns[name].take(which).to_pylist() for name in names]
        return [
            self.row_type(number=number, **dict(zip(names, values, strict=True)))
            for number, *values in zip(numbers.tolist(), *columns, strict=True)
        ]

    def find_all(self, query: QueryT) -> np.ndarray:
        """Return the indices of all matching facts, sorted."""
        order = self._order(query.sort)
        if query.order == "down":
            order = order[::-1]
        tests = list(self._tests(query))
        return order[np.logical_and.reduce(tests)[order]] if tests else order

    def page(self, query: QueryT, without: Collection[Triple] = ()) -> TablePage[RowT]:
        """Return a page of the matching facts, or the last page if there are fewer; facts in `without` are left out."""
        found = self.find_all(query)
        if without:
            ids = (self.columns[name].take(pa.array(found)).to_pylist() for name in ("head_id", "relation", "tail_id"))
            found = found[[Triple(*fact) not in without for fact in zip(*ids, strict=True)]]
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
        before, ahead = found[max(0, position - 1) : position], found[position + 1 : position + 1 + NUM_AHEAD]
        return Position(position + 1, len(found), next(iter(self.rows(before)), None), tuple(self.rows(ahead)))

    def _order(self, sort: str) -> np.ndarray:
        """Return the indices of the facts in ascending order; NaN comes first."""
        if sort not in self._orders:
            value_F = self.values.get(sort)
            if value_F is None:
                value_F = floats(pc.rank(pc.utf8_lower(self.columns[f"{sort}_name"]), tiebreaker="dense"))
            # Negate and reverse, so that ties stay in file order when sorting from high to low.
            self._orders[sort] = np.argsort(-np.nan_to_num(value_F, nan=-np.inf), kind="stable")[::-1]
        return self._orders[sort]

    def _tests(self, query: QueryT) -> Iterator[np.ndarray]:
        """Yield a mask for each filter of the query."""
        for name, field in type(query).model_fields.items():
            asked, (end, _, column) = getattr(query, name), name.partition("_")
            if asked == field.default:
                continue
            if name in self.codes:
                names, code_F = self.codes[name]
                yield code_F == code(names, asked)
            elif column in self.values:
                yield self.values[column] >= asked if end == "min" else self.values[column] <= asked
        for term in query.terms:
            yield pc.match_substring(self._names, term).to_numpy(zero_copy_only=False)

    @cached_property
    def _names(self) -> pa.Array:
        """Both names of each fact, in lower case."""
        both = pc.binary_join_element_wise(
            self.columns["head_name"], self.columns["tail_name"], pa.scalar("\n", pa.large_string())
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
