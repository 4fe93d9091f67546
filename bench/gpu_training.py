"""Training on one GPU: an epoch of 473,000 sentences, captured steps compared with compiled dense convolution.

    PYTHONPATH=src python bench/gpu_training.py --out gpu_training.json

Sizes are those of FB-NYT (see `drawn`): 39 tokens per sentence, 160 bags per batch, 300-d words, 53 relations.
The reference pads to 48 tokens, which truncates a quarter of the sentences and so flatters it.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from drawn import NUM_RELATIONS, NUM_WORDS, WORD_WIDTH, draw_table, make_extractor, make_part
from figure import Figure, amount, at_most, ratio, record
from reference.gpu_dense import DenseModel, captured_step, dense_batch
from sayso.features.batch import Part
from sayso.train.config import LossConfig, RunConfig, TrainConfig
from sayso.train.data import RunData
from sayso.train.device import use_precision
from sayso.train.epoch import ProcessShard, steps_of_epoch
from sayso.train.gpu.captured import CapturedEpochs
from sayso.train.loop import train_epoch
from sayso.train.objective import Objective

NUM_SENTENCES, BATCH_BAGS, REFERENCE_TOKENS = 473_000, 160, 48
DEVICE = torch.device("cuda")
PRECISIONS = ("bf16", "tf32", "float32")


def config_of(precision: str, seed: int = 13) -> RunConfig:
    """Return the paper's CNNs+ATT, with batches of 160 bags."""
    train = TrainConfig(batch_bags=BATCH_BAGS, precision=precision)  # type: ignore[arg-type]
    return replace(RunConfig(), seed=seed, train=train, loss=LossConfig(sentence=0.0))


def drawn_data(part: Part, config: RunConfig) -> RunData:
    """Return the part as training input, without a store on disk."""
    store: Any = SimpleNamespace(relations=range(NUM_RELATIONS), vector_VD=np.zeros((1, WORD_WIDTH), np.float32))
    data = RunData(store, config)
    vars(data).update(train=part, word_VW=np.zeros((NUM_WORDS, WORD_WIDTH), np.float32))
    return data


class Trainee:
    """A model in training with captured steps."""

    def __init__(self, part: Part, precision: str, seed: int = 13) -> None:
        config = config_of(precision, seed)
        use_precision(precision, DEVICE)
        self.data = drawn_data(part, config)
        self.extractor = make_extractor("attention").to(DEVICE)
        self.optimizer = torch.optim.Adam(self.extractor.parameters(), lr=config.train.learning_rate)
        self.epochs = CapturedEpochs(self.extractor, self.optimizer, self.data)

    def train(self, first: int, last: int) -> list[float]:
        """Train these epochs and return the seconds per epoch, including preparation."""
        return [self.epochs.train_epoch(epoch, lambda _: None).seconds for epoch in range(first, last + 1)]

    def seconds_of_steps(self) -> float:
        """Return the seconds of one epoch's steps only."""
        epochs = self.epochs
        with torch.cuda.stream(epochs.stream):
            padded = epochs._prepare(9)
            torch.cuda.synchronize()
            began = time.monotonic()
            epochs._replay(9, padded, began, lambda _: None)
        return time.monotonic() - began


def measure_captured(part: Part, precision: str) -> dict[str, Any]:
    """Return the time of an epoch and of a step."""
    trainee = Trainee(part, precision)
    first, *others = trainee.train(1, 6)
    num_steps = len(trainee.epochs.norm_U)
    steps = [trainee.seconds_of_steps() for _ in range(3)]
    return {
        "first_epoch_seconds": first,
        "epochs_seconds": others,
        "epoch_seconds": statistics.median(others),
        "step_microseconds": statistics.median(steps) / num_steps * 1e6,
        "sentences_per_second": NUM_SENTENCES / statistics.median(others),
        "num_steps": num_steps,
        "distinct_words": float((trainee.epochs.packed.cut(trainee.epochs.number_1 * 0)["word_Y"] > 0).sum()),
    }


