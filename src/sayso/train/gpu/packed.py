"""What every step of an epoch needs, one row a step: a captured step cuts its own row out with a single lookup.

Shapes: L numbers of 8 bytes in a row.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

_ALIGNED = 16
"""Bytes; what begins elsewhere is read more slowly."""


class Field(NamedTuple):
    """Where a tensor stands in a row, and what it is."""

    first: int
    stop: int
    dtype: torch.dtype
    shape: torch.Size


class Packed(NamedTuple):
    """The rows, and the fields of each."""

    row_L: Tensor
    fields: dict[str, Field]

    def cut(self, number_1: Tensor) -> dict[str, Tensor]:
        """Return the fields of the step of this number, which is on the device and stays there."""
        row_L = self.row_L.index_select(0, number_1)[0]
        return {name: _read(row_L, field) for name, field in self.fields.items()}


def pack(tensors: Mapping[str, Tensor]) -> Packed:
    """Return the tensors, each of which has a step in its first dimension, side by side."""
    fields: dict[str, Field] = {}
    pieces, first = [], 0
    for name, tensor in tensors.items():
        flat = tensor.reshape(tensor.shape[0], -1).contiguous().view(torch.uint8)
        missing = -flat.shape[1] % _ALIGNED
        pieces += [flat, flat.new_zeros(flat.shape[0], missing)]
        stop = first + (flat.shape[1] + missing) // 8
        fields[name] = Field(first, stop, tensor.dtype, tensor.shape[1:])
        first = stop
    return Packed(torch.cat(pieces, 1).view(torch.int64), fields)


def _read(row_L: Tensor, field: Field) -> Tensor:
    return row_L[field.first : field.stop].view(field.dtype)[: field.shape.numel()].view(field.shape)
