"""The table of all facts of an extraction, read in one pass, with the decisions on them.

Shapes: F facts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sayso.annotate.decisions import DAMAGED, decided_since
from sayso.annotate.store import Connection
from sayso.errors import BadInputError
from sayso.facts.fact import DECISIONS
from sayso.facts.file import fact_at, not_a_fact
from sayso.readers.files import MAX_LINE_BYTES
from sayso.records import Triple
from sayso.serve.fact_table import FactTable, TablePage, TableQuery, code, coded

_TEXT = pa.large_string()
_SCHEMA = pa.schema(
    [
        *((name, _TEXT) for name in ("head_id", "head_name", "relation", "tail_id", "tail_name")),
        *(("probability", pa.float64()), ("status", _TEXT), ("support", _TEXT), ("num_sentences", pa.int64())),
    ]
)
_ROWS_AT_A_TIME = 65_536
"""Rows that are held as Python's own values while the columns are made."""


class FoundColumns(NamedTuple):
    """The columns by name, and the byte at which each line begins; behind the last the end of the file."""

    columns: dict[str, pa.Array]
    start_F1: np.ndarray


def read_columns(path: Path) -> FoundColumns:
    """Return the columns of a file of facts; a line that is none is an error."""
    batches, rows, starts = list[pa.RecordBatch](), list[tuple[object, ...]](), [0]
    for number, line in enumerate(_lines(path), 1):
        rows.append(_row(path, number, line))
        starts.append(starts[-1] + len(line))
        if len(rows) == _ROWS_AT_A_TIME:
            batches.append(_batch(rows))
            rows = []
    table = pa.Table.from_batches([*batches, _batch(rows)]).combine_chunks()
    columns = {name: table.column(name).combine_chunks() for name in _SCHEMA.names}
    return FoundColumns(columns, np.array(starts, np.int64))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES):
                yield line
    except OSError as error:
        raise BadInputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _row(path: Path, number: int, line: bytes) -> tuple[object, ...]:
    try:
        fact = fact_at(path, number, line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise not_a_fact(path, number, str(error)) from None
    values = vars(fact) | {"support": fact.support.kind}
    return tuple(values[name] for name in _SCHEMA.names)


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    values = list(zip(*rows, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(values, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


CHOICES = ("", *DECISIONS, DAMAGED)
"""What may have been decided, in the order of their numbers; nothing is 0."""
_BETWEEN = "\x1f"


class DecidedSoFar:
    """`decision_F` is the number of each fact's decision, `event_F` the event of the log that made it, 0 for none."""

    def __init__(self, heads: pa.Array, relations: pa.Array, tails: pa.Array) -> None:
        self._keys = pc.binary_join_element_wise(heads, relations, tails, pa.scalar(_BETWEEN, pa.large_string()))
        self._lock = Lock()
        self.decision_F = np.zeros(len(heads), np.int8)
        self.event_F = np.zeros(len(heads), np.int64)
        self.last_event = 0

    def follow(self, connection: Connection) -> None:
        """Take in what was decided since the last time."""
        with self._lock:
            news = decided_since(connection, self.last_event)
            if not news:
                return
            matched = pc.index_in(self._keys, value_set=_keys(news))
            rows = np.flatnonzero(matched.is_valid().to_numpy(zero_copy_only=False))
            which = matched.drop_null().to_numpy(zero_copy_only=False)
            self.decision_F[rows] = np.array([CHOICES.index(decision) for _, decision in news.values()])[which]
            self.event_F[rows] = np.array([event for event, _ in news.values()])[which]
            self.last_event = max(event for event, _ in news.values())

    def find(self, fact: Triple) -> int | None:
        """Return the row of a fact, None where the file has it not."""
        row = pc.index(self._keys, _keys([fact])[0]).as_py()
        return None if row < 0 else row


def _keys(facts: Iterable[Triple]) -> pa.Array:
    return pa.array([_BETWEEN.join(fact) for fact in facts], pa.large_string())


FoundSort = Literal["status", "probability", "support", "sentences", "relation", "head", "tail"]


class FoundQuery(TableQuery):
    """What facts must be like to be listed: those that nobody has decided on, new ones first, unless it says more.

    Going through a list decides on its facts; those that were decided on after the event `since` of the log stay in it.
    """

    status: Annotated[
        Literal["", "new", "known", "contradicts"], Field(description="What the knowledge base says about the fact.")
    ] = ""
    decision: Annotated[
        Literal["open", "any", "accepted", "rejected", "needs_evidence"],
        Field(description="What people have decided; `open` is nothing."),
    ] = "open"
    sort: FoundSort = "status"
    since: Annotated[
        int | None, Field(ge=0, le=2**53, description="Keep what was decided after this event of the log.")
    ] = None


PRESETS: tuple[tuple[str, FoundQuery], ...] = (
    ("Without a decision", FoundQuery()),
    ("Contradicts the knowledge base", FoundQuery(status="contradicts")),
    ("Does not rest on the sentences", FoundQuery(support="not_sentences")),
    ("Needs evidence", FoundQuery(decision="needs_evidence")),
    ("All", FoundQuery(decision="any", sort="probability")),
)
"""Questions that people ask of an extraction."""


_URGENCY = {"known": 0, "": 1, "contradicts": 2, "new": 3}
"""In what order statuses come up, the highest first."""


@dataclass(frozen=True, kw_only=True)
class FoundRow:
    """A fact as a line of the table; `number` is its line in the file, from 0, and `decision` is empty for none."""

    number: int
    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    probability: float
    status: str
    support: str
    num_sentences: int
    decision: str


@dataclass(frozen=True, kw_only=True)
class FoundPage(TablePage):
    """One page of the facts that were asked for."""

    rows: list[FoundRow]


class FoundIndex(FactTable[FoundQuery, FoundRow]):
    """The facts of one file, and the byte at which each one's line begins."""

    def __init__(self, found: FoundColumns) -> None:
        super().__init__(found.columns)
        self.start_F1 = found.start_F1
        self._statuses, self._status_F = coded(found.columns["status"])
        self.decided = DecidedSoFar(*(found.columns[name] for name in Triple._fields))

    @property
    def num_decided(self) -> int:
        """How many facts somebody has decided on."""
        return int(np.count_nonzero(~self._is_open()))

    def _is_open(self) -> np.ndarray:
        """Say of each fact whether it is to be decided on; a damaged decision has to be made again."""
        return np.isin(self.decided.decision_F, (CHOICES.index(""), CHOICES.index(DAMAGED)))

    def page(self, query: FoundQuery) -> FoundPage:
        """Return the page that was asked for, the last one where there are fewer."""
        rows, which = self.cut(query)
        return FoundPage(rows=self.rows(rows), **vars(which))

    def rows(self, numbers: np.ndarray) -> list[FoundRow]:
        """Return these facts as lines of the table."""
        columns: dict[str, Any] = {
            **self._taken(numbers, *self._columns),
            "number": numbers.tolist(),
            "decision": [CHOICES[number] for number in self.decided.decision_F[numbers].tolist()],
        }
        return [FoundRow(**dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True)]

    def triple(self, row: int) -> Triple:
        """Return the ids of a fact."""
        return Triple(*(self._columns[name][row].as_py() for name in Triple._fields))

    def _numbers(self, sort: str) -> np.ndarray | None:
        if sort == "status":
            urgency_S = np.array([_URGENCY[name] for name in self._statuses], np.float64)
            # Within a status the most probable comes first.
            value_F: np.ndarray = 2 * urgency_S[self._status_F] + self.probability_F
            return value_F
        return super()._numbers(sort)

    def _tests(self, query: FoundQuery) -> list[np.ndarray]:
        tests = [self._status_F == code(self._statuses, query.status)] if query.status else []
        if query.decision != "any":
            is_open = query.decision == "open"
            fits_F = self._is_open() if is_open else self.decided.decision_F == CHOICES.index(query.decision)
            tests.append(fits_F if query.since is None else fits_F | (self.decided.event_F > query.since))
        return tests
