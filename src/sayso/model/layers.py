"""Parameters and dropout that draw all random numbers from a given generator, so that they depend on the seed alone."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn


def uniform_parameter(*shape: int, fan_in: int, generator: torch.Generator) -> nn.Parameter:
    """Return values within ±1/√fan_in, for weights that sum over `fan_in` inputs.

    This is the default of the framework that the published baselines use. With the larger bounds of Glorot or He,
    position vectors that start at the distance itself (up to 30) would saturate the next layer.
    """
    bound = 1.0 / math.sqrt(fan_in)
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))


def normal_parameter(*shape: int, std: float, generator: torch.Generator) -> nn.Parameter:
    """Return normally distributed values with mean 0."""
    value = torch.empty(*shape)
    if not value.is_meta:  # drawing on the meta device would import torch's compiler, which takes two seconds
        value.normal_(0.0, std, generator=generator)
    return nn.Parameter(value)


class Affine(nn.Module):
    """x Wᵀ + b, like `nn.Linear`, but initialised from the generator."""

    def __init__(self, num_in: int, num_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = uniform_parameter(num_out, num_in, fan_in=num_in, generator=generator)
        self.bias = uniform_parameter(num_out, fan_in=num_in, generator=generator)

    def forward(self, value: Tensor) -> Tensor:
        """Return x Wᵀ + b for each row."""
        return nn.functional.linear(value, self.weight, self.bias)


LEVELS = 2**16
"""Each draw takes 16 bits of a 64-bit random number: several times faster on CPU than one number per value."""


class TokenDropout(nn.Module):
    """Sets a fraction of the values to 0 in training and scales up the rest; returns its input otherwise.

    Random numbers are generated on the generator's device; the layer has no other state than `generator.get_state()`.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.num_dropped = round(rate * LEVELS)
        self.generator: torch.Generator | None = None

    def forward(self, value: Tensor) -> Tensor:
        """Return the values with a fraction set to 0 and the rest scaled, so that the expectation is the input."""
        if not (self.training and self.num_dropped):
            return value
        assert self.generator is not None, "call Extractor.use_generator before training"
        return _dropped(value, self.num_dropped, self.generator)


_GENERATOR: ContextVar[torch.Generator | None] = ContextVar("the generator of this thread", default=None)


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Let `LibraryDropout` draw from a generator with this seed in this thread, instead of torch's global one."""
    token = _GENERATOR.set(torch.Generator().manual_seed(seed))
    try:
        yield
    finally:
        _GENERATOR.reset(token)


class LibraryDropout(nn.Dropout):
    """The dropout of a pretrained network, which draws from torch's global generator; several times faster on CPU."""

    def forward(self, value: Tensor) -> Tensor:
        """Return the values with a fraction set to 0 and the rest scaled, so that the expectation is the input."""
        num_dropped = round(self.p * LEVELS)
        if value.is_cuda or not (self.training and num_dropped):
            return super().forward(value)
        return _dropped(value, num_dropped, _GENERATOR.get() or torch.default_generator)


def _dropped(value: Tensor, num_dropped: int, generator: torch.Generator) -> Tensor:
    draw = torch.empty(-(-value.numel() // 4), dtype=torch.int64, device=generator.device)
    draw.random_(-(2**63), None, generator=generator)
    level = draw.view(torch.int16)[: value.numel()].view(value.shape)
    is_kept = (level >= num_dropped - LEVELS // 2).to(value.device)
    return value * is_kept * (LEVELS / (LEVELS - num_dropped))
