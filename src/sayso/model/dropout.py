"""Dropout that draws from its own generator, so that a run can be resumed in the middle with the same draws."""

import torch
from torch import Tensor, nn

LEVELS = 2**16
"""A draw is 16 bits: four to a 64-bit number, several times faster on CPU than a draw per value."""


class TokenDropout(nn.Module):
    """Sets a share of the values to 0 in training and scales up the rest; returns its input otherwise.

    Drawing happens on the generator's device. `generator.get_state()` is all there is to save.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.num_dropped = round(rate * LEVELS)
        self.generator: torch.Generator | None = None

    @property
    def is_active(self) -> bool:
        """Whether anything is dropped now."""
        return self.training and self.num_dropped > 0

    def forward(self, value: Tensor) -> Tensor:
        """Return the values that are kept, scaled so that their expectation is the input."""
        if not self.is_active:
            return value
        return value * self._is_kept(value) * (LEVELS / (LEVELS - self.num_dropped))

    def _is_kept(self, value: Tensor) -> Tensor:
        assert self.generator is not None, "dropout needs a generator before training: Extractor.use_generator"
        num_draws = -(-value.numel() // 4)
        draw = torch.empty(num_draws, dtype=torch.int64, device=self.generator.device)
        draw.random_(-(2**63), None, generator=self.generator)
        level = draw.view(torch.int16)[: value.numel()].view(value.shape)
        return (level >= self.num_dropped - LEVELS // 2).to(value.device)
