"""All training sentences end to end on the device, and the distinct words of every step of an epoch.

Shapes: S sentences, T tokens of all sentences or steps, U steps, Y distinct words of a step, V words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from sayso.features.mentions import ModelInput, concatenate

EMPTY = 0
"""The index of the empty sentence, used as padding."""


@dataclass(frozen=True, eq=False)
class TokenSpace:
    """Sentence s has `length_S[s]` tokens from `first_S[s]` on.

    The columns are each token's id, its distance to the head and to the tail, and its piece (see `SentenceBatch`).
    """

    columns: tuple[Tensor, ...]
    first_S: Tensor
    length_S: Tensor

    @classmethod
    def of(cls, inputs: Sequence[ModelInput], device: torch.device) -> "TokenSpace":
        """Return a space with the empty sentence, then these sentences."""
        together = concatenate(list(inputs)) if len(inputs) > 1 else inputs[0]
        length_S = np.concatenate([[0], together.tokens.length])
        columns = (together.tokens.value, together.head_distance_T, together.tail_distance_T, together.piece_T)
        return cls(
            tuple(torch.from_numpy(np.ascontiguousarray(column)).to(device) for column in columns),
            torch.from_numpy(np.concatenate([[0], together.tokens.start[:-1]])).to(device),
            torch.from_numpy(length_S).to(device),
        )

    @property
    def num_sentences(self) -> int:
        """The number of sentences, including the empty one."""
        return self.first_S.shape[0]

    def plus(self, inputs: ModelInput) -> "TokenSpace":
        """Return a space with these sentences appended."""
        more = TokenSpace.of([inputs], self.first_S.device)
        columns = tuple(torch.cat(both) for both in zip(self.columns, more.columns, strict=True))
        first_S = torch.cat([self.first_S, more.first_S[1:] + self.columns[0].shape[0]])
        return TokenSpace(columns, first_S, torch.cat([self.length_S, more.length_S[1:]]))

    def take(self, sentence_N: Tensor) -> "TokenSpace":
        """Return these sentences, in this order, end to end."""
        length_N = self.length_S[sentence_N]
        stop_N = length_N.cumsum(0)
        first_N = stop_N - length_N
        num_tokens = int(stop_N[-1]) if len(stop_N) else 0
        place_T = torch.repeat_interleave(self.first_S[sentence_N] - first_N, length_N, output_size=num_tokens)
        place_T += torch.arange(num_tokens, device=place_T.device)
        return TokenSpace(tuple(column[place_T] for column in self.columns), first_N, length_N)


_LOCK = Lock()
_SHARED: WeakValueDictionary[tuple[object, ...], TokenSpace] = WeakValueDictionary()


def shared_space(inputs: Sequence[ModelInput], device: torch.device) -> TokenSpace:
    """Return the space of these sentences, shared by all callers as long as one of them uses it."""
    key = (*map(id, inputs), device)
    with _LOCK:
        space = _SHARED.get(key)
        if space is None:
            space = _SHARED[key] = TokenSpace.of(inputs, device)
            if device.type == "cuda":
                # Others may read it from other streams.
                torch.cuda.synchronize(device)
        return space


_MARKS_AT_A_TIME = 2**26


class DistinctWords(NamedTuple):
    """The rank of each token's word in its step (any number for a type), and each step's words by rank, then zeros."""

    rank_T: Tensor
    word_UY: Tensor

    def codes(self, token_T: Tensor, num_words: int, num_rows: int) -> Tensor:
        """Return each token's row in a table of `num_rows` words of its step, then all types (tokens from V on)."""
        return torch.where(token_T >= num_words, num_rows + token_T - num_words, self.rank_T).int()


def distinct_words(token_T: Tensor, start_steps: list[int], num_words: int) -> DistinctWords:
    """Return the distinct words below `num_words` of each step; `start_steps` ends with the last step's end."""
    num_steps, at_a_time = len(start_steps) - 1, max(1, _MARKS_AT_A_TIME // num_words)
    ranks, tables = [], []
    for first in range(0, num_steps, at_a_time):
        bounds = start_steps[first : first + at_a_time + 1]
        rank_T, word_UY = _distinct_words(token_T[bounds[0] : bounds[-1]], bounds, num_words)
        ranks.append(rank_T)
        tables.append(word_UY)
    num_most = max(word_UY.shape[1] for word_UY in tables)
    return DistinctWords(torch.cat(ranks), torch.cat([with_columns(word_UY, num_most) for word_UY in tables]))


def with_columns(word_UY: Tensor, num: int) -> Tensor:
    """Return the table with `num` columns, the last ones zeros."""
    return torch.nn.functional.pad(word_UY, (0, num - word_UY.shape[1]))


def _distinct_words(token_T: Tensor, bounds: list[int], num_words: int) -> tuple[Tensor, Tensor]:
    num_steps = len(bounds) - 1
    size = torch.tensor(bounds, device=token_T.device).diff()
    step_T = torch.repeat_interleave(torch.arange(num_steps, device=token_T.device), size, output_size=len(token_T))
    # Types are marked in one extra place after the words, which is ignored.
    mark_T = torch.where(token_T < num_words, step_T * num_words + token_T, num_steps * num_words)
    is_there = torch.zeros(num_steps * num_words + 1, dtype=torch.bool, device=token_T.device)
    is_there[mark_T] = True
    is_there_UV = is_there[:-1].view(num_steps, num_words)
    rank_UV = is_there_UV.cumsum(1, dtype=torch.int32) - 1
    step_X, word_X = is_there_UV.nonzero(as_tuple=True)
    word_UY = torch.zeros(num_steps, int(rank_UV[:, -1].max()) + 1, dtype=torch.int32, device=token_T.device)
    word_UY[step_X, rank_UV[step_X, word_X].long()] = word_X.int()
    return rank_UV.view(-1)[mark_T.clamp(max=num_steps * num_words - 1)], word_UY
