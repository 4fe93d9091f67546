"""One run, as the list of its stages."""

import inspect
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sayso.model.checkpoint import save_model
from sayso.model.extractor import Extractor, refuse_too_large
from sayso.seeding import drawn_seed, sub_seed
from sayso.store.store import Store
from sayso.train.config import RunConfig, load_config
from sayso.train.data import RunData, remarks_on
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
from sayso.train.epoch import Shard
from sayso.train.folder import CONFIG, MODEL, RunFolder, description_of, model_of, read_metrics
from sayso.train.gpu.captured import CapturedEpochs, why_not_captured
from sayso.train.loop import Epoch, OnStep, Validation, diverged, refuse_growth, train_epoch, validate
from sayso.train.objective import Objective
from sayso.train.state import Standing, load_parameters, load_state, parameters_of, save_state

OnBegin = Callable[[dict[str, Any]], None]
OnEpoch = Callable[[dict[str, Any]], None]
TrainOne = Callable[[int, OnStep], Epoch]

_COPIES = 6
"""Of every parameter: its value and gradient, Adam's two moments, the best epoch's value, and the one being written."""


@dataclass(frozen=True, kw_only=True)
class Watchers:
    """Who hears of a run's description before its first batch, of every step, and of every epoch's figures."""

    on_begin: OnBegin = lambda _: None
    on_step: OnStep = lambda _: None
    on_epoch: OnEpoch = lambda _: None


def train(
    config: RunConfig,
    store: Path,
    out: Path,
    device: str = "auto",
    resume: bool = False,
    watchers: Watchers = Watchers(),
) -> Standing:
    """Train the config's model on the store and leave it in `out`; return how it went.

    After every epoch the state is on disk, so that a killed run goes on with `resume` and ends with the same weights.
    """
    target = choose_device(device)
    RunFolder(out, is_writer=False).refuse_other_run(resume)
    with process_group(target) as shard, claimed_by_first(out, shard, target):
        folder = RunFolder(out, is_writer=shard.rank == 0)
        folder.refuse_other_run(resume)  # another run may have ended here meanwhile
        config = _with_seed(config, folder, shard, target)
        return _Run(config, RunData(Store(store), config), folder, target, shard, watchers).go()


def identity_of(config: RunConfig, store: Store) -> dict[str, Any]:
    """Return what must be the same when a run is resumed."""
    return {"config": config.to_table(), "data": store.fingerprint}


def _with_seed(config: RunConfig, folder: RunFolder, shard: Shard, device: torch.device) -> RunConfig:
    """Return the config with a seed, drawn by the first process where none is given, kept where the run has one."""
    if config.seed >= 0:
        return config
    seed = load_config(folder.path / CONFIG).seed if folder.state.exists() else drawn_seed()
    return replace(config, seed=int(from_first([seed], shard, device)[0]))


class _Adam(torch.optim.Adam):
    """Adam without what torch wraps around it for compiled steps, which would import torch's compiler for a second."""

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))


