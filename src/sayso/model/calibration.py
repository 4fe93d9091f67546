"""Calibration: an affine map of each relation's logit, fitted after training, as the last step of the forward pass.

Shapes: B bags, R relations.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sayso.errors import BadInputError
from sayso.metrics.calibration import AffineMaps, fit_affine


class CalibrationTable(NamedTuple):
    """A calibration as it is stored in a model's `config.json`."""

    scale: list[float]
    shift: list[float]
    fitted_on: dict[str, Any]


class Calibration(nn.Module):
    """scale_k · o_k + shift_k for each relation k; the scales are positive, so no relation's ranking changes.

    The numbers are buffers that are not part of the weights: they belong to `config.json`.
    """

    scale_R: Tensor
    shift_R: Tensor

    def __init__(self, maps: AffineMaps, fitted_on: Mapping[str, Any]) -> None:
        super().__init__()
        self.maps, self.fitted_on = maps, dict(fitted_on)
        for name, values in maps._asdict().items():
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32), persistent=False)

    def forward(self, logit: Tensor) -> Tensor:
        """Return the calibrated logits; the last dimension is the relation."""
        return logit * self.scale_R + self.shift_R

    def to_table(self) -> dict[str, Any]:
        """Return the numbers and what they were fitted on, as JSON values."""
        scale, shift = (values.tolist() for values in self.maps)
        return CalibrationTable(scale, shift, self.fitted_on)._asdict()

    @classmethod
    def from_table(cls, table: CalibrationTable, num_relations: int) -> "Calibration":
        """Return a stored calibration; raise `BadInputError` if it does not fit the relations."""
        scale_R, shift_R = (np.array(values, np.float64) for values in table[:2])
        if {len(scale_R), len(shift_R)} != {num_relations} or not (scale_R > 0).all():
            raise BadInputError(f"invalid calibration: expected a positive scale for each of {num_relations} relations")
        return cls(AffineMaps(scale_R, shift_R), table.fitted_on)


def calibrated_on(logit_BR: np.ndarray, label_BR: np.ndarray, weight_B: np.ndarray, what: str) -> Calibration:
    """Fit a calibration; `weight_B` says how many pairs of the corpus each bag stands for."""
    fitted_on = {
        "pairs": what,
        "num_pairs": len(label_BR),
        "num_facts": int(np.count_nonzero(label_BR)),
        "largest_weight": float(weight_B.max(initial=1.0)),
    }
    return Calibration(fit_affine(logit_BR, label_BR, weight_B), fitted_on)


@contextmanager
def uncalibrated(model: nn.Module) -> Iterator[None]:
    """Switch off the calibration of a model, and of the members of an ensemble, within the block."""
    found = [(each, getattr(each, "calibration", None)) for each in model.modules()]
    owners = [(each, calibration) for each, calibration in found if isinstance(calibration, Calibration)]
    for each, _ in owners:
        setattr(each, "calibration", None)  # noqa: B010 - unknown to the type of a module
    try:
        yield
    finally:
        for each, calibration in owners:
            each.calibration = calibration


def is_calibrated(model: nn.Module) -> bool:
    """Return whether a model, or a member of an ensemble, has a calibration."""
    return any(isinstance(each, Calibration) for each in model.modules())
