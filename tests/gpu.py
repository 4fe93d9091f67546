"""What tests of GPU kernels share."""

import pytest
from torch import Tensor

needs_gpu = pytest.mark.gpu
DEVICE = "cuda"


def distance(found: Tensor, expected: Tensor) -> float:
    """Return the distance of a result from one in float64, relative to the norm of the latter."""
    return float(
        (found.detach().cpu().double() - expected.detach().cpu()).norm() / expected.detach().norm().clamp(min=1e-30)
    )
