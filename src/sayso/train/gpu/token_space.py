"""All sentences that training reads, end to end on the device, by number.

Shapes: S sentences, T tokens of all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from sayso.features.mentions import Presented, concatenate

EMPTY = 0
"""The number of a sentence without tokens, which stands where a step has none."""


@dataclass(frozen=True, eq=False)
class TokenSpace:
    """Sentence s has `length_S[s]` tokens from `first_S[s]` on.

    The columns are each token's number, its distance to the head and to the tail, and its piece (see `SentenceBatch`).
    """

    columns: tuple[Tensor, ...]
    first_S: Tensor
    length_S: Tensor

    @classmethod
    def of(cls, presented: Sequence[Presented], device: torch.device) -> "TokenSpace":
        """Return the empty sentence and then these."""
        together = concatenate(list(presented)) if len(presented) > 1 else presented[0]
        length_S = np.concatenate([[0], together.tokens.length])
        columns = (together.tokens.value, together.head_distance_T, together.tail_distance_T, together.piece_T)
        return cls(
            tuple(torch.from_numpy(np.ascontiguousarray(column)).to(device) for column in columns),
            torch.from_numpy(np.concatenate([[0], together.tokens.start[:-1]])).to(device),
            torch.from_numpy(length_S).to(device),
        )

    @property
    def num_sentences(self) -> int:
        """S, the empty one included."""
        return self.first_S.shape[0]

    def plus(self, presented: Presented) -> "TokenSpace":
        """Return the space with more sentences after its own."""
        more = TokenSpace.of([presented], self.first_S.device)
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


def shared_space(presented: Sequence[Presented], device: torch.device) -> TokenSpace:
    """Return the space of these sentences, the same one to all who ask while they hold the sentences and it."""
    key = (*map(id, presented), device)
    with _LOCK:
        space = _SHARED.get(key)
        if space is None:
            space = _SHARED[key] = TokenSpace.of(presented, device)
            if device.type == "cuda":
                # Others may read it from streams of their own.
                torch.cuda.synchronize(device)
        return space
