"""The interface of a kernel: the highest sum of table rows over the windows of a group, and which window it was.

Shapes: S sentences, T tokens of all sentences end to end, G groups of windows (`num_pieces` for each sentence), Y
distinct tokens, Q distances, K filter widths, F filters of all widths (F / K of each, narrow widths first),
A = Σ width · F / K columns of a table.

Words are frozen and few are distinct, so each filter's product with each distinct token and each distance is computed
once, as rows of three tables; a filter's value at a window is then a sum of looked-up values. The column of filter f at
tap j of a width is `first column of the width + j · F / K + f`.

A kernel is a module with two functions:

- `peaks(tables, codes, windows) -> (peak_GF, token_GF)`: each filter's highest value in each group, −inf in a group
  without windows; and the token that the first window with this value belongs to (its start + `before`; int32; −1 in a
  group without windows).
- `gradients(grad_GF, token_GF, rows, codes, windows) -> Gradients`: from the gradient of the peaks.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The windows of a sentence. The window of width w that starts at token z covers tokens z … z + w − 1.

    With one piece (the maximum over time), these are the windows within the sentence, or the first window if the
    sentence is too short. With more pieces (piecewise maximum), each token has one window, which starts `before` tokens
    before it and is in the group of the token's piece. Beyond the sentence, a window covers zeros.
    """

    widths: tuple[int, ...]
    num_filters: int
    before: int = 0
    num_pieces: int = 1

    @cached_property
    def first_columns(self) -> tuple[int, ...]:
        """The first column of each width in a table, then A."""
        return tuple(accumulate((width * self.num_filters for width in self.widths), initial=0))


class Codes(NamedTuple):
    """Each token's rows in the three tables and its piece, and the starts of sentences; all int32."""

    word_T: Tensor
    head_T: Tensor
    tail_T: Tensor
    piece_T: Tensor
    start_S1: Tensor


class ProductTables(NamedTuple):
    """The products of all taps of all filters with the distinct tokens and with the distances to head and tail."""

    word_YA: Tensor
    head_QA: Tensor
    tail_QA: Tensor


class TokenRows(NamedTuple):
    """The factors of the products: vectors of the distinct tokens, the last U of them learned, and Q distances."""

    row_YW: Tensor
    num_learned: int
    num_distances: int


class Gradients(NamedTuple):
    """The gradients of the filters' word columns, and of the table rows for learned tokens and for distances."""

    weight_AW: Tensor
    learned_UA: Tensor
    head_QA: Tensor
    tail_QA: Tensor
