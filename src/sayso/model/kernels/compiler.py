"""The compiler for GPU kernels. Where it is not installed, as without a GPU, kernels can be imported but not called."""

from collections.abc import Callable
from typing import Any

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

__all__ = ["IS_THERE", "dot_block", "dot_precision", "jit", "tl", "triton"]

IS_THERE = triton is not None
"""Whether kernels can be compiled."""


def jit(function: Callable[..., Any]) -> Any:
    """Return the kernel, to be compiled when it is first called."""
    return triton.jit(function) if IS_THERE else function


def dot_precision() -> str:
    """Return how kernels multiply matrices of float32: as exactly as torch does, for which three tf32 products do."""
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def dot_block(size: int) -> int:
    """Return the smallest block that holds so many rows or columns and that matrices in kernels may have."""
    return max(16, 1 << (size - 1).bit_length())
