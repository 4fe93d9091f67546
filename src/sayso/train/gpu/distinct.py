"""The distinct words of every step of an epoch, found at once.

Shapes: T tokens of all steps end to end, Y distinct words of a step, V words.

Sorting would do it, but marking each step's words in a table of all words is faster: a few passes over memory.
"""

from typing import NamedTuple

import torch
from torch import Tensor

_MARKS_AT_A_TIME = 2**26


class DistinctWords(NamedTuple):
    """For each token the rank of its word among those of its step, or V and its type's number; and the words by rank.

    The word of rank `rank_X` in step `step_X` is `word_X`; `num_most` is the largest number of words in a step.
    """

    rank_T: Tensor
    step_X: Tensor
    rank_X: Tensor
    word_X: Tensor
    num_most: int

    def table(self, num_steps: int, num_words: int) -> Tensor:
        """Return the words by step and rank; word 0 where a step has fewer."""
        word = torch.zeros(num_steps, num_words, dtype=torch.int32, device=self.word_X.device)
        word[self.step_X, self.rank_X.long()] = self.word_X.int()
        return word

    def codes(self, is_type_T: Tensor, type_T: Tensor, num_words: int) -> Tensor:
        """Return each token's row in a table of `num_words` words and then all types."""
        return torch.where(is_type_T, num_words + type_T, self.rank_T).int()


def distinct_words(token_T: Tensor, start_steps: list[int], num_words: int) -> DistinctWords:
    """Return the distinct words below `num_words` of steps that begin at these tokens (and the last one's end)."""
    num_steps, at_a_time = len(start_steps) - 1, max(1, _MARKS_AT_A_TIME // num_words)
    found = []
    for first in range(0, num_steps, at_a_time):
        bounds = start_steps[first : first + at_a_time + 1]
        found.append(_distinct_words(token_T[bounds[0] : bounds[-1]], bounds, first, num_words))
    rank_T, step_X, rank_X, word_X = (torch.cat(column) for column in zip(*found, strict=True))
    num_most = 1 + int(rank_X.max()) if len(rank_X) else 0
    return DistinctWords(rank_T, step_X, rank_X, word_X, num_most)


def _distinct_words(token_T: Tensor, bounds: list[int], first: int, num_words: int) -> tuple[Tensor, ...]:
    num_steps = len(bounds) - 1
    size = torch.tensor(bounds, device=token_T.device).diff()
    step_T = torch.repeat_interleave(torch.arange(num_steps, device=token_T.device), size, output_size=len(token_T))
    # Types leave their mark behind the words', where nobody looks.
    mark_T = torch.where(token_T < num_words, step_T * num_words + token_T, num_steps * num_words)
    is_there = torch.zeros(num_steps * num_words + 1, dtype=torch.bool, device=token_T.device)
    is_there[mark_T] = True
    is_there_V = is_there[:-1].view(num_steps, num_words)
    rank_V = is_there_V.cumsum(1, dtype=torch.int32) - 1
    step_X, word_X = is_there_V.nonzero(as_tuple=True)
    rank_T = rank_V.view(-1)[mark_T.clamp(max=num_steps * num_words - 1)]
    return rank_T, step_X + first, rank_V[step_X, word_X], word_X