def measure_one_by_one(precision: str) -> float:
    """Return the microseconds of a step without capture, measured on part of an epoch."""
    config = config_of(precision)
    use_precision(precision, DEVICE)
    extractor = make_extractor("attention").to(DEVICE)
    optimizer = torch.optim.Adam(extractor.parameters(), lr=1e-3)
    small = make_part(draw_table(30_000, seed=2))
    objective = Objective(extractor, config.loss)
    seconds = [
        train_epoch(
            objective, extractor, optimizer, drawn_data(small, config), ProcessShard(), epoch, lambda _: None
        ).seconds
        for epoch in (1, 2)
    ]
    return seconds[-1] / -(-small.table.num_bags // BATCH_BAGS) * 1e6


def measure_dense(part: Part) -> dict[str, float]:
    """Return the reference's time per step, and the difference of the two losses with the same weights."""
    torch.set_float32_matmul_precision("highest")
    extractor = make_extractor("attention").to(DEVICE)
    mean = NUM_SENTENCES / -(-part.table.num_bags // BATCH_BAGS)
    steps = islice(steps_of_epoch(drawn_data(part, config_of("float32")), 1), 20)
    step = min(steps, key=lambda one: abs(one.batch.sentences.num_sentences - mean))
    batch = step.batch.to(DEVICE)
    with torch.no_grad():
        ours = Objective(extractor, LossConfig(sentence=0.0))(batch, step.num_bags, 0)["bag"]
        theirs = DenseModel(extractor).to(DEVICE).eval()(dense_batch(batch, int(batch.sentences.length_S.max())))
    torch.set_float32_matmul_precision("high")
    found = {"loss_difference": abs(float(theirs / ours) - 1.0), "num_sentences": batch.sentences.num_sentences}
    model = DenseModel(extractor).to(DEVICE).train()
    step_microseconds = microseconds(captured_step(model, dense_batch(batch, REFERENCE_TOKENS), 5.0))
    num_steps = -(-part.table.num_bags // BATCH_BAGS)
    return found | {"step_microseconds": step_microseconds, "epoch_seconds": step_microseconds * num_steps / 1e6}


def microseconds(call: Callable[[], object], num: int = 200) -> float:
    """Return the median time of a call over five rounds."""
    rounds = []
    for _ in range(5):
        torch.cuda.synchronize()
        began = time.monotonic()
        for _ in range(num):
            call()
        torch.cuda.synchronize()
        rounds.append((time.monotonic() - began) / num * 1e6)
    return statistics.median(rounds)


def measure_side_by_side(part: Part, nums: tuple[int, ...]) -> dict[str, float]:
    """Return the total sentences per second of this many models in parallel."""
    found = {}
    trainees = [Trainee(part, "bf16", seed) for seed in range(max(nums))]
    for trainee in trainees:
        trainee.train(1, 1)
    for num in nums:
        torch.cuda.synchronize()
        threads = [Thread(target=trainee.train, args=(2, 3)) for trainee in trainees[:num]]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found[str(num)] = 2 * num * NUM_SENTENCES / (time.monotonic() - began)
    return found


def breakdown(part: Part, precision: str) -> list[tuple[str, int, float]]:
    """Return the kernels of a captured step by time: name, calls per step, microseconds per step."""
    trainee = Trainee(part, precision)
    trainee.train(1, 1)
    with torch.cuda.stream(trainee.epochs.stream):
        trainee.epochs._prepare(2)
        graph, num = trainee.epochs.graphs[8], 8
        graph.replay()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            graph.replay()
            torch.cuda.synchronize()
    rows = [(row.key, row.count / num, row.self_device_time_total / num) for row in profile.key_averages()]
    return sorted(rows, key=lambda row: -row[2])


def ceilings() -> dict[str, float]:
    """Return this GPU's copy bandwidth in TB/s and bfloat16 matrix product rate in TFLOP/s."""
    source = torch.randn(2**29, device=DEVICE)
    target = torch.empty_like(source)
    copy = 2 * source.numel() * 4 / microseconds(lambda: target.copy_(source), 5) / 1e6
    left, right = (torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    return {"copy_TB_per_s": copy, "bf16_TFLOP_per_s": 2 * 8192**3 / microseconds(lambda: left @ right, 10) / 1e6}


def work_of_a_step(part: Part, num_words: float, num_steps: int) -> dict[str, float]:
    """Return the minimum computation and memory traffic of a step, and what the kernels fetch from the cache.

    The minimum: each word is multiplied once, a filter's gradient has one row per sentence and filter position, each
    input is read once and each output written once. Fetched: rows of the word table and of two distance tables for each
    token, and the word vectors at each filter's argmax.
    """
    num_sentences, columns, filters, width, relations = NUM_SENTENCES / num_steps, 1400, 400, 100, NUM_RELATIONS
    num_tokens = float(part.inputs.tokens.start[-1]) / num_steps
    num_parameters = columns * (WORD_WIDTH + 10) + filters * width + 2 * relations * width
    products = 2 * num_words * WORD_WIDTH * columns + 2 * num_sentences * columns * WORD_WIDTH
    layers = 3 * 2 * num_sentences * width * (filters + 2 * relations)
    table, rows = 2 * num_words * columns, 2 * num_sentences * columns * WORD_WIDTH
    return {
        "GFLOP": (products + layers + 3 * num_tokens * columns) / 1e9,
        "least_MB": (4 * num_words * WORD_WIDTH + 12 * num_tokens + 6 * 4 * num_parameters) / 1e6,
        "fetched_MB": (2 * table + num_tokens * columns * (2 + 4 + 4) + rows) / 1e6,
    }


def rates(found: dict[str, Any], part: Part) -> dict[str, Any]:
    """Return the lower bounds on the time of a step, and the rates achieved."""
    ours, ceiling = found["captured"]["bf16"], found["ceilings"]
    work = work_of_a_step(part, ours["distinct_words"], int(ours["num_steps"]))
    return work | {
        "arithmetic_floor_microseconds": work["GFLOP"] / ceiling["bf16_TFLOP_per_s"] * 1e3,
        "memory_floor_microseconds": work["least_MB"] / ceiling["copy_TB_per_s"],
        "TFLOP_per_s": work["GFLOP"] / ours["step_microseconds"] * 1e3,
        "fetched_TB_per_s": work["fetched_MB"] / ours["step_microseconds"],
    }


def figures_of(found: dict[str, Any]) -> list[Figure]:
    """Return the rows for `bench/results.json`."""
    ours, reference, together = found["captured"]["bf16"], found["dense"], found["side_by_side"]
    best = max(together, key=lambda num: together[num])
    note = (
        f"bf16; tf32 {found['captured']['tf32']['epoch_seconds']:.2f} s, float32"
        f" {found['captured']['float32']['epoch_seconds']:.2f} s; the reference pads to {REFERENCE_TOKENS} tokens, and"
        f" with the same weights the losses agree to {reference['loss_difference']:.0e}"
    )
    step = ([ours["step_microseconds"]], [reference["step_microseconds"]])
    figures = [
        amount("train on one GPU, an epoch of 473,000 sentences", ours["epochs_seconds"], "s", at_most(0.3), note),
        ratio("train on one GPU, a step vs. compiled dense torch", *step, "µs", at_most(0.2), note),
        amount(f"train on one GPU, {best} models in parallel", [together[best]], "sentences/s", None, note),
    ]
    return [replace(figure, machine=found["machine"]) for figure in figures]


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gpu_training.json"))
    parser.add_argument("--what", nargs="+", default=["captured", "dense", "one_by_one", "breakdown", "side_by_side"])
    parser.add_argument("--precisions", nargs="+", default=list(PRECISIONS))
    parser.add_argument("--models", nargs="+", type=int, default=[1, 4, 8, 16])
    arguments = parser.parse_args()
    part = make_part(draw_table(NUM_SENTENCES))
    found: dict[str, Any] = {"machine": torch.cuda.get_device_name(), "ceilings": ceilings()}
    measures: dict[str, Callable[[], object]] = {
        "captured": lambda: {precision: measure_captured(part, precision) for precision in arguments.precisions},
        "dense": lambda: measure_dense(part),
        "one_by_one": lambda: {"step_microseconds": measure_one_by_one("tf32")},
        "breakdown": lambda: breakdown(part, "bf16"),
        "side_by_side": lambda: measure_side_by_side(part, tuple(arguments.models)),
    }
    for name in arguments.what:
        found[name] = measures[name]()
        print(name, json.dumps(found[name], indent=1), flush=True)
        arguments.out.write_text(json.dumps(found, indent=2) + "\n")
    if {"captured", "dense", "side_by_side"} <= found.keys():
        found["rates"] = rates(found, part)
        found["rows"] = [asdict(figure) for figure in figures_of(found)]
        arguments.out.write_text(json.dumps(found, indent=2) + "\n")
        record(figures_of(found))


if __name__ == "__main__":
    main()
