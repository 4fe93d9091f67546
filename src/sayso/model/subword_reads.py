"""How a pretrained encoder reads sentences: in padded chunks of similar length; shared texts only once.

Shapes: S sentences, U their subwords, C sentences of a chunk, L the longest of these, W needed vectors (those of the
sentence token, of the head and of the tail, for all sentences), H width of a vector.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from sayso.model.subword_layout import SubwordLayout
from sayso.store.rows import Rows, ranges

_LEAST_FILLED = 0.8
"""A chunk ends before a sentence that is shorter than this fraction of its longest one."""
MULTIPLE = 8
"""Chunks are padded to a multiple of this many subwords, which processors like."""


class Reads:
    """The sentences that are read, in order of length, and which of their vectors are needed.

    If `is_shared`, sentences with the same subwords are read once.
    """

    def __init__(self, layout: SubwordLayout, is_shared: bool) -> None:
        self.start_S1 = layout.start_S1.cpu().numpy()
        self.length_S = np.diff(self.start_S1)
        self.num_sentences = len(self.length_S)
        reader_S, is_read_S = np.arange(self.num_sentences), np.ones(self.num_sentences, bool)
        if is_shared:
            hash_S = Rows(layout.id_U.cpu().numpy(), self.start_S1).hashes()
            _, first_Q, inverse_S = np.unique(hash_S, return_index=True, return_inverse=True)
            reader_S = first_Q[inverse_S]
            is_read_S = reader_S == np.arange(self.num_sentences)
        self._collect_wanted(layout, reader_S)
        read = np.flatnonzero(is_read_S)
        self.order = read[np.argsort(-self.length_S[read], kind="stable")]
        self.rank_S = np.empty(self.num_sentences, np.int64)
        self.rank_S[self.order] = np.arange(len(self.order))
        by_rank = np.argsort(self.rank_S[self._reader_W], kind="stable")
        for name in ("_reader_W", "_column_W", "_owner_W", "_weight_W"):
            setattr(self, name, getattr(self, name)[by_rank])
        self._first_W = np.searchsorted(self.rank_S[self._reader_W], np.arange(len(self.order) + 1))

    def _collect_wanted(self, layout: SubwordLayout, reader_S: np.ndarray) -> None:
        """Collect, for each needed vector, the sentence read, its column there, its owner and its weight in a mean."""
        readers, columns, owners, weights = [reader_S], [np.zeros_like(reader_S)], [3 * np.arange(len(reader_S))], []
        weights.append(np.ones(len(reader_S)))
        for number, places in enumerate((layout.head, layout.tail), 1):
            subword_P, sentence_P = places.subword_P.cpu().numpy(), places.sentence_P.cpu().numpy()
            readers.append(reader_S[sentence_P])
            columns.append(subword_P - self.start_S1[sentence_P])
            owners.append(3 * sentence_P + number)
            weights.append(1.0 / np.bincount(sentence_P, minlength=len(reader_S))[sentence_P])
        self._reader_W, self._column_W = np.concatenate(readers), np.concatenate(columns)
        self._owner_W, self._weight_W = np.concatenate(owners), np.concatenate(weights)

    def chunks(self, num_subwords: int, least: int) -> Iterator[np.ndarray]:
        """Yield the sentences to read together, longest first: at most this many subwords with padding."""
        length, first = self.length_S[self.order], 0
        while first < len(length):
            by_size = first + max(num_subwords // _rounded(int(length[first])), 1)
            by_length = int(np.searchsorted(-length, -_LEAST_FILLED * length[first], side="right"))
            stop = min(by_size, max(by_length, first + least), len(length))
            yield self.order[first:stop]
            first = stop

    def padded(self, chunk: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return the index of each subword in U (0 for padding), and a mask that is false for padding."""
        length_C = self.length_S[chunk]
        column_L = np.arange(_rounded(int(length_C.max())))
        is_there_CL = column_L < length_C[:, None]
        place_CL = np.where(is_there_CL, self.start_S1[chunk][:, None] + column_L, 0)
        return torch.from_numpy(place_CL).to(device), torch.from_numpy(is_there_CL).to(device)

    def wanted(self, chunk: np.ndarray, state_CLH: Tensor) -> Tensor:
        """Return the needed vectors of a chunk's sentences."""
        first = self.rank_S[chunk[0]]
        rows = slice(self._first_W[first], self._first_W[first + len(chunk)])
        place_W = (self.rank_S[self._reader_W[rows]] - first) * state_CLH.shape[1] + self._column_W[rows]
        return torch.nn.functional.embedding(torch.from_numpy(place_W).to(state_CLH.device), state_CLH.flatten(0, 1))

    def owners(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return the row that each needed vector is added to, 3 s + (0, 1 or 2), and its weight, in reading order."""
        return torch.from_numpy(self._owner_W).to(like.device), torch.from_numpy(self._weight_W).to(like)


class KeptStates:
    """A cache of the frozen layers' output for sentences, up to a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._free = max_bytes
        self._state: dict[int, Tensor] = {}

    def padded(self, layout: SubwordLayout, chunk: np.ndarray, length: int, device: torch.device) -> Tensor | None:
        """Return state_CLH for the sentences of a chunk if all of them are kept."""
        found = [self._state.get(key) for key in _keys(layout, chunk)]
        rows = [each for each in found if each is not None]
        if len(rows) < len(found):
            return None
        padded_CLH = rows[0].new_zeros(len(rows), length, rows[0].shape[1])
        for row, state in enumerate(rows):
            padded_CLH[row, : len(state)] = state
        return padded_CLH.to(device)

    def keep(self, layout: SubwordLayout, chunk: np.ndarray, state_CLH: Tensor) -> None:
        """Keep the states of a chunk's sentences while there is room."""
        length_C = layout.length_S[torch.from_numpy(chunk).to(layout.id_U.device)].tolist()
        for key, length, state_LH in zip(_keys(layout, chunk), length_C, state_CLH, strict=True):
            num_bytes = length * state_LH.shape[1] * state_LH.element_size()
            if key not in self._state and num_bytes <= self._free:
                self._state[key] = state_LH[:length].clone()
                self._free -= num_bytes


def _keys(layout: SubwordLayout, chunk: np.ndarray) -> list[int]:
    start_S1 = layout.start_S1.cpu().numpy()
    length = np.diff(start_S1)[chunk]
    rows = Rows.of_lengths(layout.id_U.cpu().numpy()[ranges(start_S1[chunk], length)], length)
    keys: list[int] = rows.hashes().tolist()
    return keys


def _rounded(length: int) -> int:
    return -(-length // MULTIPLE) * MULTIPLE
