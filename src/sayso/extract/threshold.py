"""Chooses the threshold for a requested precision on the validation part of the run's store.

Precision measured on the facts that the threshold was chosen on is too high. So there is also a held-out precision:
pairs are drawn with replacement, the threshold is chosen on the drawn pairs, and the precision is measured on the
others. With few facts it tends to be too low. Labels come from the knowledge base: a true fact that it lacks counts as
wrong.

Both are measured on validation pairs. New facts come from pairs that are not in the knowledge base, and a corpus has a
larger share of those; their precision is lower, and is not measured here.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sayso.errors import BadArgumentError, UserError
from sayso.explain.faithfulness import sigmoid
from sayso.explain.trained_run import open_runs
from sayso.metrics.interval import Interval, percentile_interval, resampled_weights
from sayso.metrics.precision_recall import precision_recall_curve
from sayso.model.predict import predict_logits
from sayso.store.store import Store

NUM_RESAMPLES = 500


class ChosenThreshold(NamedTuple):
    """A threshold, and metrics of the validation facts at or above it.

    `held_out_precision` and its interval are measured on validation pairs that the threshold was not chosen on; None
    if the part is too small. `num_na_pairs` counts validation pairs without a relation.
    """

    threshold: float
    wanted_precision: float
    precision: float
    recall: float
    num_facts: int
    num_pairs: int
    num_na_pairs: int
    held_out_precision: float | None
    interval: Interval | None

    @property
    def thresholds(self) -> dict[str, float]:
        """No relation has a threshold of its own."""
        return {}

    @property
    def na_share(self) -> float:
        """The fraction of validation pairs without a relation."""
        return self.num_na_pairs / self.num_pairs

    @property
    def text(self) -> str:
        """What was measured, as human-readable text."""
        chosen = (
            f"threshold {self.threshold:.3f}: precision {self.precision:.2f} and recall {self.recall:.2f} on the"
            f" {self.num_pairs:,} validation pairs, {_percent(self.na_share)} of them NA ({self.num_facts:,} facts)"
        )
        if self.held_out_precision is None or self.interval is None:
            return f"{chosen}; too few pairs to measure the held-out precision"
        low, high = self.interval
        measured = f"{self.held_out_precision:.2f} (95 %: {low:.2f} to {high:.2f})"
        return f"{chosen}; {measured} on held-out validation pairs"

    @property
    def limits(self) -> str:
        """What was not measured, as human-readable text."""
        return (
            "this is not the precision of new facts, which will be lower: they come from pairs that the knowledge base"
            f" does not have, and a corpus usually has more NA pairs than the {_percent(self.na_share)} here"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, with a description of the data they were measured on."""
        interval = None if self.interval is None else list(self.interval)
        measured_on = {"measured_on": "validation pairs", "na_share": self.na_share}
        return {**self._asdict(), "interval": interval, **measured_on, "limits": self.limits}


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def choose_on_validation(run: Path, data: Path, wanted: float, device: str = "cpu") -> ChosenThreshold:
    """Choose the threshold for this precision on the validation part of the store that the run was trained on."""
    (subject,) = open_runs([run], Store(data), "validation", device)
    probability_BR = sigmoid(predict_logits(subject.model.extractor, subject.part))
    try:
        return choose_threshold(probability_BR, subject.label_BR, wanted)
    except BadArgumentError as error:
        raise UserError(f"{run}: {error}") from None


def choose_threshold(probability_BR: np.ndarray, label_BR: np.ndarray, wanted: float, seed: int = 0) -> ChosenThreshold:
    """Return the lowest threshold with at least this precision; raise `ValueError` if there is none."""
    curve = precision_recall_curve(probability_BR, label_BR)
    reached = np.flatnonzero(curve.precision >= wanted)
    if not len(reached) or not curve.num_positives:
        best = f"; the best is {curve.precision.max():.2f}" if curve.num_positives else "; it has no facts"
        raise BadArgumentError(f"no threshold has a precision of {wanted:g} on the validation part{best}")
    last = int(reached[-1])
    value_K = _held_out_precision(probability_BR, label_BR, wanted, seed)
    known_K = value_K[~np.isnan(value_K)]
    return ChosenThreshold(
        threshold=float(curve.threshold[last]),
        wanted_precision=wanted,
        precision=float(curve.precision[last]),
        recall=float(curve.recall[last]),
        num_facts=int(curve.num_retrieved[last]),
        num_pairs=len(probability_BR),
        num_na_pairs=int(np.count_nonzero(~(label_BR != 0).any(axis=1))),
        held_out_precision=float(known_K.mean()) if known_K.size else None,
        interval=percentile_interval(value_K),
    )


def _held_out_precision(probability_BR: np.ndarray, label_BR: np.ndarray, wanted: float, seed: int) -> np.ndarray:
    """Return the held-out precision of each resample: the threshold is chosen on drawn pairs, and tested on the others.

    NaN if no threshold is found, or no held-out pair reaches it.
    """
    num_bags = len(label_BR)
    if num_bags < 2:
        return np.full(NUM_RESAMPLES, np.nan)
    # One sort serves all resamples: a resample is a weight per bag. No resample reaches the scores below the point
    # where the overall precision has fallen to half of the requested one.
    flat, is_label = probability_BR.ravel(), label_BR.ravel() != 0
    order = np.argsort(-flat, kind="stable")
    far = np.flatnonzero(np.cumsum(is_label[order]) >= 0.5 * wanted * np.arange(1, len(order) + 1))
    order = order[: int(far[-1]) + 1] if len(far) else order[:0]
    bag, is_label, score = order // probability_BR.shape[1], is_label[order], flat[order]
    is_end = np.append(score[1:] != score[:-1], True)[: len(score)]
    values = np.full(NUM_RESAMPLES, np.nan)
    for index, weight_B in enumerate(resampled_weights(num_bags, NUM_RESAMPLES, seed)):
        weight = weight_B[bag]
        num = np.cumsum(weight)
        precision = np.cumsum(weight * is_label) / np.maximum(num, 1)
        reached = np.flatnonzero((precision >= wanted) & is_end & (num > 0))
        if len(reached):
            left_out = weight[: reached[-1] + 1] == 0
            values[index] = is_label[: reached[-1] + 1][left_out].mean() if left_out.any() else np.nan
    return values
