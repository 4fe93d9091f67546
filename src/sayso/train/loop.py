"""Train one epoch with Adam, check that its losses stay finite, validate, and calibrate the trained model.

Pretrained weights have their own learning rate; both rates follow the schedule. Shapes: B bags, R relations.
"""

import inspect
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sayso.errors import UserError
from sayso.metrics.precision_recall import area_up_to_recall, average_precision, precision_recall_curve
from sayso.model.calibration import Calibration, calibrated_on
from sayso.model.encoders.base import Encoder
from sayso.model.extractor import Extractor
from sayso.model.predict import NotFiniteError, predict_logits
from sayso.seeding import sub_seed
from sayso.store.table import BagTable
from sayso.train.config import TrainConfig
from sayso.train.data import RunData
from sayso.train.device import sum_over_shards
from sayso.train.epoch import ProcessShard, num_steps, steps_of_epoch

_STEPS_BETWEEN_LOOKS = 50
_GRADIENT = "gradient"
_MOST_GROWTH = 1_000
"""A loss that exceeds the initial one by this factor has diverged: even if it falls again, units are dead."""


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


class TrainingError(UserError):
    """Training cannot continue."""


def diverged(epoch: int, what: str) -> TrainingError:
    """Return the error for an epoch that has diverged."""
    kept = f"the state after epoch {epoch - 1} is kept" if epoch > 1 else "no epoch was finished, so no state is kept"
    return TrainingError(f"epoch {epoch}, {what}; {kept}: start again with a smaller train.learning_rate")


def refuse_growth(epoch: int, loss: float, at_first: float) -> None:
    """Raise `TrainingError` if the loss of an epoch is far above the initial one."""
    if loss > _MOST_GROWTH * max(at_first, 1.0):
        raise diverged(epoch, f"loss {loss:.3g}: training has diverged (the initial loss was {at_first:.3g})")


class LossTally:
    """Collects loss terms on the device and checks them at intervals, so that steps need no synchronisation."""

    def __init__(self, epoch: int, shard: ProcessShard) -> None:
        self.epoch, self.shard = epoch, shard
        self._names: list[str] = []
        self._waiting: list[Tensor] = []
        self._rows: list[list[float]] = []
        self._num_bags: list[int] = []

    def add(self, terms: dict[str, Tensor], gradient_norm: Tensor, num_bags: int) -> None:
        """Add this shard's terms of one batch, the norm of the whole batch's gradient and its number of bags."""
        self._names = [*terms, _GRADIENT]
        self._num_bags.append(num_bags)
        self._waiting.append(torch.stack([value.detach() for value in (*terms.values(), gradient_norm)]))
        if len(self._waiting) >= _STEPS_BETWEEN_LOOKS:
            self._look()

    def add_all(self, names: Sequence[str], row_UX: Tensor, num_bags: Sequence[int]) -> None:
        """Add the terms and the gradient norm of many batches, one row per batch."""
        self._names = [*names, _GRADIENT]
        self._num_bags += num_bags
        self._take(row_UX)

    @property
    def first(self) -> float:
        """The loss of the first batch."""
        self._look()
        return sum(self._rows[0][:-1])

    def means(self) -> dict[str, float]:
        """Return each term's mean over the batches of all shards, weighted by their bags."""
        self._look()
        columns = dict(zip(self._names, zip(*self._rows, strict=True), strict=True))
        del columns[_GRADIENT]
        return {name: float(np.average(column, weights=self._num_bags)) for name, column in columns.items()}

    def _look(self) -> None:
        if self._waiting:
            self._take(torch.stack(self._waiting))
            self._waiting.clear()

    def _take(self, row_UX: Tensor) -> None:
        rows: list[list[float]] = sum_over_shards(row_UX, self.shard).tolist()
        for number, row in enumerate(rows, len(self._rows) + 1):
            self._refuse_divergence(number, row)
        self._rows += rows

    def _refuse_divergence(self, number: int, row: list[float]) -> None:
        """Raise `TrainingError` in every process at the first batch with a value that is not finite."""
        for name, value in zip(self._names, row, strict=True):
            if not math.isfinite(value):
                what = "norm of the gradient" if name == _GRADIENT else f"{name} term of the loss"
                raise diverged(self.epoch, f"batch {number}: the {what} is {value}")


RECALL_LIMIT = 0.4


class Validation(NamedTuple):
    """Validation metrics: the area under the precision-recall curve up to recall 0.4, and average precision."""

    area_up_to_recall_0_4: float
    average_precision: float

    def figures(self) -> dict[str, float]:
        """Return the metrics as columns of a run's metrics."""
        return {f"validation/{name.replace('0_4', '0.4')}": value for name, value in self._asdict().items()}


