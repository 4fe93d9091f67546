"""Training with folds: the facts of each fold are withheld once, then a model is trained on all of them.

The folds determine the number of epochs of the last training, calibrate its model, and show how many withheld facts are
found again among the unlabelled pairs (`held_out.py`). Shapes: B pairs of all folds, O of the other folds, R relations.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sayso.errors import BadInputError
from sayso.metrics.calibration import calibration_error_over_bags, fit_affine, tempered_probability
from sayso.model.calibration import Calibration, calibrated_on
from sayso.model.checkpoint import load_model, save_model
from sayso.model.predict import predict_logits
from sayso.store.folds import held_out_pairs
from sayso.store.table import BagTable
from sayso.train.config import load_config
from sayso.train.data import Refit, RunData
from sayso.train.device import choose_device, is_first_process
from sayso.train.folder import CONFIG, FOLDS, MODEL, STATE, RunFolder, logits_file, read_metrics
from sayso.train.held_out import (
    HELD_OUT,
    KB_PRIOR,
    HeldOutFacts,
    KbPrior,
    Taken,
    fit_kb_prior,
    held_out_facts,
    taken_outside_fold,
    write_held_out,
)
from sayso.train.loop import validation_of
from sayso.train.run import Callbacks, identity_of, train_once
from sayso.train.state import RunStatus, read_status

_LEAST_TAIL, _MOST_SCALE = 20, 4.0


def train_folds(data: RunData, out: Path, device: str, resume: bool, callbacks: Callbacks) -> RunStatus:
    """Train each fold in `out/folds`, then the model on all facts in `out`, and return its status."""
    RunFolder(out, is_writer=False).refuse_other_run(resume)
    folders = [out / FOLDS / f"fold-{fold}" for fold in range(1, data.store.num_folds + 1)]
    for fold, folder in enumerate(folders, 1):
        one = replace(data, withheld=fold)
        if not (resume and _is_finished(one, folder)):
            train_once(one, folder, device, resume, callbacks)
        # A random seed is recorded by the first fold.
        data = replace(data, config=replace(data.config, seed=load_config(folder / CONFIG).seed))
    metrics = [read_metrics(folder) for folder in folders]
    epoch = len(metrics[0]) if data.config.train.keep == "last" else best_epoch(metrics)
    pairs = PairsOfFolds(data, [_read_logits(folder, epoch) for folder in folders])
    refit = Refit(epoch, *validation_of(pairs.logit_BR, pairs.label_BR))
    status = train_once(replace(data, refit=refit), out, device, resume, callbacks)
    if is_first_process():
        _calibrate(pairs, out, epoch, device)
    return status


def _calibrate(pairs: "PairsOfFolds", out: Path, epoch: int, device: str) -> None:
    """Calibrate the last model with the facts of the folds, and write the results of the folds."""
    parts = load_model(out)
    extractor = parts.extractor.to(choose_device(device))
    aligned = pairs.aligned(predict_logits(extractor, pairs.data.read(BagTable.concatenate(pairs.tables))))
    calibration = aligned.calibration()
    calibrated = aligned.calibrated(calibration)
    report = {"num_epochs": epoch, **aligned.report(), KB_PRIOR: calibrated.kb_prior().to_table()}
    write_held_out(out / FOLDS / HELD_OUT, calibrated.facts(), report)
    if calibration is not None:
        extractor.calibration = calibration
        save_model(out / MODEL, replace(parts, extractor=extractor), overwrite=True)


def _is_finished(data: RunData, folder: Path) -> bool:
    if not (folder / STATE).exists():
        return False
    config = data.config if data.config.seed >= 0 else load_config(folder / CONFIG)
    return read_status(folder / STATE, identity_of(config, data.store, data.withheld)).is_finished


def best_epoch(metrics: Sequence[Sequence[dict[str, Any]]]) -> int:
    """Return the epoch with the best mean validation metrics over the folds, among the epochs that all folds reached.

    A single epoch for all folds is not tuned to the facts of one fold, and can be used for training on all facts.
    """
    num_epochs = min(len(rows) for rows in metrics)
    names = ("validation/area_up_to_recall_0.4", "validation/average_precision")
    value_FEM = np.array([[[row[name] for name in names] for row in rows[:num_epochs]] for rows in metrics])
    means: list[list[float]] = value_FEM.mean(0).tolist()
    return 1 + max(range(num_epochs), key=lambda index: (*means[index], -index))


def _read_logits(folder: Path, epoch: int) -> np.ndarray:
    path = logits_file(folder, epoch)
    try:
        logit_BR: np.ndarray = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: not valid logits ({error}): remove {folder} and resume") from error
    return logit_BR


class PairsOfFolds:
    """The pairs of all folds, with the logits of the models from which their facts were withheld."""

    def __init__(self, data: RunData, logits: Sequence[np.ndarray]) -> None:
        self.data, held_out = data, [held_out_pairs(data.store, fold) for fold in range(1, len(logits) + 1)]
        self.tables = [each.table for each in held_out]
        self.logit_BR = np.concatenate(logits).astype(np.float64)
        self.weight_B = np.concatenate([each.weight_B for each in held_out])
        self.fold_B = np.repeat(np.arange(len(logits)), [len(each) for each in logits])
        if len(self.logit_BR) != len(self.weight_B):
            raise BadInputError(f"{data.store.folder}: the folds of the run are not those of the store: train again")
        self.label_BR = np.zeros(self.logit_BR.shape, bool)
        rows = np.repeat(np.arange(len(self.weight_B)), np.concatenate([each.relations.length for each in self.tables]))
        self.label_BR[rows, np.concatenate([each.relations.value for each in self.tables])] = True

    def aligned(self, logit_BR: np.ndarray) -> "PairsOfFolds":
        """Return the pairs with logits on the scale of another model, given its logits for the same pairs.

        Each model has its own scale. The unlabelled pairs are new to all of them, so the logits of each fold are
        mapped, relation by relation, such that its most probable unlabelled pairs have the same mean and spread.
        """
        found, is_new_B = copy(self), ~self.label_BR.any(1)
        found.logit_BR = self.logit_BR.copy()
        for fold in range(len(self.tables)):
            is_in_B = self.fold_B == fold
            for relation in range(self.data.num_relations):
                before, after = (each[is_in_B & is_new_B, relation] for each in (self.logit_BR, logit_BR))
                scale, shift = match_tails(before, after)
                found.logit_BR[is_in_B, relation] = scale * self.logit_BR[is_in_B, relation] + shift
        return found

    def calibration(self) -> Calibration | None:
        """Fit the configured calibration; None if it is off."""
        if self.data.config.train.calibration == "none":
            return None
        return calibrated_on(self.logit_BR, self.label_BR, self.weight_B, f"{len(self.tables)} folds")

    def calibrated(self, calibration: Calibration | None) -> "PairsOfFolds":
        """Return the pairs with calibrated logits."""
        found = copy(self)
        if calibration is not None:
            found.logit_BR = self.logit_BR * calibration.maps.scale_R + calibration.maps.shift_R
        return found

    @cached_property
    def taken(self) -> Taken:
        """What the knowledge base has for the entities of each pair, without the facts of its fold."""
        pair_B2 = np.concatenate([np.stack([table.head_B, table.tail_B], axis=1) for table in self.tables])
        return taken_outside_fold(pair_B2, self.fold_B, self.label_BR)

    def kb_prior(self) -> KbPrior:
        """Return how much the other facts of the knowledge base count against a new one."""
        return fit_kb_prior(self.logit_BR, self.label_BR, self.weight_B, self.taken)

    def facts(self) -> HeldOutFacts:
        """Return the held-out facts with their probabilities given the knowledge base (with weights of other folds)."""
        logit_BR = self.logit_BR.copy()
        for fold in range(len(self.tables)):
            inside, outside = np.flatnonzero(self.fold_B == fold), np.flatnonzero(self.fold_B != fold)
            logit_OR, label_OR, weight_O = (each[outside] for each in (self.logit_BR, self.label_BR, self.weight_B))
            prior = fit_kb_prior(logit_OR, label_OR, weight_O, self.taken.take(outside))
            logit_BR[inside] = prior.logits(self.logit_BR[inside], self.taken.take(inside))
        ids = self.data.store.entities["id"].to_pylist()
        return held_out_facts(self.tables, ids, tempered_probability(logit_BR, 1.0), self.label_BR, self.weight_B)

    def report(self) -> dict[str, Any]:
        """Return the sizes of the folds, the facts of each relation, and the calibration error before and after."""
        return {
            "num_folds": len(self.tables),
            "num_pairs": len(self.weight_B),
            "num_facts": self.label_BR.sum(0).tolist(),
            "calibration_error": {
                name: _error_of(logit_BR, self)
                for name, logit_BR in (("before", self.logit_BR), ("after", self._cross_calibrated()))
            },
        }

    def _cross_calibrated(self) -> np.ndarray:
        """Return the logits of each fold calibrated on the other folds."""
        found = self.logit_BR.copy()
        for fold in range(len(self.tables)):
            is_in_B = self.fold_B == fold
            maps = fit_affine(self.logit_BR[~is_in_B], self.label_BR[~is_in_B], self.weight_B[~is_in_B])
            found[is_in_B] = self.logit_BR[is_in_B] * maps.scale_R + maps.shift_R
        return found


def _error_of(logit_BR: np.ndarray, pairs: PairsOfFolds) -> dict[str, float | None]:
    error = calibration_error_over_bags(tempered_probability(logit_BR, 1.0), pairs.label_BR, pairs.weight_B)
    low, high = error.interval or (None, None)
    return {"value": error.value, "low": low, "high": high}


def match_tails(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Return scale and shift that give the highest tenth of `before` the mean and spread of that of `after`.

    >>> match_tails(np.arange(1000.0), 2 * np.arange(1000.0) + 1)
    (2.0, 1.0)
    """
    num = len(before) // 10
    if num < _LEAST_TAIL:
        return 1.0, 0.0
    tails = [np.sort(each)[-num:] for each in (before, after)]
    scale = float(np.clip(tails[1].std() / max(tails[0].std(), 1e-6), 1 / _MOST_SCALE, _MOST_SCALE))
    return scale, float(tails[1].mean() - scale * tails[0].mean())
