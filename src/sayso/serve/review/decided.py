"""What was decided about each fact of a file, kept up with the log of the database.

Shapes: F facts.
"""

from collections.abc import Iterable
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sayso.annotate.decisions import DAMAGED, decided_since
from sayso.annotate.store import Connection
from sayso.facts.decided import DECISIONS
from sayso.records import Triple

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
