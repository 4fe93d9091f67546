"""Kernels for the convolution's sums and maxima, by name; which one is used depends on the hardware alone.

The other modules are helpers, for CPUs: work split among threads (`threads`) and +E's ReLU (`gate`); for GPUs:
`compiler`; and for pretrained encoders: `packed_attention` and `encoder_layers`.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

import torch
from torch import Tensor

from sayso.model.kernels.base import Codes, Gradients, ProductTables, TokenRows, Windows

KERNELS = ("torch", "numba", "triton")
"""Plain torch for any hardware, a compiled kernel for CPUs, and a fused one for NVIDIA GPUs."""

MAX_NUMBA_WIDTH = 5
"""The widest filter that the compiled kernel supports; its sum is unrolled by hand."""


class Kernel(Protocol):
    """The functions of a kernel, as described in `base`."""

    peaks: Callable[[ProductTables, Codes, Windows], tuple[Tensor, Tensor]]
    gradients: Callable[[Tensor, Tensor, TokenRows, Codes, Windows], Gradients]


@cache
def kernel_named(name: str) -> Kernel:
    """Return the named kernel; raise `ImportError` if its compiler is not installed."""
    return cast(Kernel, import_module(f"sayso.model.kernels.{name}_kernel"))


def kernel_for(device: torch.device, windows: Windows) -> Kernel:
    """Return the fastest kernel for these windows on the device."""
    name = _fastest(device.type)
    if name == "numba" and windows.widths[-1] > MAX_NUMBA_WIDTH:
        name = "torch"
    return kernel_named(name)


@cache
def _fastest(device_type: str) -> str:
    compiler = {"cpu": "numba", "cuda": "triton"}.get(device_type, "torch")
    return compiler if find_spec(compiler) else "torch"
