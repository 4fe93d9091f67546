"""How a pretrained encoder reads sentences: one after the other without padding, or in padded chunks of similar length.

Shapes: S sentences, Q sentences that are read, U their subwords, C sentences of a chunk, L the longest of these, W
needed vectors (those of the sentence token, of the head and of the tail, for all S sentences), H width of a vector.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sayso.model.subword_layout import SubwordLayout
from sayso.store.rows import Rows, ranges

_LEAST_FILLED = 0.8
"""A chunk ends before a sentence that is shorter than this fraction of its longest one."""
MULTIPLE = 8
"""Chunks are padded to a multiple of this many subwords, which is faster."""


class Reads(NamedTuple):
    """Q sentences to read, concatenated, and the vectors that S sentences need from them.

    Sentence q has the subwords from `start_Q1[q]` up to `start_Q1[q + 1]`; `position_U` counts them. The vector of
    subword `place_W`, times `weight_W`, is added to row `owner_W` = 3 s + i of the result: the sentence token (i = 0),
    the head (1) or the tail (2) of sentence s. Row 3 S is for padding.
    """

    id_U: Tensor
    position_U: Tensor
    start_Q1: Tensor
    place_W: Tensor
    owner_W: Tensor
    weight_W: Tensor
    num_sentences: int

    def pooled(self, needed_WH: Tensor, owner_W: Tensor, weight_W: Tensor) -> Tensor:
        """Return the needed vectors' weighted sums, those of each sentence side by side, [S, 3 H]."""
        weighted_WH = needed_WH * weight_W[:, None]
        pooled_XH = weighted_WH.new_zeros(3 * self.num_sentences + 1, needed_WH.shape[1])
        pooled_XH = pooled_XH.index_add(0, owner_W, weighted_WH)
        return pooled_XH[:-1].view(self.num_sentences, -1)


