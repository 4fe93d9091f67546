"""Collected sentences on disk, filed by pair, so that a corpus larger than memory can be grouped.

Shapes: N sentences, K shelves.
"""

from collections.abc import Iterator

import numpy as np

from sayso.io.shuffle import Shelves, ranges_of_shelves
from sayso.store.collect import Collected
from sayso.store.rows import Rows

_NUM_SHELVES = 1024
_LINES = ("head_N", "tail_N", "text_N", "window_N2")
_ROWS = ("tokens", "head_spans", "tail_spans")


class FiledSentences:
    """Sentences on shelves, all of a pair on one, in the order in which they were read."""

    def __init__(self) -> None:
        self._lines = Shelves(_NUM_SHELVES)
        self._rows = {name: Shelves(_NUM_SHELVES) for name in _ROWS}
        self._num_lines = 0

    def put(self, collected: Collected) -> None:
        """File the sentences that were read next."""
        shelf_N = _shelf(collected.head_N, collected.tail_N)
        columns = {name: getattr(collected, name) for name in _LINES}
        columns["line_N"] = np.arange(self._num_lines, self._num_lines + len(shelf_N))
        for name, shelves in self._rows.items():
            rows: Rows = getattr(collected, name)
            columns[name] = rows.length.astype(np.int32)
            shelves.put(np.repeat(shelf_N, rows.length), {"value": rows.value})
        self._lines.put(shelf_N, columns)
        self._num_lines += len(shelf_N)

    def portions(self, num_tokens: int) -> Iterator[tuple[Collected, np.ndarray]]:
        """Yield (sentences, the place of each in the stream), about this many tokens at a time, each pair whole."""
        for shelves in ranges_of_shelves(self._rows["tokens"].size_K, num_tokens):
            columns = self._lines.take(*shelves)
            line_N = columns.pop("line_N")
            if len(line_N):
                rows = {name: self._rows[name].take(*shelves)["value"] for name in _ROWS}
                columns |= {name: Rows.of_lengths(rows[name], columns[name]) for name in _ROWS}  # type: ignore[misc]
                yield Collected(**columns), line_N  # type: ignore[arg-type]


def _shelf(head_N: np.ndarray, tail_N: np.ndarray) -> np.ndarray:
    """Return a shelf for each pair; entities are numbered in order of appearance, so their numbers must be mixed."""
    mixed_N = head_N.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + tail_N.astype(np.uint64)
    mixed_N *= np.uint64(0xD6E8FEB86659FD93)
    return (mixed_N >> np.uint64(54)).astype(np.int64)
