"""What tests of GPU kernels share."""

import pytest
import torch
from torch import Tensor

from sayso.model.kernels import compiler

needs_gpu = pytest.mark.skipif(
    not (torch.cuda.is_available() and compiler.IS_THERE), reason="needs a GPU that torch and triton can use"
)
DEVICE = "cuda"


def distance(found: Tensor, expected: Tensor) -> float:
    """Return how far a result is from one in float64, relative to the latter's size."""
    return float(
        (found.detach().cpu().double() - expected.detach().cpu()).norm() / expected.detach().norm().clamp(min=1e-30)
    )
