"""One training run, stage by stage."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sayso.model.checkpoint import save_model
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import Extractor, refuse_too_large
from sayso.model.pretrained import encoder_fingerprint
from sayso.seeding import drawn_seed, sub_seed
from sayso.store.store import Store
from sayso.train.config import RunConfig, load_config
from sayso.train.data import RunData
from sayso.train.device import (
    choose_device,
    claimed_by_first,
    free_bytes,
    from_first,
    process_group,
    refuse_disagreement,
    share_gradients,
    use_precision,
)
from sayso.train.epoch import ProcessShard
from sayso.train.folder import CONFIG, MODEL, RunFolder, description_of, model_of, read_metrics
from sayso.train.gpu.captured import CapturedEpochs, why_not_captured
from sayso.train.gpu.graphed import GraphedEpochs, why_not_graphed
from sayso.train.loop import (
    EpochResult,
    OnStep,
    Validation,
    calibration_of,
    diverged,
    make_optimizer,
    refuse_growth,
    train_epoch,
    validate,
)
from sayso.train.objective import Objective
from sayso.train.state import RunStatus, load_parameters, load_state, mark_finished, parameters_of, save_state
from sayso.train.warning import warnings_about

OnFigures = Callable[[dict[str, Any]], None]
TrainOne = Callable[[int, OnStep], EpochResult]

_SHARE_KEPT = 4
"""The cached output of frozen layers may use the free memory divided by this number."""
_COPIES = 6
"""Copies of each parameter: value, gradient, Adam's two moments, the best epoch's value, and the one being written."""


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """Called with a run's description before its first batch, after every step, and with every epoch's metrics."""

    on_begin: OnFigures = lambda _: None
    on_step: OnStep = lambda _: None
    on_epoch: OnFigures = lambda _: None


def train(
    config: RunConfig,
    store: Path,
    out: Path,
    device: str = "auto",
    resume: bool = False,
    callbacks: Callbacks = Callbacks(),
) -> RunStatus:
    """Train the config's model on the store, write it to `out`, and return the final status.

    The state is saved after every epoch: a killed run can continue with `resume` and ends with the same weights.
    """
    data = RunData(Store(store), config)
    if data.store.num_folds:
        from sayso.train.folds import train_folds  # which trains each fold with `train_once`

        return train_folds(data, out, device, resume, callbacks)
    return train_once(data, out, device, resume, callbacks)


def train_once(data: RunData, out: Path, device: str, resume: bool, callbacks: Callbacks) -> RunStatus:
    """Train on this data, write the run to `out`, and return the final status."""
    target = choose_device(device)
    RunFolder(out, is_writer=False).refuse_other_run(resume)
    with process_group(target) as shard, claimed_by_first(out, shard, target):
        folder = RunFolder(out, is_writer=shard.rank == 0)
        folder.refuse_other_run(resume)  # another run may have finished here in the meantime
        config = _with_seed(data.config, folder, shard, target)
        return TrainingRun(replace(data, config=config), folder, target, shard, callbacks).go()


def identity_of(config: RunConfig, store: Store, withheld: int | None = None) -> dict[str, Any]:
    """Return what a resumed run must have in common with the original: settings, data and the fold withheld."""
    encoder = config.model.encoder
    pretrained = (
        {"encoder": encoder_fingerprint(Path(encoder.folder))} if isinstance(encoder, TransformerConfig) else {}
    )
    fold = {} if withheld is None else {"withheld fold": withheld}
    return {"config": config.to_table(), "data": store.fingerprint, **pretrained, **fold}


def _with_seed(config: RunConfig, folder: RunFolder, shard: ProcessShard, device: torch.device) -> RunConfig:
    """Return the config with a seed: the given one, that of the resumed run, or one drawn by the first process."""
    if config.seed >= 0:
        return config
    seed = load_config(folder.path / CONFIG).seed if folder.state.exists() else drawn_seed()
    return replace(config, seed=int(from_first([seed], shard, device)[0]))


class TrainingRun:
    """One run: its model, optimizer and progress. Only the folder's writer writes files."""

    def __init__(
        self, data: RunData, folder: RunFolder, device: torch.device, shard: ProcessShard, callbacks: Callbacks
    ) -> None:
        data.refuse_what_cannot_train()
        self.data, self.folder, self.device, self.shard, self.callbacks = data, folder, device, shard, callbacks
        self.config = config = data.config
        torch.manual_seed(sub_seed(config.seed, "libraries"))
        use_precision(config.train.precision, device)
        tables = data.tables()
        refuse_too_large(config.model, tables, copies=_COPIES, available=free_bytes(device))
        self.extractor = Extractor(config.model, tables, config.seed)
        self.extractor.encoder.load_pretrained()
        self.extractor.encoder.precision = config.train.precision
        num_labels = len(data.store.direct_labels) if config.loss.needs_labels else 0
        self.objective = Objective(self.extractor, config.loss, num_labels, config.seed, shard).to(device)
        self.optimizer = make_optimizer(self.objective, self.extractor.encoder, config.train)
        self.status = RunStatus()
        self.best: dict[str, Tensor] = {}
        self.first_loss: float | None = None
        self.identity = identity_of(config, data.store, data.withheld)
        self.max_epochs = data.refit.num_epochs if data.refit else config.train.max_epochs
        parts = [data.train] if data.refit else [data.train, data.validation]
        sentences = chain.from_iterable(part.slices() for part in parts)
        self.extractor.encoder.keep_frozen(sentences, data.kept, free_bytes(device) // _SHARE_KEPT)

    def go(self) -> RunStatus:
        """Start or resume, train until validation stops improving, and keep the best epoch."""
        if self.folder.state.exists():
            self.status, self.best = load_state(self.folder.state, self.objective, self.optimizer, self.identity)
            self.first_loss = next((row["loss"] for row in read_metrics(self.folder.path)), None)
        self._begin()
        train_one = self._how_to_train()
        while not self._is_done():
            self._one_epoch(train_one)
        self._finish()
        return self.status

    def _begin(self) -> None:
        """Write the run's description and pass it to the callback."""
        fingerprint, epoch = self.data.store.fingerprint, self.status.epoch
        refuse_disagreement(
            {"the store": int(fingerprint[:12], 16), "the state of the run": epoch}, self.shard, self.device
        )
        warnings = warnings_about(self.data, self.device)
        if reason := self._why_not_captured():
            warnings.append(f"steps are not captured in a CUDA graph, so training is several times slower: {reason}")
        description = description_of(self.config, fingerprint, self.device, self.shard.num, warnings)
        # Only a hint for the next command: the store may be moved.
        store = str(self.data.store.folder.resolve())
        self.folder.begin(self.config, description | {"store": store}, epoch)
        self.callbacks.on_begin(description | self._outlook())

    def _outlook(self) -> dict[str, Any]:
        """Return the progress before the first batch, and the size of the run."""
        table = self.data.train.table
        return {
            "folder": str(self.folder.path),
            "num_parameters": sum(parameter.numel() for parameter in self.extractor.parameters()),
            "num_bags": table.num_bags,
            "num_sentences": table.num_sentences,
            "epoch": self.status.epoch,
            "max_epochs": self.max_epochs,
            "withheld": self.data.withheld,
            "num_folds": self.data.store.num_folds,
            "seconds": self.status.seconds,
        }

    def _is_done(self) -> bool:
        settings, status = self.config.train, self.status
        return (
            status.is_finished
            or status.epoch >= self.max_epochs
            or status.epoch - status.best_epoch >= settings.patience
        )

    def _why_not_captured(self) -> str | None:
        """Return why steps on a GPU are not captured; None if they are, or on a CPU."""
        if self.device.type != "cuda":
            return None
        why_not = why_not_graphed if self.data.is_pretrained else why_not_captured
        return why_not(self.extractor, self.config, self.shard)

    def _how_to_train(self) -> TrainOne:
        """Return the function that trains one epoch, with captured steps if possible."""
        if self.device.type == "cuda" and self._why_not_captured() is None:
            if self.data.is_pretrained:
                return GraphedEpochs(self.objective, self.optimizer, self.data).train_epoch
            return CapturedEpochs(self.extractor, self.optimizer, self.data).train_epoch
        objective = share_gradients(self.objective, self.shard)
        return partial(train_epoch, objective, self.extractor, self.optimizer, self.data, self.shard)

    def _one_epoch(self, train_one: TrainOne) -> None:
        number, began = self.status.epoch + 1, time.monotonic()
        epoch = train_one(number, self.callbacks.on_step)
        self._refuse_divergence(number, epoch)
        validation = self._validate()
        if not all(map(math.isfinite, validation)):
            raise diverged(number, "validation: the logits are not finite")
        keeps_last = self.data.refit is not None or self.config.train.keep == "last"
        self.status = self.status.after(*validation, time.monotonic() - began, keeps_last)
        if self.status.is_best:
            self.best = parameters_of(self.objective)
        # Metrics before state: after a crash between the two, the epoch is repeated and its metrics replaced.
        row = self._row(epoch, validation)
        self.folder.note(row)
        self._save()
        self.callbacks.on_epoch(row)

    def _refuse_divergence(self, number: int, epoch: EpochResult) -> None:
        """Raise `TrainingError` if the epoch's loss or a weight shows divergence."""
        loss = sum(epoch.terms.values())
        # Kept with the run, so that a resumed run stops where the original would have.
        refuse_growth(number, loss, epoch.first_loss if self.first_loss is None else self.first_loss)
        if self.first_loss is None:
            self.first_loss = loss
        if not all(bool(parameter.isfinite().all()) for parameter in self.extractor.parameters()):
            raise diverged(number, f"loss {loss:.3g}: a weight is not finite")

    def _validate(self) -> Validation:
        """Return the validation metrics, computed by the first process."""
        if self.data.refit:
            return Validation(self.data.refit.area, self.data.refit.average_precision)
        found = Validation(0.0, 0.0)
        if self.shard.rank == 0:
            found, logit_BR = validate(self.extractor, self.data)
            if self.data.withheld is not None:
                self.folder.keep_logits(self.status.epoch + 1, logit_BR)
        return Validation(*from_first(list(found), self.shard, self.device))

    def _row(self, epoch: EpochResult, validation: Validation) -> dict[str, Any]:
        return {
            "epoch": self.status.epoch,
            "loss": sum(epoch.terms.values()),
            **{f"loss/{name}": value for name, value in epoch.terms.items()},
            **({} if self.data.refit else validation.figures()),
            "best_epoch": self.status.best_epoch,
            "train_seconds": epoch.seconds,
            "sentences_per_second": epoch.sentences_per_second,
            "seconds": self.status.seconds,
        }

    def _save(self) -> None:
        if self.folder.is_writer:
            save_state(self.folder.state, self.objective, self.optimizer, self.best, self.status, self.identity)

    def _finish(self) -> None:
        """Write the best epoch's model to its own folder."""
        if not self.status.is_finished:
            self.status = replace(self.status, is_finished=True)
            self._save()
        load_parameters(self.extractor, self.best)
        if self.folder.is_writer and self.data.withheld is not None:
            # A fold's model is no longer needed: its predictions are kept, its parameters are not.
            mark_finished(self.folder.state, self.status, self.identity)
        elif self.folder.is_writer:
            self.extractor.calibration = calibration_of(self.extractor, self.data)
            parts = model_of(self.extractor, self.data, self.status)
            save_model(self.folder.path / MODEL, parts, overwrite=True)
        self.folder.end()
