"""All facts of an extraction as columns that can be sorted and filtered at once, with what was decided about them.

Shapes: F facts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sayso.annotate.decisions import DAMAGED
from sayso.records import Triple
from sayso.serve.predictions.table import FactTable, TablePage, code, coded
from sayso.serve.review.columns import FoundColumns
from sayso.serve.review.decided import CHOICES, DecidedSoFar
from sayso.serve.review.query import FoundQuery

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
