"""The table of all facts of an extraction, read in one pass, and the decisions on them.

Shapes: F facts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

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
from sayso.serve.fact_table import FactRow, FactTable, TableQuery, code, coded

_TEXT = pa.large_string()
_SCHEMA = pa.schema(
    [
        *((name, _TEXT) for name in ("head_id", "head_name", "relation", "tail_id", "tail_name")),
        *(("probability", pa.float64()), ("status", _TEXT), ("support", _TEXT), ("num_sentences", pa.int64())),
    ]
)
_ROWS_AT_A_TIME = 65_536
"""The number of rows kept as Python objects while the columns are built."""


def read_columns(path: Path) -> tuple[dict[str, pa.Array], np.ndarray]:
    """Return the columns of a file of facts, and the byte offset of each line, followed by the end of the file.

    Raises on a line that is not a fact.
    """
    batches, rows, starts = list[pa.RecordBatch](), list[tuple[object, ...]](), [0]
    for number, line in enumerate(_lines(path), 1):
        rows.append(_row(path, number, line))
        starts.append(starts[-1] + len(line))
        if len(rows) == _ROWS_AT_A_TIME:
            batches.append(_batch(rows))
            rows = []
    table = pa.Table.from_batches([*batches, _batch(rows)])
    return {name: table[name].combine_chunks() for name in _SCHEMA.names}, np.array(starts, np.int64)


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
"""Decisions by their code; 0 means none."""
_BETWEEN = "\x1f"


def _keys(facts: Iterable[Triple]) -> pa.Array:
    return pa.array([_BETWEEN.join(fact) for fact in facts], _TEXT)


ReviewSort = Literal["status", "probability", "support", "sentences", "relation", "head", "tail"]


class ReviewQuery(TableQuery):
    """Filters for extracted facts; by default those without a decision, new ones first.

    Facts that were decided after the log event `since` stay in the list while someone works through it.
    """

    status: Annotated[
        Literal["", "new", "known", "contradicts"], Field(description="How the fact compares with the knowledge base.")
    ] = ""
    decision: Annotated[
        Literal["open", "any", "accepted", "rejected", "needs_evidence"],
        Field(description="The decision on the fact; `open` means none."),
    ] = "open"
    sort: ReviewSort = "status"
    since: Annotated[int | None, Field(ge=0, le=2**53, description="Also list facts decided after this log event.")] = (
        None
    )


PRESETS: tuple[tuple[str, ReviewQuery], ...] = (
    ("Without a decision", ReviewQuery()),
    ("Contradicts the knowledge base", ReviewQuery(status="contradicts")),
    ("Does not rest on the sentences", ReviewQuery(support="not_sentences")),
    ("Needs evidence", ReviewQuery(decision="needs_evidence")),
    ("All", ReviewQuery(decision="any", sort="probability")),
)
"""Common questions about an extraction."""


_URGENCY = {"known": 0, "": 1, "contradicts": 2, "new": 3}
"""The sort order of statuses, highest first."""


@dataclass(frozen=True, kw_only=True)
class ReviewRow(FactRow):
    """A row of the table; `number` is its line in the file, from 0; `decision` may be empty."""

    status: str
    decision: str


class ReviewTable(FactTable[ReviewQuery, ReviewRow]):
    """The facts of one file, with the byte offset of each line and the decision on each fact.

    `_event_F` is the log event that made the decision, 0 for none.
    """

    row_type = ReviewRow

    def __init__(self, path: Path) -> None:
        columns, self.start_F1 = read_columns(path)
        super().__init__(columns)
        self._statuses, self._status_F = coded(columns["status"])
        ids = (columns[name] for name in Triple._fields)
        self._keys = pc.binary_join_element_wise(*ids, pa.scalar(_BETWEEN, _TEXT))
        self._lock = Lock()
        self._decision_F = np.zeros(self.num_facts, np.int8)
        self._event_F = np.zeros(self.num_facts, np.int64)
        self.last_event = 0

    def follow(self, connection: Connection) -> None:
        """Apply the decisions made since the last call."""
        with self._lock:
            news = decided_since(connection, self.last_event)
            if not news:
                return
            matched = pc.index_in(self._keys, value_set=_keys(news))
            rows = np.flatnonzero(matched.is_valid().to_numpy(zero_copy_only=False))
            which = matched.drop_null().to_numpy(zero_copy_only=False)
            self._decision_F[rows] = np.array([CHOICES.index(decision) for _, decision in news.values()])[which]
            self._event_F[rows] = np.array([event for event, _ in news.values()])[which]
            self.last_event = max(event for event, _ in news.values())

    def find(self, fact: Triple) -> int | None:
        """Return the index of a fact, or None if the file does not have it."""
        row = pc.index(self._keys, _keys([fact])[0]).as_py()
        return None if row < 0 else row

    @property
    def num_decided(self) -> int:
        """The number of decided facts."""
        return int(np.count_nonzero(~self._is_open()))

    def _is_open(self) -> np.ndarray:
        """Return a mask of facts that need a decision, including those whose decision is damaged."""
        return np.isin(self._decision_F, (CHOICES.index(""), CHOICES.index(DAMAGED)))

    def _own_columns(self, numbers: np.ndarray) -> dict[str, list[Any]]:
        return {
            "status": [self._statuses[code] for code in self._status_F[numbers].tolist()],
            "decision": [CHOICES[code] for code in self._decision_F[numbers].tolist()],
        }

    def _numbers(self, sort: str) -> np.ndarray | None:
        if sort == "status":
            urgency_S = np.array([_URGENCY[name] for name in self._statuses], np.float64)
            # Within a status the most probable comes first.
            value_F: np.ndarray = 2 * urgency_S[self._status_F] + self.probability_F
            return value_F
        return super()._numbers(sort)

    def _tests(self, query: ReviewQuery) -> list[np.ndarray]:
        tests = [self._status_F == code(self._statuses, query.status)] if query.status else []
        if query.decision != "any":
            is_open = query.decision == "open"
            fits_F = self._is_open() if is_open else self._decision_F == CHOICES.index(query.decision)
            tests.append(fits_F if query.since is None else fits_F | (self._event_F > query.since))
        return tests
