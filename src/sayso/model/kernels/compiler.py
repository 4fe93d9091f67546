"""The compiler for GPU kernels. If it is not installed, kernels can be imported but not called."""

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
    """Return the kernel, compiled at its first call."""
    return triton.jit(function) if IS_THERE else function


def dot_precision() -> str:
    """Return the precision of float32 products in kernels, as set in torch: tf32, or three tf32 products (float32)."""
    return "tf32x3" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def dot_block(size: int) -> int:
    """Return the smallest block size that kernels allow for `size` rows or columns."""
    return max(16, 1 << (size - 1).bit_length())
