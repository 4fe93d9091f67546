"""Fresh parameters, drawn from a generator that is handed in, so that a seed decides them and nothing else does."""

import math

import torch
from torch import Tensor, nn


def uniform_parameter(*shape: int, fan_in: int, generator: torch.Generator) -> nn.Parameter:
    """Return values within ±1/√fan_in, for weights that sum over `fan_in` inputs.

    The bound the published baselines had, whose framework draws so by default; position vectors that begin at the
    distance itself (up to 30) would saturate what follows under the larger bounds of Glorot or He.
    """
    bound = 1.0 / math.sqrt(fan_in)
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))


def normal_parameter(*shape: int, std: float, generator: torch.Generator) -> nn.Parameter:
    """Return normally distributed values around 0."""
    value = torch.empty(*shape)
    if not value.is_meta:  # where there is nothing to draw, torch would import its compiler, which takes two seconds
        value.normal_(0.0, std, generator=generator)
    return nn.Parameter(value)


class Affine(nn.Module):
    """x Wᵀ + b, as `nn.Linear`, but drawn from the generator."""

    def __init__(self, num_in: int, num_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = uniform_parameter(num_out, num_in, fan_in=num_in, generator=generator)
        self.bias = uniform_parameter(num_out, fan_in=num_in, generator=generator)

    def forward(self, value: Tensor) -> Tensor:
        """Return the image of each row."""
        return nn.functional.linear(value, self.weight, self.bias)
