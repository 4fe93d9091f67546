"""An open file of facts written by `sayso extract`: its table, read in one pass, and the decisions on the facts.

Shapes: F facts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sayso.annotate.decisions import DAMAGED, decided_since
from sayso.annotate.store import Connection
from sayso.errors import BadInputError
from sayso.facts.fact import DECISIONS, ExtractedFact
from sayso.facts.file import WITHHELD, fact_at, manifest_next_to, not_a_fact, refuse_damaged
from sayso.input_file import holds_no, os_error
from sayso.io.checksum import ChangedError, signature_of
from sayso.readers.base import BadLine
from sayso.readers.files import MAX_LINE_BYTES, is_not_blank, read_lines, read_lines_between
from sayso.records import Triple
from sayso.serve.fact_table import FactRow, FactTable, TableQuery, coded

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
    starts = [0]

    def read_rows() -> Iterator[dict[str, object]]:
        for number, line in enumerate(_lines(path), 1):
            starts.append(starts[-1] + len(line))
            yield _row(path, number, line)

    rows = read_rows()
    chunks = iter(lambda: list(islice(rows, _ROWS_AT_A_TIME)), [])
    table = pa.Table.from_batches((pa.RecordBatch.from_pylist(chunk, _SCHEMA) for chunk in chunks), _SCHEMA)
    return {name: table[name].combine_chunks() for name in _SCHEMA.names}, np.array(starts, np.int64)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES):
                yield line
    except OSError as error:
        raise os_error(path, error) from error


def _row(path: Path, number: int, line: bytes) -> dict[str, object]:
    try:
        fact = fact_at(path, number, line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise not_a_fact(path, number, str(error)) from None
    return {**vars(fact), "support": fact.support.kind}


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
        statuses, status_F = self.codes["status"] = coded(columns["status"])
        # Within a status the most probable comes first.
        self.values["status"] = np.array([2.0 * _URGENCY[name] for name in statuses])[status_F] + self.probability_F
        ids = (columns[name] for name in Triple._fields)
        self._keys = pc.binary_join_element_wise(*ids, pa.scalar(_BETWEEN, _TEXT))
        self._lock = Lock()
        self._event_F = np.zeros(self.num_facts, np.int64)
        self.last_event = 0
        self._keep(np.zeros(self.num_facts, np.int8))

    def follow(self, connection: Connection) -> None:
        """Apply the decisions made since the last call."""
        with self._lock:
            news = decided_since(connection, self.last_event)
            if not news:
                return
            matched = pc.index_in(self._keys, value_set=_keys(news))
            rows = np.flatnonzero(matched.is_valid().to_numpy(zero_copy_only=False))
            which = matched.drop_null().to_numpy(zero_copy_only=False)
            decision_F = self._decision_F.copy()
            decision_F[rows] = np.array([CHOICES.index(decision) for _, decision in news.values()])[which]
            self._keep(decision_F)
            self._event_F[rows] = np.array([event for event, _ in news.values()])[which]
            self.last_event = max(event for event, _ in news.values())

    def _keep(self, decision_F: np.ndarray) -> None:
        self._decision_F = decision_F
        self.columns["decision"] = pa.DictionaryArray.from_arrays(decision_F, list(CHOICES))

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

    def _tests(self, query: ReviewQuery) -> Iterator[np.ndarray]:
        yield from super()._tests(query)
        if query.decision != "any":
            is_open = query.decision == "open"
            fits_F = self._is_open() if is_open else self._decision_F == CHOICES.index(query.decision)
            yield fits_F if query.since is None else fits_F | (self._event_F > query.since)


class ExtractedFile:
    """A file of facts and its name in URLs; a fact's record is read when it is shown.

    `threshold` is from the extraction's manifest, or None without one; `threshold_note` states the precision measured
    at it. Some relations may have thresholds of their own. Opening the file checks only the first line.
    """

    def __init__(self, name: str, path: Path) -> None:
        if path.suffix == ".gz":
            fault = "the file is compressed; decompress it first, since facts are read by byte offset"
            raise BadInputError(f"{path}: {fault}")
        refuse_damaged(path)
        if not any(map(is_not_blank, read_lines(path))):
            raise holds_no(path, "facts")
        _fact_between(path, 1, 0, 1)
        self.name = name
        self.path = path
        manifest = manifest_next_to(path)
        self.threshold = _number(manifest.get("threshold"))
        self._thresholds = manifest.get("thresholds") or {}
        self.threshold_note = _threshold_note(self.threshold, manifest.get("threshold_chosen"))
        self._signature: tuple[int, ...] = ()
        self._index: ReviewTable | None = None
        self._lock = Lock()

    @property
    def index(self) -> ReviewTable:
        """The table of facts, built when first needed."""
        with self._lock:
            if self._index is None:
                self._signature = self._now()
                self._index = ReviewTable(self.path)
            return self._index

    def threshold_of(self, relation: str) -> float | None:
        """Return the lowest probability of a fact with this relation; None if unknown."""
        return _number(self._thresholds.get(relation, self.threshold))

    def _now(self) -> tuple[int, ...]:
        return signature_of(self.path.stat()) if self.path.is_file() else ()

    def fact(self, row: int) -> ExtractedFact:
        """Return a fact with its quotes."""
        index = self.index
        if self._now() != self._signature:
            raise ChangedError(f"{self.path}: the file has changed since it was read")
        start, stop = index.start_F1[row : row + 2].tolist()
        return _fact_between(self.path, row + 1, start, stop)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _threshold_note(threshold: float | None, chosen: object) -> str:
    """Describe the threshold and the precision measured when it was chosen; empty if unknown."""
    if threshold is None:
        return ""
    measured = chosen if isinstance(chosen, dict) else {}
    if measured.get("measured_on") == WITHHELD:
        low, high = measured["interval"]
        return (
            f"Thresholds for a precision of {measured['wanted_precision']:g}: expect {measured['precision']:.2f} (90 %:"
            f" {low:.2f} to {high:.2f}) of the new facts to be right, {measured['assumption']}."
        )
    precision, recall = _number(measured.get("precision")), _number(measured.get("recall"))
    if precision is None or recall is None:
        return f"Threshold {threshold:g}; the precision of these facts was not measured."
    return (
        f"Threshold {threshold:.3f}: precision {precision:.2f} and recall {recall:.2f} on validation pairs;"
        " the precision of new facts was not measured and will be lower."
    )


def _fact_between(path: Path, number: int, start: int, stop: int) -> ExtractedFact:
    """Return the fact on the line between two byte offsets."""
    _, text = next(read_lines_between(path, start, stop), (0, BadLine("the line is missing")))
    return fact_at(path, number, text)
