"""Multinomial logistic regression on sparse binary features, small enough to train in seconds.

Shapes: F features, K classes, M features of all rows of a batch together, N rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NUM_FEATURES = 2**16
_BATCH, _EPOCHS, _RATE = 64, 5, 0.2


@dataclass(frozen=True)
class Logistic:
    """A trained model; a row is the numbers of the features it has."""

    weight_FK: np.ndarray

    def probabilities(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Return each row's probability of each class, [N, K]."""
        if not rows:
            return np.zeros((0, self.weight_FK.shape[1]), np.float32)
        return np.concatenate(
            [_probabilities(self.weight_FK, rows[i : i + _BATCH]) for i in range(0, len(rows), _BATCH)]
        )


def fit(rows: Sequence[np.ndarray], class_N: np.ndarray, num_classes: int, seed: int) -> Logistic:
    """Return the model that AdaGrad finds in a fixed number of passes; the same seed gives the same model."""
    weight_FK = np.zeros((NUM_FEATURES, num_classes), np.float32)
    size_FK = np.full((NUM_FEATURES, num_classes), 1e-4, np.float32)
    rng = np.random.default_rng(seed)
    for _ in range(_EPOCHS):
        order = rng.permutation(len(rows))
        for first in range(0, len(rows), _BATCH):
            chosen = order[first : first + _BATCH]
            batch = [rows[number] for number in chosen]
            error_NK = _probabilities(weight_FK, batch)
            error_NK[np.arange(len(batch)), class_N[chosen]] -= 1
            feature, slope = _slopes(batch, error_NK)
            size_FK[feature] += slope**2
            weight_FK[feature] -= _RATE * slope / np.sqrt(size_FK[feature])
    return Logistic(weight_FK)


def _probabilities(weight_FK: np.ndarray, rows: Sequence[np.ndarray]) -> np.ndarray:
    scale_NK = _scales(rows)[:, None]
    starts = np.cumsum([0, *(len(row) for row in rows[:-1])])
    logit_NK = np.add.reduceat(weight_FK[np.concatenate(rows)], starts, axis=0) * scale_NK
    mass_NK = np.exp(logit_NK - logit_NK.max(axis=1, keepdims=True))
    probability_NK: np.ndarray = mass_NK / mass_NK.sum(axis=1, keepdims=True)
    return probability_NK


def _scales(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return for each row what its features are multiplied by, so that long rows weigh no more than short ones."""
    return np.array([len(row) for row in rows], np.float32) ** -0.5


def _slopes(rows: Sequence[np.ndarray], error_NK: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of a batch, each once, and the loss's slope in their weights."""
    feature_M = np.concatenate(rows)
    row_M = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    order = np.argsort(feature_M, kind="stable")
    feature, starts = np.unique(feature_M[order], return_index=True)
    error_MK = (error_NK * _scales(rows)[:, None])[row_M[order]]
    return feature, np.add.reduceat(error_MK, starts, axis=0)