def reads_of(layout: SubwordLayout, is_shared: bool) -> Reads:
    """Return what to read for these sentences; if `is_shared`, those with the same subwords are read once."""
    begin_S, num_sentences = layout.start_S1[:-1], len(layout.start_S1) - 1
    places, owners = [begin_S], [3 * torch.arange(num_sentences, device=begin_S.device)]
    weights = [torch.ones(num_sentences, device=begin_S.device)]
    for number, (subword_P, sentence_P) in enumerate((layout.head, layout.tail), 1):
        places.append(subword_P)
        owners.append(3 * sentence_P + number)
        num_S = torch.zeros_like(begin_S).index_add_(0, sentence_P, torch.ones_like(sentence_P))
        weights.append(num_S[sentence_P].float().reciprocal())
    place_W, owner_W = torch.cat(places), torch.cat(owners)
    id_U, start_Q1 = layout.id_U, layout.start_S1
    if is_shared:
        id_U, start_Q1, reader_S = _distinct(layout)
        place_W = place_W + (start_Q1[reader_S] - begin_S)[owner_W // 3]
    position_U = torch.arange(len(id_U), device=id_U.device)
    position_U -= torch.repeat_interleave(start_Q1[:-1], start_Q1.diff(), output_size=len(id_U))
    return Reads(id_U, position_U, start_Q1, place_W, owner_W, torch.cat(weights), num_sentences)


def _distinct(layout: SubwordLayout) -> tuple[Tensor, Tensor, Tensor]:
    """Return the subwords and starts of the distinct sentences, and which of them each sentence is."""
    rows = Rows(layout.id_U.cpu().numpy(), layout.start_S1.cpu().numpy())
    _, first_Q, reader_S = np.unique(rows.hashes(), return_index=True, return_inverse=True)
    found = [torch.from_numpy(each).to(layout.id_U.device) for each in (*rows.take(first_Q), reader_S)]
    return found[0], found[1], found[2]


class PaddedReads:
    """Reads in chunks, in order of length; a chunk's needed vectors are adjacent in `owner_W` and `weight_W`."""

    def __init__(self, reads: Reads) -> None:
        self._start_Q1 = reads.start_Q1.cpu().numpy()
        self.length_Q = np.diff(self._start_Q1)
        self.order = np.argsort(-self.length_Q, kind="stable")
        self._rank_Q = np.empty_like(self.order)
        self._rank_Q[self.order] = np.arange(len(self.order))
        place_W = reads.place_W.cpu().numpy()
        reader_W = np.searchsorted(self._start_Q1, place_W, side="right") - 1
        by_rank = np.argsort(self._rank_Q[reader_W], kind="stable")
        self._reader_W, self._column_W = reader_W[by_rank], (place_W - self._start_Q1[reader_W])[by_rank]
        self._first_W = np.searchsorted(self._rank_Q[self._reader_W], np.arange(len(self.order) + 1))
        sorted_W = torch.from_numpy(by_rank).to(reads.owner_W.device)
        self.owner_W, self.weight_W = reads.owner_W[sorted_W], reads.weight_W[sorted_W]

    def chunks(self, num_subwords: int, least: int) -> Iterator[np.ndarray]:
        """Yield the sentences to read together, longest first: at most this many subwords, including padding."""
        length, first = self.length_Q[self.order], 0
        while first < len(length):
            by_size = first + max(num_subwords // _rounded(int(length[first])), 1)
            by_length = int(np.searchsorted(-length, -_LEAST_FILLED * length[first], side="right"))
            stop = min(by_size, max(by_length, first + least), len(length))
            yield self.order[first:stop]
            first = stop

    def padded(self, chunk: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the index of each subword in U (0 for padding), and a mask that is false for padding."""
        length_C = self.length_Q[chunk]
        column_L = np.arange(_rounded(int(length_C.max())))
        is_there_CL = column_L < length_C[:, None]
        place_CL = np.where(is_there_CL, self._start_Q1[chunk][:, None] + column_L, 0)
        return torch.from_numpy(place_CL).to(device), torch.from_numpy(is_there_CL).to(device)

    def needed(self, chunk: np.ndarray, device: torch.device) -> Tensor:
        """Return the indices of the needed vectors of a chunk's sentences among its C L vectors."""
        first, length = self._rank_Q[chunk[0]], _rounded(int(self.length_Q[chunk].max()))
        rows = slice(self._first_W[first], self._first_W[first + len(chunk)])
        place_W = (self._rank_Q[self._reader_W[rows]] - first) * length + self._column_W[rows]
        return torch.from_numpy(place_W).to(device)


class KeptStates:
    """A cache of the frozen layers' output for sentences, shared by runs with the same frozen layers."""

    def __init__(self) -> None:
        self.num_bytes = 0
        self._state: dict[int, Tensor] = {}

    def lacks(self, reads: Reads, chunk: np.ndarray) -> bool:
        """Return whether a sentence of the chunk is not kept."""
        return any(key not in self._state for key in _keys(reads, chunk))

    def padded(self, reads: Reads, chunk: np.ndarray, length: int, device: torch.device) -> Tensor | None:
        """Return state_CLH for the sentences of a chunk if all of them are kept."""
        found = [self._state.get(key) for key in _keys(reads, chunk)]
        rows = [each for each in found if each is not None]
        if len(rows) < len(found):
            return None
        padded_CLH = rows[0].new_zeros(len(rows), length, rows[0].shape[1])
        for row, state in enumerate(rows):
            padded_CLH[row, : len(state)] = state
        return padded_CLH.to(device)

    def keep(self, reads: Reads, chunk: np.ndarray, state_CLH: Tensor, max_bytes: int) -> None:
        """Keep the states of a chunk's sentences, while they need no more than this much memory."""
        length_C = reads.start_Q1.diff()[torch.from_numpy(chunk).to(reads.id_U.device)].tolist()
        for key, length, state_LH in zip(_keys(reads, chunk), length_C, state_CLH, strict=True):
            num_bytes = length * state_LH.shape[1] * state_LH.element_size()
            if key not in self._state and self.num_bytes + num_bytes <= max_bytes:
                self._state[key] = state_LH[:length].clone()
                self.num_bytes += num_bytes


def _keys(reads: Reads, chunk: np.ndarray) -> list[int]:
    start_Q1 = reads.start_Q1.cpu().numpy()
    length = np.diff(start_Q1)[chunk]
    rows = Rows.of_lengths(reads.id_U.cpu().numpy()[ranges(start_Q1[chunk], length)], length)
    keys: list[int] = rows.hashes().tolist()
    return keys


def _rounded(length: int) -> int:
    return -(-length // MULTIPLE) * MULTIPLE
