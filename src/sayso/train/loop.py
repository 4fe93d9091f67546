"""One epoch of training, and its validation."""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sayso.metrics.precision_recall import area_up_to_recall, average_precision, precision_recall_curve
from sayso.model.extractor import Extractor
from sayso.model.predict import NotFiniteError, predict_logits
from sayso.seeding import sub_seed
from sayso.train.data import RunData
from sayso.train.device import sum_over_shards
from sayso.train.epoch import Shard, num_steps, steps_of_epoch
from sayso.train.losses import LossTally

RECALL_LIMIT = 0.4


class Validation(NamedTuple):
    """Validation figures: the area under the precision-recall curve up to recall 0.4, and average precision."""

    area_up_to_recall_0_4: float
    average_precision: float


class StepProgress(NamedTuple):
    """Where training stands within an epoch."""

    epoch: int
    step: int
    num_steps: int
    sentences_per_second: float


class Epoch(NamedTuple):
    """What an epoch of training gave: the mean of each loss term over the batches, and how fast it went.

    `first_loss` is the loss of the first batch. Sentences are all that were encoded, distractors and directly
    supervised ones included, in all processes.
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
    shard: Shard,
    epoch: int,
    on_step: OnStep,
) -> Epoch:
    """Take one step for each batch of the epoch."""
    device = next(extractor.parameters()).device
    generator = torch.Generator(device).manual_seed(sub_seed(data.config.seed, f"dropout/{epoch}/{shard.rank}"))
    extractor.use_generator(generator)
    objective.train()
    losses, of_steps = LossTally(epoch, shard), num_steps(data)
    began, num_sentences = time.monotonic(), 0
    for number, step in enumerate(steps_of_epoch(data, epoch, shard), 1):
        terms: dict[str, Tensor] = objective(step.batch.to(device), step.num_bags, step.num_targets)
        optimizer.zero_grad(set_to_none=True)
        # Data-parallel training averages the gradients of the shards; their sum is what the loss asks for.
        (sum(terms.values()) * shard.num).backward()  # type: ignore[union-attr]
        norm = nn.utils.clip_grad_norm_(extractor.parameters(), data.config.train.gradient_clip)
        optimizer.step()
        losses.add(terms, norm, step.num_bags)
        num_sentences += step.batch.sentences.num_sentences
        on_step(StepProgress(epoch, number, of_steps, num_sentences / (time.monotonic() - began)))
    terms_of_epoch = losses.means()
    seconds = time.monotonic() - began
    num_everywhere = int(sum_over_shards(torch.tensor(num_sentences, device=device), shard))
    return Epoch(terms_of_epoch, losses.first, seconds, num_everywhere / seconds)


def validate(extractor: Extractor, data: RunData) -> Validation:
    """Return the figures that decide which epoch is the best; not a number where the logits are not finite."""
    part = data.validation
    try:
        logit_BR = predict_logits(extractor, part)
    except NotFiniteError:
        return Validation(np.nan, np.nan)
    label_BR = part.label_rows(np.arange(part.table.num_bags)).numpy()
    curve = precision_recall_curve(logit_BR, label_BR)
    return Validation(float(area_up_to_recall(curve, RECALL_LIMIT)), float(average_precision(curve)))
