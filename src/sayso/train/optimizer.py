"""The optimizer of a run: Adam, with a separate learning rate for pretrained weights, and its schedule."""

import inspect
from typing import Any

import torch
from torch import Tensor, nn

from sayso.model.encoders.base import Encoder
from sayso.train.config import TrainConfig


class _Adam(torch.optim.Adam):
    """Adam without torch's wrappers for compiled steps: these import torch's compiler, which takes a second."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


def make_optimizer(objective: nn.Module, encoder: Encoder, settings: TrainConfig) -> torch.optim.Adam:
    """Return the optimizer; weight decay is decoupled (AdamW) and leaves out biases and the scales of normalisation."""
    pretrained = {id(parameter) for parameter in encoder.pretrained_parameters()}
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter in objective.parameters():
        rate = settings.pretrained_learning_rate if id(parameter) in pretrained else settings.learning_rate
        decay = settings.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    found = [
        {"params": some, "lr": rate, "initial_lr": rate, "weight_decay": decay}
        for (rate, decay), some in groups.items()
    ]
    # Fused: one kernel for all of a pretrained encoder's many tensors.
    return make_adam(found, is_fused=bool(pretrained))


def make_adam(groups: list[dict[str, Any]], is_fused: bool = True) -> torch.optim.Adam:
    """Return the optimizer of these groups of parameters, each with its own learning rate and weight decay."""
    return _Adam(groups, decoupled_weight_decay=True, fused=True if is_fused else None)


def set_rates(optimizer: torch.optim.Optimizer, settings: TrainConfig, step: int, num_steps: int) -> None:
    """Set the learning rates for this step of the run, counted from 0."""
    if settings.schedule == "constant" and not settings.warmup:
        return
    for group in optimizer.param_groups:
        rate = group["initial_lr"] * rate_factor(settings, step, num_steps)
        if isinstance(group["lr"], Tensor):  # read by a captured step
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def rate_factor(settings: TrainConfig, step: int, num_steps: int) -> float:
    """Return the factor by which the learning rate is multiplied at this step, counted from 0.

    >>> settings = TrainConfig(warmup=0.2, schedule="linear")
    >>> [round(rate_factor(settings, step, 10), 3) for step in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.125]
    """
    num_warm = round(settings.warmup * num_steps)
    if step < num_warm:
        return (step + 1) / num_warm
    return 1.0 if settings.schedule == "constant" else (num_steps - step) / (num_steps - num_warm)
