"""Functions that numba compiles and that go through the bags one after the other, the bags shared among threads."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec

import torch
from torch import Tensor

from sayso.features.batch import BagIndex
from sayso.model.kernels.threads import compiled_only, in_threads, shares
from sayso.model.ragged import bag_starts


def is_compiled(device: torch.device) -> bool:
    """Say whether such functions can be used: on a CPU, and where no gradient is asked for."""
    return device.type == "cpu" and not torch.is_grad_enabled() and find_spec("numba") is not None


def compiled_if_possible(device: torch.device) -> AbstractContextManager[None]:
    """Within the block leave the threads to such functions where they can be used."""
    return compiled_only() if is_compiled(device) else nullcontext()


def over_bags(function: Callable[..., None], bags: BagIndex, *tensors: Tensor) -> None:
    """Call function(*arrays, start_B1, first bag, bag to stop at) so that every bag has its turn.

    The arrays are the tensors' own memory where it is contiguous, so results are written into fresh ones of these.
    """
    arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
    start_B1 = bag_starts(bags.bag_N, bags.num_bags).numpy()
    in_threads(function, [(*arrays, start_B1, first, stop) for first, stop in shares(bags.num_bags)])
