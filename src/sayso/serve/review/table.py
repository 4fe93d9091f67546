"""The table of an extraction: its facts, the sentences that they quote, and the decisions on them.

Shapes: F facts, Q quotes of all facts, grouped by fact, S distinct sentences among the quotes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from sayso.annotate.decisions import DAMAGED, decided_since
from sayso.annotate.store import Connection
from sayso.facts.fact import DECISIONS, ExtractedFact
from sayso.facts.file import fact_at, not_a_fact
from sayso.facts.quote import Quote
from sayso.input_file import os_error
from sayso.readers.files import MAX_LINE_BYTES
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


class Columns(NamedTuple):
    """The columns of a file of facts, the byte offset of each line and of the end of the file, and the quotes.

    `sentence_Q` has the sentence of each quote, in rank order within a fact; the quotes of a fact begin at
    `first_Q_F1`. `text_S` and `document_S` are the text of each sentence and the id of its document, which may be
    empty.
    """

    facts: dict[str, pa.Array]
    start_F1: np.ndarray
    first_Q_F1: np.ndarray
    sentence_Q: np.ndarray
    text_S: pa.Array
    document_S: pa.Array


def read_columns(path: Path) -> Columns:
    """Read a file of facts in one pass; raise on a line that is not a fact."""
    starts, first, sentences = [0], [0], list[int]()
    known: dict[object, int] = {}
    texts, documents = list[str](), list[str]()

    def number_of(quote: Quote) -> int:
        place = quote.source[:3] if quote.source else quote.sentence
        if (number := known.setdefault(place, len(known))) == len(texts):
            texts.append(quote.sentence)
            documents.append(quote.source.document_id if quote.source else "")
        return number

    def read_rows() -> Iterator[dict[str, object]]:
        for number, line in enumerate(_lines(path), 1):
            fact = _fact(path, number, line)
            starts.append(starts[-1] + len(line))
            sentences.extend(map(number_of, sorted(fact.quotes, key=lambda each: each.rank)))
            first.append(len(sentences))
            yield {**vars(fact), "support": fact.support.kind}

    rows = read_rows()
    chunks = iter(lambda: list(islice(rows, _ROWS_AT_A_TIME)), [])
    table = pa.Table.from_batches((pa.RecordBatch.from_pylist(chunk, _SCHEMA) for chunk in chunks), _SCHEMA)
    facts = {name: table[name].combine_chunks() for name in _SCHEMA.names}
    start_F1, first_Q_F1, sentence_Q = (np.array(each, np.int64) for each in (starts, first, sentences))
    text_S, document_S = pa.array(texts, _TEXT), pa.array(documents, _TEXT)
    return Columns(facts, start_F1, first_Q_F1, sentence_Q, text_S, document_S)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES):
                yield line
    except OSError as error:
        raise os_error(path, error) from error


def _fact(path: Path, number: int, line: bytes) -> ExtractedFact:
    try:
        return fact_at(path, number, line.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise not_a_fact(path, number, str(error)) from None


CHOICES = ("", *DECISIONS, DAMAGED)
"""Decisions by their code; 0 means none."""
_BETWEEN = "\x1f"


def _keys(facts: Iterable[Triple]) -> pa.Array:
    return pa.array([_BETWEEN.join(fact) for fact in facts], _TEXT)


Grouping = Literal["", "pair", "sentence"]
DecisionFilterName = Annotated[
    Literal["open", "any", "accepted", "rejected", "needs_evidence"],
    Field(description="The decision on the fact; `open` means none."),
]
ReviewSort = Literal["status", "probability", "support", "sentences", "relation", "head", "tail"]


class ReviewQuery(TableQuery):
    """Filters for extracted facts; by default those without a decision, new ones first.

    Facts that were decided after the log event `since` stay in the list while someone works through it.
    """

    unfolded: ClassVar[frozenset[str]] = TableQuery.unfolded | {"text", "group", "since"}

    text: Annotated[str, Field(max_length=200, description="Words that a quoted sentence contains.")] = ""
    id: Annotated[str, Field(max_length=2_000, description="Id of the head, the tail or the document of a quote.")] = ""
    sentence: Annotated[
        int | None, Field(ge=0, le=2**53, description="A quoted sentence, by its number in the file.")
    ] = None
    group: Annotated[
        Grouping, Field(description="List facts with the same pair, or the same top-ranked sentence, together.")
    ] = ""
    status: Annotated[
        Literal["", "new", "known", "contradicts"], Field(description="How the fact compares with the knowledge base.")
    ] = ""
    decision: DecisionFilterName = "open"
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
        self._quotes = quotes = read_columns(path)
        columns, self.start_F1 = quotes.facts, quotes.start_F1
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

    def find_all(self, query: ReviewQuery) -> np.ndarray:
        """Return the indices of all matching facts, sorted; each group is where its first fact is."""
        found = super().find_all(query)
        if not query.group or not len(found):
            return found
        _, first, group = np.unique(self.group_F(query.group)[found], return_index=True, return_inverse=True)
        return found[np.argsort(first[group.reshape(-1)], kind="stable")]

    def group_F(self, grouping: Grouping) -> np.ndarray:
        """Return the group of each fact: its pair, or its top-ranked sentence."""
        return self._pair_F if grouping == "pair" else self._top_sentence_F

    @cached_property
    def _pair_F(self) -> np.ndarray:
        ids = (self.columns[name] for name in ("head_id", "tail_id"))
        return coded(pc.binary_join_element_wise(*ids, pa.scalar(_BETWEEN, _TEXT)))[1]

    @cached_property
    def _top_sentence_F(self) -> np.ndarray:
        """The sentence of each fact's first quote; a fact without quotes is a group of its own."""
        first_F, num_sentences = self._quotes.first_Q_F1[:-1], len(self._quotes.text_S)
        has_quote_F = np.diff(self._quotes.first_Q_F1) > 0
        top_F = num_sentences + np.arange(self.num_facts)
        top_F[has_quote_F] = self._quotes.sentence_Q[first_F[has_quote_F]]
        return top_F

    def sentence_text(self, number: int) -> str:
        """Return the text of a sentence; empty if there is none with this number."""
        text_S = self._quotes.text_S
        return text_S[number].as_py() if number < len(text_S) else ""

    def shared_sentences(self, row: int) -> list[tuple[int, int]]:
        """Return the number of each sentence that a fact quotes, in rank order, and how many facts quote it."""
        first, stop = self._quotes.first_Q_F1[row : row + 2].tolist()
        return [(number, int(self._num_facts_S[number])) for number in self._quotes.sentence_Q[first:stop].tolist()]

    @cached_property
    def _num_facts_S(self) -> np.ndarray:
        return np.bincount(self._quotes.sentence_Q, minlength=len(self._quotes.text_S))

    @cached_property
    def _lower_S(self) -> pa.Array:
        return pc.utf8_lower(self._quotes.text_S)

    def _quoting(self, is_asked_S: np.ndarray) -> np.ndarray:
        """Return a mask of the facts that quote one of these sentences."""
        fact_Q = np.repeat(np.arange(self.num_facts), np.diff(self._quotes.first_Q_F1))
        return np.bincount(fact_Q[is_asked_S[self._quotes.sentence_Q]], minlength=self.num_facts) > 0

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
        if words := query.text.lower().split():
            has_words = (pc.match_substring(self._lower_S, word) for word in words)
            yield self._quoting(np.logical_and.reduce([_mask(each) for each in has_words]))
        if query.id:
            ids = (self.columns["head_id"], self.columns["tail_id"])
            is_entity = [_mask(pc.equal(each, query.id)) for each in ids]
            yield np.logical_or.reduce([*is_entity, self._quoting(_mask(pc.equal(self._quotes.document_S, query.id)))])
        if query.sentence is not None:
            yield self._quoting(np.arange(len(self._quotes.text_S)) == query.sentence)
        if query.decision != "any":
            is_open = query.decision == "open"
            fits_F = self._is_open() if is_open else self._decision_F == CHOICES.index(query.decision)
            yield fits_F if query.since is None else fits_F | (self._event_F > query.since)


def _mask(values: pa.Array) -> np.ndarray:
    mask: np.ndarray = values.to_numpy(zero_copy_only=False)
    return mask
