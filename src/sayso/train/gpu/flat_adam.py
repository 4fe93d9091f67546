"""Gradient clipping and Adam over all parameters at once, in two kernels that can be captured.

Shapes: X values of all parameters end to end, C blocks of them.

The moments stay where `torch.optim.Adam` looks for them, as views of one piece of memory, so that a run's state is
written and read as usual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sayso.model.kernels.compiler import jit, tl, triton

_BLOCK = 1024


class FlatAdam:
    """Takes the steps of an Adam optimizer; parameters and moments become views of flat memory.

    A step is identified by its index within the epoch, on the device; `count_1` steps were taken before the epoch.
    """

    def __init__(self, optimizer: torch.optim.Adam, parameters: Sequence[nn.Parameter], clip: float) -> None:
        (group,) = optimizer.param_groups
        self.optimizer, self.parameters, self.clip = optimizer, list(parameters), clip
        self.learning_rate, self.betas, self.eps = group["lr"], group["betas"], group["eps"]
        self.value_X = _end_to_end([parameter.data for parameter in self.parameters])
        moments = [optimizer.state.get(parameter, {}) for parameter in self.parameters]
        self.num_taken = int(moments[0].get("step", 0)) if moments else 0
        self.count_1 = torch.full((1,), self.num_taken, dtype=torch.int64, device=self.value_X.device)
        zeros = [torch.zeros_like(parameter.data) for parameter in self.parameters]
        self.mean_X, self.square_X = (
            _end_to_end([state.get(name, zero) for state, zero in zip(moments, zeros, strict=True)])
            for name in ("exp_avg", "exp_avg_sq")
        )
        for parameter, value in zip(self.parameters, self._views(self.value_X), strict=True):
            parameter.data = value
        self.note_steps(0)

    def step(self, gradients: Sequence[Tensor], number_1: Tensor, norm_U: Tensor) -> None:
        """Clip the gradients of the parameters, take one step, and store the norm of the gradient before clipping."""
        grad_X = torch.cat([gradient.reshape(-1) for gradient in gradients])
        num_blocks = triton.cdiv(grad_X.shape[0], _BLOCK)
        square_C = grad_X.new_empty(num_blocks)
        beta1, beta2 = self.betas
        # At compile time: as arguments they would be rounded to float32 too early.
        constants = {"BETA1": beta1, "BETA2": beta2, "LOG1": math.log(beta1), "LOG2": math.log(beta2), "EPS": self.eps}
        _squares[(num_blocks,)](grad_X, square_C, grad_X.shape[0], BLOCK=_BLOCK)
        _adam[(num_blocks,)](
            self.value_X, grad_X, self.mean_X, self.square_X, square_C, self.count_1, number_1, norm_U,
            grad_X.shape[0], num_blocks, self.clip, self.learning_rate, **constants,
            BLOCK=_BLOCK, BLOCK_C=triton.next_power_of_2(num_blocks),
        )  # fmt: skip

    def note_steps(self, num: int) -> None:
        """Count these steps as taken, in the optimizer too."""
        self.num_taken += num
        self.count_1.fill_(self.num_taken)
        views = zip(self.parameters, self._views(self.mean_X), self._views(self.square_X), strict=True)
        for parameter, mean, square in views:
            step = torch.tensor(float(self.num_taken))
            self.optimizer.state[parameter] = {"step": step, "exp_avg": mean, "exp_avg_sq": square}

    def _views(self, flat_X: Tensor) -> list[Tensor]:
        sizes = [parameter.numel() for parameter in self.parameters]
        parts = torch.split(flat_X, sizes)
        return [part.view(parameter.shape) for part, parameter in zip(parts, self.parameters, strict=True)]


def _end_to_end(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1).float() for tensor in tensors])


@jit
def _squares(grad_X, square_C, num, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    grad = tl.load(grad_X + at, mask=at < num, other=0.0)
    tl.store(square_C + tl.program_id(0), tl.sum(grad * grad, 0))


@jit
def _adam(  # type: ignore[no-untyped-def]
    value_X, grad_X, mean_X, square_X, square_C, count_1, number_1, norm_U, num, num_blocks, clip, learning_rate,
    BETA1: tl.constexpr, BETA2: tl.constexpr, LOG1: tl.constexpr, LOG2: tl.constexpr, EPS: tl.constexpr,
    BLOCK: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    block_C = tl.arange(0, BLOCK_C)
    norm = tl.sqrt(tl.sum(tl.load(square_C + block_C, mask=block_C < num_blocks, other=0.0), 0))
    if tl.program_id(0) == 0:
        tl.store(norm_U + tl.load(number_1), norm)
    # Like torch's clip_grad_norm_; a norm of NaN makes all parameters NaN, which is detected.
    scale = clip / (norm + 1e-6)
    scale = tl.where(scale > 1.0, 1.0, scale)
    # In float64: in float32, 1 − β₂ᵗ would lose half its digits in the first steps.
    count = (tl.load(count_1) + tl.load(number_1) + 1).to(tl.float64)
    correction1 = (1.0 - tl.exp(count * LOG1)).to(tl.float32)
    correction2 = (1.0 - tl.exp(count * LOG2)).to(tl.float32)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_in = at < num
    grad = tl.load(grad_X + at, mask=is_in, other=0.0) * scale
    mean = BETA1 * tl.load(mean_X + at, mask=is_in, other=0.0) + (1.0 - BETA1) * grad
    square = BETA2 * tl.load(square_X + at, mask=is_in, other=0.0) + (1.0 - BETA2) * grad * grad
    tl.store(mean_X + at, mean, mask=is_in)
    tl.store(square_X + at, square, mask=is_in)
    change = mean / correction1 / (tl.sqrt(square / correction2) + EPS)
    value = tl.load(value_X + at, mask=is_in, other=0.0)
    tl.store(value_X + at, value - learning_rate * change, mask=is_in)