class StepProgress(NamedTuple):
    """Progress within an epoch."""

    epoch: int
    step: int
    num_steps: int
    sentences_per_second: float


class EpochResult(NamedTuple):
    """The mean of each loss term over an epoch's batches, the loss of the first batch, and the speed.

    The speed counts all sentences encoded in all processes, including distractors and directly supervised ones.
    """

    terms: dict[str, float]
    first_loss: float
    seconds: float
    sentences_per_second: float


OnStep = Callable[[StepProgress], None]


def train_epoch(
    objective: nn.Module,
    extractor: Extractor,
    optimizer: torch.optim.Optimizer,
    data: RunData,
    shard: ProcessShard,
    epoch: int,
    on_step: OnStep,
) -> EpochResult:
    """Train one epoch, one step per batch."""
    device, settings = next(extractor.parameters()).device, data.config.train
    generator = torch.Generator(device).manual_seed(sub_seed(data.config.seed, f"dropout/{epoch}/{shard.rank}"))
    extractor.use_generator(generator)
    # Pretrained encoders draw their dropout from torch's global generator.
    torch.manual_seed(sub_seed(data.config.seed, f"libraries/{epoch}/{shard.rank}"))
    objective.train()
    losses, of_steps = LossTally(epoch, shard), num_steps(data)
    began, num_sentences = time.monotonic(), 0
    for number, step in enumerate(steps_of_epoch(data, epoch, shard), 1):
        optimizer.zero_grad(set_to_none=True)
        terms: dict[str, Tensor] = {}
        for batch in step.parts:
            of_part: dict[str, Tensor] = objective(batch.to(device), step.num_bags, step.num_targets)
            # Data-parallel training averages the gradients of the shards, but the loss needs their sum.
            (sum(of_part.values()) * shard.num).backward()  # type: ignore[union-attr]
            terms = {name: terms.get(name, 0.0) + value.detach() for name, value in of_part.items()}
            num_sentences += batch.sentences.num_sentences
        set_rates(optimizer, settings, (epoch - 1) * of_steps + number - 1, settings.max_epochs * of_steps)
        norm = nn.utils.clip_grad_norm_(objective.parameters(), settings.gradient_clip)
        optimizer.step()
        losses.add(terms, norm, step.num_bags)
        on_step(StepProgress(epoch, number, of_steps, num_sentences / (time.monotonic() - began)))
    terms_of_epoch = losses.means()
    seconds = time.monotonic() - began
    num_everywhere = int(sum_over_shards(torch.tensor(num_sentences, device=device), shard))
    return EpochResult(terms_of_epoch, losses.first, seconds, num_everywhere / seconds)


def validate(extractor: Extractor, data: RunData) -> tuple[Validation, np.ndarray]:
    """Return the metrics that decide which epoch is best, and the logits; NaN if a logit is not finite."""
    part = data.validation
    try:
        logit_BR = predict_logits(extractor, part)
    except NotFiniteError:
        return Validation(np.nan, np.nan), np.full((part.table.num_bags, part.num_relations), np.nan)
    return validation_of(logit_BR, part.label_rows(np.arange(part.table.num_bags)).numpy()), logit_BR


def validation_of(logit_BR: np.ndarray, label_BR: np.ndarray) -> Validation:
    """Return the validation metrics of these logits."""
    curve = precision_recall_curve(logit_BR, label_BR)
    return Validation(float(area_up_to_recall(curve, RECALL_LIMIT)), float(average_precision(curve)))


def calibration_of(extractor: Extractor, data: RunData) -> Calibration | None:
    """Fit the configured calibration on the validation part; None if it is off.

    A model that is trained on all facts is calibrated by the folds (`folds.py`).
    """
    if data.config.train.calibration == "none" or data.refit:
        return None
    part = data.validation
    label_BR = part.label_rows(np.arange(part.table.num_bags)).numpy()
    weight_B = corpus_weights(part.table, data.store.na_share("validation"))
    fitted = calibrated_on(predict_logits(extractor, part), label_BR, weight_B, "validation")
    return fitted.to(extractor.scorer.bias_R.device)


def corpus_weights(table: BagTable, na_share: float) -> np.ndarray:
    """Return how many pairs of the whole corpus each bag stands for, if only a fraction of the NA pairs was kept."""
    return np.where(table.is_positive_B, 1.0, 1.0 / na_share)
