"""Layers of a pretrained encoder: only the needed rows of the last one, 8-bit products, and half precision.

Shapes: C sentences of a chunk, L subwords of each, W needed rows, H width of a row.
"""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

_LIKE_BERT = ("bert", "roberta", "electra")
_NEEDED: ContextVar[Tensor | None] = ContextVar("needed rows", default=None)
_Versions = tuple[tuple[int, int], ...]
"""Identifies the values of parameters: where they are, and how often they have changed."""


@contextmanager
def only_needed(place_W: Tensor | None) -> Iterator[None]:
    """Let the last layer of networks that `allow_only_needed` prepared return only these of its C L rows, [W, H]."""
    token = _NEEDED.set(place_W)
    try:
        yield
    finally:
        _NEEDED.reset(token)


def allow_only_needed(network: nn.Module) -> None:
    """Prepare the last layer of BERT, RoBERTa and ELECTRA; leave other kinds as they are."""
    if network.config.model_type in _LIKE_BERT:  # type: ignore[operator, union-attr]
        network.encoder.layer[-1].attention.output.register_forward_pre_hook(_take_needed)  # type: ignore[index, union-attr]


def _take_needed(module: nn.Module, states: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
    """Take the needed rows of attention's output and of the layer's input: from here on, rows do not mix."""
    del module
    place_W = _NEEDED.get()
    return None if place_W is None else tuple(nn.functional.embedding(place_W, each.flatten(0, 1)) for each in states)


def use_all_bits(network: nn.Module) -> None:
    """Let quantized linear layers round their input to all 8 bits.

    Torch uses only 7, as sums of products overflow on processors without VNNI; this costs a point of AP.
    """
    if torch.cpu._is_vnni_supported():
        for module in network.modules():
            if isinstance(module, torch.ao.nn.quantized.dynamic.Linear):
                module.forward = partial(_product, module)  # type: ignore[method-assign]


def _product(module: Any, value: Tensor) -> Tensor:
    packed = module._packed_params._packed_params
    product: Tensor = torch.ops.quantized.linear_dynamic(value, packed, reduce_range=False)
    return product


class HalfPrecision:
    """Networks in bfloat16; their parameters are rounded again after they have changed."""

    def __init__(self) -> None:
        self._rounded: dict[nn.Module, tuple[_Versions, dict[str, Tensor]]] = {}
        self._copies: dict[nn.Module, tuple[_Versions, nn.Module]] = {}

    def parameters(self, network: nn.Module) -> dict[str, Tensor]:
        """Return the rounded parameters by name, with gradients if they are trained."""
        parameters = dict(network.named_parameters())
        if torch.is_grad_enabled() and any(parameter.requires_grad for parameter in parameters.values()):
            return {name: parameter.bfloat16() for name, parameter in parameters.items()}
        versions = _versions(parameters.values())
        if self._rounded.get(network, ((), {}))[0] != versions:
            with torch.no_grad():
                self._rounded[network] = versions, {name: each.bfloat16() for name, each in parameters.items()}
        return self._rounded[network][1]

    def copy(self, network: nn.Module) -> nn.Module:
        """Return a copy that several threads can use; gradients reach its own parameters."""
        versions = _versions(network.parameters())
        made_from, copied = self._copies.get(network, ((), None))
        if copied is None:
            copied = copy.deepcopy(network)
            for parameter in copied.parameters():
                parameter.grad = None
                parameter.data = parameter.data.bfloat16()
        elif made_from != versions:
            with torch.no_grad():
                for mine, given in zip(copied.parameters(), network.parameters(), strict=True):
                    mine.copy_(given)
        if copied.training != network.training:
            copied.train(network.training)
        self._copies[network] = versions, copied
        return copied


def _versions(parameters: Iterable[nn.Parameter]) -> _Versions:
    return tuple((parameter.data_ptr(), parameter._version) for parameter in parameters)
