"""The kernel for CPUs, compiled by numba: sums stay in registers, and window values are never written to memory.

Shapes as in `base`, X distinct windows of distances, and J their length.

The distances within a window are nearly always the same few sequences (… −3 −2 −1 0 1 …), so their sums are tabulated
for each distinct sequence of the batch: two rows to add per window instead of two per token. What remains is reading
rows of a table too large for any cache, in an order that the processor cannot predict, so rows are prefetched.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from torch import Tensor

from sayso.model.kernels.base import Array, Codes, Gradients, ProductTables, TokenRows, Windows
from sayso.model.kernels.threads import in_threads, shares

_LINE = 64
"""The size of a cache line in bytes."""
_AHEAD = 3
"""How many tokens ahead of its first use a row is prefetched."""


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def prefetch(table_YA: Array, row: int, first: int, num: int) -> None:
    """Prefetch `num` columns of a row, starting at `first`."""
    address = table_YA.ctypes.data + row * table_YA.strides[0] + first * table_YA.itemsize
    for offset in range(0, num * table_YA.itemsize, _LINE):
        _ask_for(address + offset)  # type: ignore[call-arg]


@intrinsic
def _ask_for(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """Prefetch the cache line at an address."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ARG001
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        # For reading (0), keep in all cache levels (3), data and not instructions (1).
        builder.call(ask, [builder.inttoptr(values[0], byte), *(number(flag) for flag in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(address), emit


def peaks(tables: ProductTables, codes: Codes, windows: Windows) -> tuple[Tensor, Tensor]:
    """Return peak_GF and token_GF."""
    word_YA, head_QA, tail_QA = map(_array, tables)
    code_T, head_T, tail_T, piece_T, start_S1 = map(_array, codes)
    num_groups = windows.num_pieces * (len(start_S1) - 1)
    num_all = windows.num_filters * len(windows.widths)
    peak_GF = np.full((num_groups, num_all), -np.inf, word_YA.dtype)
    token_GF = np.full((num_groups, num_all), -1, np.int32)
    reach = windows.widths[-1]
    head, tail = in_threads(
        distinct_sequences, [(row_T, start_S1, windows.before, reach) for row_T in (head_T, tail_T)]
    )
    for k, width in enumerate(windows.widths):
        first, filters = windows.first_columns[k], windows.num_filters
        head_XF = _sequence_sums(head_QA, head.row_XJ, first, filters, width)
        tail_XF = _sequence_sums(tail_QA, tail.row_XJ, first, filters, width)
        fixed: tuple[Any, ...] = (word_YA, first, filters, code_T, piece_T, start_S1, windows.before)
        fixed += (windows.num_pieces, head_XF, head.index_T, tail_XF, tail.index_T, peak_GF, token_GF, k * filters)
        in_threads(_peaks_of_width(width), [(*fixed, start, stop) for start, stop in shares(len(start_S1) - 1)])
    return torch.from_numpy(peak_GF), torch.from_numpy(token_GF)


def gradients(grad_GF: Tensor, token_GF: Tensor, rows: TokenRows, codes: Codes, windows: Windows) -> Gradients:
    """Return the gradients; the filters' gradient comes directly from the rows of the winning windows' tokens.

    For each (group, filter), only the winning window has a gradient (about 1 window in 39), so this is far less work
    than a product with whole tables.
    """
    row_YW = _array(rows.row_YW)
    grad_FG, token_FG = _array(grad_GF.T), _array(token_GF.T)
    num_columns, dtype = windows.first_columns[-1], row_YW.dtype
    weight_AW = np.zeros((num_columns, row_YW.shape[1]), dtype)
    # Transposed, so that each thread writes to its own rows.
    learned_AU = np.zeros((num_columns, rows.num_learned), dtype)
    head_AQ, tail_AQ = (np.zeros((num_columns, rows.num_distances), dtype) for _ in range(2))
    code_T, head_T, tail_T, _, start_S1 = map(_array, codes)
    for k, width in enumerate(windows.widths):
        first, filters = windows.first_columns[k], windows.num_filters
        own = slice(k * filters, None)
        fixed: tuple[Any, ...] = (grad_FG[own], token_FG[own], row_YW, len(row_YW) - rows.num_learned)
        fixed += (
            code_T,
            head_T,
            tail_T,
            start_S1,
            windows.before,
            windows.num_pieces,
            first,
            filters,
            width,
            weight_AW,
            learned_AU,
            head_AQ,
            tail_AQ,
        )
        in_threads(_add_gradients, [(*fixed, start, stop) for start, stop in shares(filters)])
    return Gradients(*map(torch.from_numpy, (weight_AW, learned_AU.T, head_AQ.T, tail_AQ.T)))


def _array(tensor: Tensor) -> np.ndarray:
    array: np.ndarray = tensor.detach().contiguous().numpy()
    return array


@njit(nogil=True, cache=True, error_model="numpy")
def _sequence_sums(table_QA: Array, row_XJ: Array, first: int, num_filters: int, width: int) -> Array:
    """Return the sum of each sequence's table rows, taking from each row the columns of its tap; row −1 is zeros."""
    sum_XF = np.zeros((len(row_XJ), num_filters), table_QA.dtype)
    for x in range(len(row_XJ)):
        for j in range(width):
            if row_XJ[x, j] >= 0:
                for f in range(num_filters):
                    sum_XF[x, f] += table_QA[row_XJ[x, j], first + j * num_filters + f]
    return sum_XF


@cache
def _peaks_of_width(width: int) -> Callable[..., None]:  # noqa: C901, PLR0915
    """Return the compiled kernel of one width, at most 5."""

    # Unrolled by hand because the compiler does not do it: twice as fast as a loop over the taps.
    @njit(nogil=True, cache=True, error_model="numpy")
    def add_and_compare(  # noqa: C901, PLR0915
        word_YA: Array, first: int, num_f: int, code_T: Array, piece_T: Array, start_S1: Array, before: int,
        pieces: int, head_XF: Array, head_T: Array, tail_XF: Array, tail_T: Array, peak_GF: Array, token_GF: Array,
        column: int, from_sentence: int, to_sentence: int,
    ) -> None:  # fmt: skip
        for s in range(from_sentence, to_sentence):
            begin, end = start_S1[s], start_S1[s + 1]
            last = end if pieces > 1 else min(end, max(end - width, begin) + 1)
            for t in range(begin, last):
                z = t - before
                group = pieces * s + (piece_T[t] if pieces > 1 else 0)
                peak_F = peak_GF[group, column : column + num_f]
                best_F = token_GF[group, column : column + num_f]
                head_F, tail_F = head_XF[head_T[t]], tail_XF[tail_T[t]]
                soon = z + width - 1 + _AHEAD
                if soon < len(code_T):
                    prefetch(word_YA, code_T[soon], first, width * num_f)
                if z < begin or z + width > end:
                    _compare_at_edge(word_YA, first, width, code_T, z, begin, end, head_F, tail_F, peak_F, best_F, t)
                    continue
                row0_F = word_YA[code_T[z], first : first + num_f]
                if width > 1:
                    row1_F = word_YA[code_T[z + 1], first + num_f : first + 2 * num_f]
                if width > 2:
                    row2_F = word_YA[code_T[z + 2], first + 2 * num_f : first + 3 * num_f]
                if width > 3:
                    row3_F = word_YA[code_T[z + 3], first + 3 * num_f : first + 4 * num_f]
                if width > 4:
                    row4_F = word_YA[code_T[z + 4], first + 4 * num_f : first + 5 * num_f]
                for f in range(num_f):
                    value = head_F[f] + tail_F[f] + row0_F[f]
                    if width > 1:
                        value += row1_F[f]
                    if width > 2:
                        value += row2_F[f]
                    if width > 3:
                        value += row3_F[f]
                    if width > 4:
                        value += row4_F[f]
                    # Keep NaN.
                    if value > peak_F[f] or np.isnan(value):
                        peak_F[f] = value
                        best_F[f] = t

    return add_and_compare


@njit(nogil=True, cache=True, error_model="numpy")
def _compare_at_edge(
    word_YA: Array, first: int, width: int, code_T: Array, start: int, begin: int, end: int, head_F: Array,
    tail_F: Array, peak_F: Array, best_F: Array, token: int,
) -> None:  # fmt: skip
    """Compare the values of a window that extends beyond its sentence."""
    num_filters = len(peak_F)
    value_F = head_F + tail_F
    for j in range(width):
        if begin <= start + j < end:
            column = first + j * num_filters
            value_F += word_YA[code_T[start + j], column : column + num_filters]
    for f in range(num_filters):
        if value_F[f] > peak_F[f] or np.isnan(value_F[f]):
            peak_F[f] = value_F[f]
            best_F[f] = token


@njit(nogil=True, cache=True, error_model="numpy")
def _add_gradients(
    grad_FG: Array, token_FG: Array, row_YW: Array, first_learned: int, code_T: Array, head_T: Array, tail_T: Array,
    start_S1: Array, before: int, num_pieces: int, first: int, num_filters: int, width: int, weight_AW: Array,
    learned_AU: Array, head_AQ: Array, tail_AQ: Array, from_filter: int, to_filter: int,
) -> None:  # fmt: skip
    num_values = row_YW.shape[1]
    for f in range(from_filter, to_filter):
        for g in range(grad_FG.shape[1]):
            grad, t = grad_FG[f, g], token_FG[f, g]
            if grad == 0.0 or t < 0:
                continue
            begin, end = start_S1[g // num_pieces], start_S1[g // num_pieces + 1]
            for j in range(width):
                z = t - before + j
                if begin <= z < end:
                    column = first + j * num_filters + f
                    code = code_T[z]
                    weight_W, row_W = weight_AW[column], row_YW[code]
                    for d in range(num_values):
                        weight_W[d] += grad * row_W[d]
                    head_AQ[column, head_T[z]] += grad
                    tail_AQ[column, tail_T[z]] += grad
                    if code >= first_learned:
                        learned_AU[column, code - first_learned] += grad


class Sequences(NamedTuple):
    """Distinct windows (`row_XJ`: word rows, −1 outside the sentence) and, per token, the index of its window."""

    row_XJ: Array
    index_T: Array


def distinct_sequences(row_T: Array, start_S1: Array, before: int, length: int) -> Sequences:
    """Return the distinct windows of `length` rows, each starting `before` tokens before its token."""
    most = int(row_T.max(initial=0)) + 2
    # If the key of a window would overflow an int64, treat every window as distinct, which only costs memory.
    first_X = index_T = np.arange(len(row_T), dtype=np.int32)
    if most**length < 2**63:
        num_slots = 1 << max(len(row_T) * 2 - 1, 1).bit_length()
        first_X, index_T = _number(row_T, start_S1, before, length, most, num_slots)
    sentence_X = np.searchsorted(start_S1, first_X, side="right") - 1
    place_XJ = first_X[:, None] - before + np.arange(length)
    is_inside_XJ = (place_XJ >= start_S1[sentence_X, None]) & (place_XJ < start_S1[sentence_X + 1, None])
    row_XJ = row_T[np.clip(place_XJ, 0, max(len(row_T) - 1, 0))]
    return Sequences(np.where(is_inside_XJ, row_XJ, -1), index_T)


@njit(nogil=True, cache=True)
def _number(row_T: Array, start_S1: Array, before: int, length: int, most: int, num_slots: int) -> tuple[Array, Array]:
    """Return the first token of each distinct window, and each token's window (a hash table with open addressing)."""
    slot_key = np.full(num_slots, -1, np.int64)
    slot_index = np.empty(num_slots, np.int32)
    first_X = np.empty(len(row_T), np.int32)
    index_T = np.empty(len(row_T), np.int32)
    num = 0
    for s in range(len(start_S1) - 1):
        for t in range(start_S1[s], start_S1[s + 1]):
            key = np.int64(0)
            for z in range(t - before, t - before + length):
                key = key * most + (row_T[z] + 1 if start_S1[s] <= z < start_S1[s + 1] else 0)
            # Multiply by an odd number, so that keys that differ only in their high digits do not collide.
            slot = ((key * np.int64(-7046029254386353131)) >> np.int64(24)) & np.int64(num_slots - 1)
            while slot_key[slot] != -1 and slot_key[slot] != key:
                slot = (slot + 1) & (num_slots - 1)
            if slot_key[slot] == -1:
                slot_key[slot] = key
                slot_index[slot] = num
                first_X[num] = t
                num += 1
            index_T[t] = slot_index[slot]
    return first_X[:num], index_T
