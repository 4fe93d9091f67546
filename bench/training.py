"""Training steps on CPU in sentences per second, relative to both references: same batches, loss and gradients."""

import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from drawn import draw_table, make_extractor, make_store
from figure import Figure, at_least, ratio, record
from measure import side_by_side, threads
from reference.no_padding import UnpaddedModel
from reference.padded import PaddedModel
from reference.plain import PlainModel
from sayso.model.extractor import Extractor
from sayso.store.store import Store
from sayso.train.config import RunConfig, config_of
from sayso.train.data import RunData
from sayso.train.epoch import ProcessShard, TrainStep, steps_of_epoch
from sayso.train.loop import train_epoch
from sayso.train.objective import Objective

NUM_SENTENCES = 1_200
"""Sentences per epoch; a step has 160 bags, as in the published baselines, or about 300 sentences."""
NUM_PADDED_STEPS = 1
"""Steps of the padded reference per round, so that all rounds take about the same time."""
NUM_COMPARED = 2
GRADIENT_TOLERANCE, LOSS_TOLERANCE = 1e-5, 1e-4
SYSTEMS = {"attention": "CNNs+ATT", "direct": "DirectSup"}


def config_for(kind: str) -> RunConfig:
    """Return a run config for this system."""
    table = {"train": {"batch_bags": 160}, "loss": {"direct_sentences": 0}, "model": {"aggregator": {"kind": kind}}}
    return config_of(table)


def relative(found: Tensor, expected: Tensor) -> float:
    """Return the norm of the difference over the norm of the expected value."""
    return float((found - expected).norm() / expected.norm().clamp(min=1e-12))


def compare(extractor: Extractor, data: RunData, make: Callable[[Extractor], PlainModel]) -> tuple[float, float]:
    """Return the largest relative differences without dropout: of gradients, and of the losses of a few steps.

    Only gradients of the first step are compared: later, Adam's division amplifies rounding of small gradients.
    """
    extractor.eval()
    model, objective = make(extractor), Objective(extractor, data.config.loss)
    ours = torch.optim.Adam(extractor.parameters(), lr=1e-3)
    theirs = torch.optim.Adam(model.parameters(), lr=1e-3)
    of_gradient, of_loss = 0.0, 0.0
    for number, step in enumerate(islice(steps_of_epoch(data, epoch=1), NUM_COMPARED)):
        whole = (step.batch, step.num_bags, step.num_targets)
        loss, expected = sum(objective(*whole).values(), torch.zeros(())), model.loss(*whole)
        for value, optimizer in ((loss, ours), (expected, theirs)):
            optimizer.zero_grad()
            value.backward()
        of_loss = max(of_loss, relative(loss.detach(), expected.detach()))
        if number == 0:
            of_gradient = gradient_difference(extractor, model)
        ours.step()
        theirs.step()
    print(f"differ by {of_gradient:.1e} (gradients), {of_loss:.1e} (losses of {NUM_COMPARED} steps)", flush=True)
    assert of_gradient <= GRADIENT_TOLERANCE, "our gradients differ from the reference's"
    assert of_loss <= LOSS_TOLERANCE, "our losses differ from the reference's"
    return of_gradient, of_loss


def gradient_difference(extractor: Extractor, model: PlainModel) -> float:
    """Return the largest relative difference over the parameters that have a gradient."""
    pairs = [(weight.grad, model.weight[name].grad) for name, weight in extractor.named_parameters()]
    return max(relative(found, wanted) for found, wanted in pairs if found is not None and wanted is not None)


def take_steps(model: PlainModel, optimizer: torch.optim.Optimizer, steps: list[TrainStep], clip: float) -> None:
    """Run training steps of a reference."""
    for step in steps:
        loss = model.loss(step.batch, step.num_bags, step.num_targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()


def measure(kind: str, store: Path) -> list[Figure]:
    """Return the two ratios for one system."""
    config = config_for(kind)
    data = RunData(Store(store), config)
    differences = [compare(make_extractor(kind), data, make) for make in (PaddedModel, UnpaddedModel)]
    of_gradient, of_loss = (max(column) for column in zip(*differences, strict=True))
    extractor = make_extractor(kind)
    models: dict[str, PlainModel] = {"padded": PaddedModel(extractor), "no padding": UnpaddedModel(extractor)}
    for model in models.values():
        model.dropout = 0.1
    steps = list(steps_of_epoch(data, epoch=1))
    of_model = {"padded": steps[:NUM_PADDED_STEPS], "no padding": steps}
    optimizers = {name: torch.optim.Adam(model.parameters(), lr=1e-3) for name, model in models.items()}
    objective, optimizer = Objective(extractor, config.loss), torch.optim.Adam(extractor.parameters(), lr=1e-3)
    clip = config.train.gradient_clip
    calls: dict[str, Callable[[], object]] = {
        name: lambda name=name: take_steps(models[name], optimizers[name], of_model[name], clip)  # type: ignore[misc]
        for name in models
    }
    calls["ours"] = lambda: train_epoch(
        objective, extractor, optimizer, data, epoch=1, shard=ProcessShard(), on_step=lambda _: None
    )
    seconds = side_by_side(calls, repeats=3)
    speed = {
        name: [sum(step.batch.sentences.num_sentences for step in of_model.get(name, steps)) / each for each in taken]
        for name, taken in seconds.items()
    }
    note = (
        f"{threads()}, whole steps with dropout 0.1; without it gradients agree to"
        f" {of_gradient:.0e} and the losses of {NUM_COMPARED} steps to {of_loss:.0e}"
    )
    return [
        ratio(f"train, {SYSTEMS[kind]} vs. {name}", speed["ours"], speed[name], "sentences/s", target, note)
        for name, target in (("padded", at_least(20)), ("no padding", at_least(6)))
    ]


def main() -> None:
    """Measure both systems on one random store."""
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "store"
        make_store(store, draw_table(NUM_SENTENCES))
        record([figure for kind in SYSTEMS for figure in measure(kind, store)])


if __name__ == "__main__":
    main()
