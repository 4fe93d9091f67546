"""Kernels for the convolution's sums and maxima, by name; which one computes depends on the hardware alone.

The other modules here do one thing each. On CPUs: bags shared among threads (`bagwise`, `threads`), sequences of
distances (`sequence`), memory asked for ahead (`prefetch`), +E's ReLU (`gate`). On GPUs, each with plain torch beside
it: the dropout of a captured step (`dropped_rows`), its projection, its attention with the loss, its gradient of
distances.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

import torch
from torch import Tensor

from sayso.model.kernels.base import Codes, Gradients, ProductTables, TokenRows, Windows

KERNELS = {
    "torch": "sayso.model.kernels.torch_kernel",
    "numba": "sayso.model.kernels.numba_kernel",
    "triton": "sayso.model.kernels.triton_kernel",
}
"""The plain one for any hardware, the compiled one for CPUs, the fused one for NVIDIA's GPUs."""

MAX_NUMBA_WIDTH = 5
"""The widest filter that the compiled kernel's hand-written sum has."""


class Kernel(Protocol):
    """The functions that `base` describes."""

    peaks: Callable[[ProductTables, Codes, Windows], tuple[Tensor, Tensor]]
    highest: Callable[[ProductTables, Codes, Windows], Tensor]
    gradients: Callable[[Tensor, Tensor, TokenRows, Codes, Windows], Gradients]


@cache
def kernel_named(name: str) -> Kernel:
    """Return the kernel of this name; `ImportError` where its compiler is not installed."""
    return cast(Kernel, import_module(KERNELS[name]))


def kernel_for(device: torch.device, windows: Windows) -> Kernel:
    """Return the fastest kernel that does these windows on the device."""
    name = _fastest(device.type)
    if name == "numba" and windows.widths[-1] > MAX_NUMBA_WIDTH:
        name = "torch"
    return kernel_named(name)


@cache
def _fastest(device_type: str) -> str:
    compiler = {"cpu": "numba", "cuda": "triton"}.get(device_type, "torch")
    return compiler if find_spec(compiler) else "torch"
