"""Find the distinct token windows of a batch, so that each is computed only once.

Shapes: S sentences, T tokens, X distinct sequences, J their length.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Sequences(NamedTuple):
    """Distinct windows (`row_XJ`: word rows, −1 outside the sentence) and, per token, the index of its window."""

    row_XJ: np.ndarray
    index_T: np.ndarray


def distinct_sequences(row_T: np.ndarray, start_S1: np.ndarray, before: int, length: int) -> Sequences:
    """Return the distinct windows of `length` rows, each starting `before` tokens before its token."""
    most = int(row_T.max(initial=0)) + 2
    if most**length >= 2**63:
        # The key of a window would overflow an int64: treat every window as distinct, which only costs memory.
        index_T = np.arange(len(row_T), dtype=np.int32)
        return Sequences(_sequences_at(row_T, start_S1, before, length, index_T), index_T)
    num_slots = 1 << max(len(row_T) * 2 - 1, 1).bit_length()
    first_X, index_T = _number(row_T, start_S1, before, length, most, num_slots)
    return Sequences(_sequences_at(row_T, start_S1, before, length, first_X), index_T)


@njit(nogil=True, cache=True)
def _number(
    row_T: np.ndarray, start_S1: np.ndarray, before: int, length: int, most: int, num_slots: int
) -> tuple[np.ndarray, np.ndarray]:
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


def _sequences_at(row_T: np.ndarray, start_S1: np.ndarray, before: int, length: int, token_X: np.ndarray) -> np.ndarray:
    sentence_X = np.searchsorted(start_S1, token_X, side="right") - 1
    place_XJ = token_X[:, None] - before + np.arange(length)
    is_inside_XJ = (place_XJ >= start_S1[sentence_X, None]) & (place_XJ < start_S1[sentence_X + 1, None])
    row_XJ = row_T[np.clip(place_XJ, 0, max(len(row_T) - 1, 0))]
    return np.where(is_inside_XJ, row_XJ, -1)