class _Run:
    def __init__(
        self,
        config: RunConfig,
        data: RunData,
        folder: RunFolder,
        device: torch.device,
        shard: Shard,
        watchers: Watchers,
    ) -> None:
        data.refuse_what_cannot_train()
        self.config, self.data, self.folder, self.device = config, data, folder, device
        self.shard, self.watchers = shard, watchers
        torch.manual_seed(sub_seed(config.seed, "libraries"))
        use_precision(config.train.precision, device)
        tables = data.tables()
        refuse_too_large(config.model, tables, copies=_COPIES, available=free_bytes(device))
        self.extractor = Extractor(config.model, tables, config.seed).to(device)
        self.optimizer = _Adam(self.extractor.parameters(), lr=config.train.learning_rate)
        self.standing = Standing()
        self.best: dict[str, Tensor] = {}
        self.first_loss: float | None = None
        self.identity = identity_of(config, data.store)

    def go(self) -> Standing:
        """Begin or go on, train until no epoch is better, keep the best."""
        if self.folder.state.exists():
            self.standing, self.best = load_state(self.folder.state, self.extractor, self.optimizer, self.identity)
            self.first_loss = next((row["loss"] for row in read_metrics(self.folder.path)), None)
        self._begin()
        train_one = self._how_to_train()
        while not self._is_done():
            self._one_epoch(train_one)
        self._finish()
        return self.standing

    def _begin(self) -> None:
        """Write down and tell what is about to happen."""
        fingerprint, epoch = self.data.store.fingerprint, self.standing.epoch
        refuse_disagreement(
            {"the store": int(fingerprint[:12], 16), "the state of the run": epoch}, self.shard, self.device
        )
        remarks = remarks_on(self.data, self.device.type)
        if reason := why_not_captured(self.extractor, self.device, self.shard):
            remarks.append(f"steps are taken one by one, which is several times slower: {reason}")
        description = description_of(self.config, fingerprint, self.device, self.shard.num, remarks)
        self.folder.begin(self.config, description, epoch)
        self.watchers.on_begin(description | self._outlook())

    def _outlook(self) -> dict[str, Any]:
        """Return where the run stands before its first batch, and how much there is to do."""
        table = self.data.train.table
        return {
            "folder": str(self.folder.path),
            "num_parameters": sum(parameter.numel() for parameter in self.extractor.parameters()),
            "num_bags": table.num_bags,
            "num_sentences": table.num_sentences,
            "epoch": self.standing.epoch,
            "max_epochs": self.config.train.max_epochs,
            "seconds": self.standing.seconds,
        }

    def _is_done(self) -> bool:
        settings, standing = self.config.train, self.standing
        return (
            standing.is_finished
            or standing.epoch >= settings.max_epochs
            or standing.epoch - standing.best_epoch >= settings.patience
        )

    def _how_to_train(self) -> TrainOne:
        """Return what trains one epoch: captured steps where they can be had."""
        if self.device.type == "cuda" and why_not_captured(self.extractor, self.device, self.shard) is None:
            return CapturedEpochs(self.extractor, self.optimizer, self.data).train_epoch
        objective = share_gradients(Objective(self.extractor, self.config.loss), self.shard)
        return partial(train_epoch, objective, self.extractor, self.optimizer, self.data, self.shard)

    def _one_epoch(self, train_one: TrainOne) -> None:
        number, began = self.standing.epoch + 1, time.monotonic()
        epoch = train_one(number, self.watchers.on_step)
        self._refuse_divergence(number, epoch)
        validation = self._validate()
        if not all(map(math.isfinite, validation)):
            raise diverged(number, "validation: the logits are not finite")
        self.standing = self.standing.after(*validation, time.monotonic() - began)
        if self.standing.is_best:
            self.best = parameters_of(self.extractor)
        # First the figures, then the state: after a crash between the two the epoch is done and noted again.
        row = self._row(epoch, validation)
        self.folder.note(row)
        self._save()
        self.watchers.on_epoch(row)

    def _refuse_divergence(self, number: int, epoch: Epoch) -> None:
        """Raise `TrainingError` where the epoch's loss or a weight shows that nothing is learned any longer."""
        loss = sum(epoch.terms.values())
        # The first epoch's own figure is kept with the run, so that a resumed run stops where it would have stopped.
        refuse_growth(number, loss, epoch.first_loss if self.first_loss is None else self.first_loss)
        if self.first_loss is None:
            self.first_loss = loss
        if not all(bool(parameter.isfinite().all()) for parameter in self.extractor.parameters()):
            raise diverged(number, f"loss {loss:.3g}: a weight is not finite")

    def _validate(self) -> Validation:
        """Return the validation figures, found by the first process."""
        found = validate(self.extractor, self.data) if self.shard.rank == 0 else Validation(0.0, 0.0)
        return Validation(*from_first(list(found), self.shard, self.device))

    def _row(self, epoch: Epoch, validation: Validation) -> dict[str, Any]:
        row: dict[str, Any] = {"epoch": self.standing.epoch, "loss": sum(epoch.terms.values())}
        return (
            row
            | {f"loss/{name}": value for name, value in epoch.terms.items()}
            | {
                "validation/area_up_to_recall_0.4": validation.area_up_to_recall_0_4,
                "validation/average_precision": validation.average_precision,
                "best_epoch": self.standing.best_epoch,
                "train_seconds": epoch.seconds,
                "sentences_per_second": epoch.sentences_per_second,
                "seconds": self.standing.seconds,
            }
        )

    def _save(self) -> None:
        if self.folder.is_writer:
            save_state(self.folder.state, self.extractor, self.optimizer, self.best, self.standing, self.identity)

    def _finish(self) -> None:
        """Keep the best epoch's model in a folder of its own."""
        if not self.standing.is_finished:
            self.standing = replace(self.standing, is_finished=True)
            self._save()
        load_parameters(self.extractor, self.best)
        if self.folder.is_writer:
            parts = model_of(self.extractor, self.data, self.standing)
            save_model(self.folder.path / MODEL, parts, overwrite=True)
        self.folder.end()
