"""Whether the numbers of a table can be what they stand for: places in lists that are long enough.

Shapes: B bags, N sentences.
"""

from dataclasses import dataclass, fields

import numpy as np

from sayso.store.rows import Rows
from sayso.store.table import BagTable


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many words, entities, relations and documents there are."""

    words: int
    entities: int
    relations: int
    documents: int


def fault_of(table: BagTable, limits: Limits) -> str:
    """Return the first thing that is wrong with a table; empty where nothing is."""
    return _odd_shape(table) or _odd_range(table, limits)


def is_finite(values: np.ndarray) -> bool:
    """Say whether no value is infinite or not a number, without a copy."""
    return not values.size or bool(np.isfinite(values.min()) and np.isfinite(values.max()))


def is_within(values: np.ndarray, low: int, stop: int) -> bool:
    """Say whether all values are whole numbers from `low` up to, not with, `stop`."""
    if values.dtype.kind not in "iu":
        return False
    return not values.size or bool(low <= values.min() and values.max() < stop)


_ROWS = frozenset({"relations", "tokens", "head_spans", "tail_spans", "glued", "curly"})
_PAIRS = frozenset({"window_N2", "place_N2"})
_PER_BAG = frozenset({"head_B", "tail_B", "relations"})


def _odd_shape(table: BagTable) -> str:
    num_bags, num_sentences = len(table.first_B1) - 1, len(table.tokens)
    for field in fields(table):
        column, name = getattr(table, field.name), field.name
        if isinstance(column, Rows) != (name in _ROWS):
            return f"{name} has another form"
        if name != "first_B1" and len(column) != (num_bags if name in _PER_BAG else num_sentences):
            return f"{name} has {len(column):,} rows"
        if name in _PAIRS and column.shape[1:] != (2,):
            return f"{name} are not pairs"
    return "" if table.expresses_N.dtype.kind == "f" else "expresses_N are not numbers"


def _odd_range(table: BagTable, limits: Limits) -> str:
    longest = int(table.tokens.length.max(initial=0))
    first = table.first_B1
    ranges = {
        "head_B": (table.head_B, 0, limits.entities),
        "tail_B": (table.tail_B, 0, limits.entities),
        "relations": (table.relations.value, 0, limits.relations),
        "first_B1": (first, 0, len(table.tokens) + 1),
        "tokens": (table.tokens.value, 0, limits.words),
        "head_spans": (table.head_spans.value, 0, longest + 1),
        "tail_spans": (table.tail_spans.value, 0, longest + 1),
        "window_N2": (table.window_N2, 0, longest + 1),
        "document_N": (table.document_N, -1, limits.documents),
        "place_N2": (table.place_N2, -1, 2**62),
        "glued": (table.glued.value, 0, longest + 1),
        "curly": (table.curly.value, 0, 2**31),
    }
    for name, (values, low, stop) in ranges.items():
        if not is_within(values, low, stop):
            return f"a value of {name} is not from {low} to {stop - 1:,}"
    if first[0] != 0 or np.any(first[1:] < first[:-1]):
        return "bags do not follow each other"
    return ""
