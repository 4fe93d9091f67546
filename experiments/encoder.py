"""Pretrained encoders: settings chosen on validation, learning from marks, and the recommended run on test.

    python experiments/encoder.py jobs choose > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --encoder models/MiniLM --out chosen.jsonl
    python experiments/encoder.py jobs final --chosen chosen.jsonl > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --encoder models/MiniLM --out marks.jsonl

Stores of the FB-NYT part, `prepare --types … --direct kbp37_train.txt.gz --marks …`: `x3`, `x5` (`--seed 3` and `5`, without test) to choose
settings, `test` (`--seed 1`) for the number of marks, `whole` (`--validation 0.05 --keep-shared`) for the recommended run. `wiki`: the wiki
documents, `prepare --folds 5`. Several workers share the jobs: `--worker 0/3`. Needs a GPU.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from sayso import __version__
from sayso.evaluate.evaluation import EvaluationSettings, evaluate_run
from sayso.evaluate.figures import mechanism_figures, plain, relation_figures
from sayso.explain.trained_run import TrainedRun
from sayso.metrics.rationale import IRRELEVANT, RATIONALE
from sayso.model.predict import predict_logits
from sayso.store.marks import SentenceMarks, marks_of_store
from sayso.store.store import Store
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.epoch import ProcessShard
from sayso.train.folder import RunFolder, model_of
from sayso.train.marks import MarkedBags
from sayso.train.run import Callbacks, TrainingRun

TOPS = (20, 40, 60, 100, 200)
SEEDS = (13, 14, 15)
NUM_MARKS = (0, None, 1_000, 300, 100)
NO_MARKS = ("loss.mark_score=0", "loss.mark_ranking=0")
ATTENTION = "model.aggregator.kind=attention"


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run: its store (`wiki/2` withholds the second fold), and the parts to evaluate it on.

    `num_marks` is the number of training marks to learn from; None for all.
    """

    name: str
    store: str
    changes: list[str] = field(default_factory=list)
    seed: int = 13
    num_marks: int | None = None
    parts: list[str] = field(default_factory=lambda: ["validation"])


def choices() -> list[Job]:
    """Return the settings to choose from."""
    short = ["train.max_epochs=3", "train.patience=3", "train.calibration=none", "train.pretrained_learning_rate=1e-4"]
    b32, kbp, more = "train.batch_bags=32", "loss.direct_task=relations", "loss.marked_bags=32"

    def marks(score: float, ranking: float, *others: str) -> list[str]:
        return [*short, f"loss.mark_score={score}", f"loss.mark_ranking={ranking}", *others]

    fbnyt = {
        "or 0.3 1": marks(0.3, 1, b32, kbp, more),
        "or 1 2": marks(1, 2, b32, kbp, more),
        "att 0.3 1": marks(0.3, 1, b32, kbp, more, ATTENTION),
        "or 0.3 1 b16": marks(0.3, 1, "train.batch_bags=16", kbp, more),
        "or 0.3 1 5ep": marks(0.3, 1, b32, kbp, more, "train.max_epochs=5", "train.patience=5"),
    }
    type_only, slow = "data.mentions=type", "train.pretrained_learning_rate=5e-5"
    wiki = {
        "wiki F": [*short, b32, type_only],
        "wiki FE": [*short, b32],
        "wiki F slow 5ep": [*short, b32, type_only, slow, "train.max_epochs=5", "train.patience=5"],
        "wiki F slow b16": [*short, "train.batch_bags=16", type_only, slow],
    }
    jobs = [Job(name=name, store=f"wiki/{fold}", changes=each) for name, each in wiki.items() for fold in range(1, 6)]
    return jobs + [Job(name=name, store=store, changes=each) for name, each in fbnyt.items() for store in ("x3", "x5")]


def final(chosen: list[str], num_marks: tuple[int | None, ...]) -> list[Job]:
    """Return the recommended run on test, then runs that learn from some marks, with noisy-or and with attention."""
    jobs = [Job(name="recommended", store="whole", changes=chosen, seed=seed, parts=["test"]) for seed in SEEDS]
    for num in num_marks:
        for name, aggregator in (("noisy-or", "model.aggregator.kind=noisy_or"), ("attention", ATTENTION)):
            changes = [*chosen, aggregator, *(NO_MARKS if num == 0 else ())]
            jobs += [
                Job(
                    name=f"{name}, {num} marks", store="test", changes=changes, seed=seed, num_marks=num, parts=["test"]
                )
                for seed in SEEDS
            ]
    return jobs


def best(rows: list[dict], prefix: str) -> dict:
    """Return a row with the best settings: for FB-NYT by AP + 40 τ, for wiki by recall among the first 20 and 60."""
    scores = defaultdict(list)
    for row in rows:
        if row["name"].startswith(prefix) and "validation" in row:
            found = row["validation"]
            if prefix == "wiki":
                scores[row["name"]].append(found["recall"]["20"] + found["recall"]["60"])
            else:
                tau = found["attention"]["tau"]["all"]
                scores[row["name"]].append(100 * found["average_precision"] + 40 * tau["pooled"])
    most = max(len(each) for each in scores.values())
    means = {name: float(np.mean(each)) for name, each in scores.items() if len(each) == most}
    print(json.dumps(means, indent=1), file=sys.stderr)
    return next(row for row in rows if row["name"] == max(means, key=means.__getitem__))


def train(job: Job, stores: Path, encoder: Path, is_compiled: bool) -> tuple[TrainingRun, RunData]:
    """Train a job's model in memory."""
    store, _, fold = job.store.partition("/")
    config = load_config(
        "recommended", [f"model.encoder.transformer.folder={encoder}", f"seed={job.seed}", *job.changes]
    )
    data = RunData(Store(stores / store), config, withheld=int(fold) if fold else None)
    if job.num_marks:
        kept = some_marks(marks_of_store(data.store, "train"), job.num_marks, job.seed)
        data.__dict__["marked"] = MarkedBags(data.train.table, kept)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        run = TrainingRun(data, RunFolder(Path(folder), is_writer=False), device, ProcessShard(), Callbacks())
        if is_compiled and device.type == "cuda":
            for layers in (each for each in run.extractor.encoder.modules() if isinstance(each, nn.ModuleList)):
                for layer in layers:
                    layer.compile(dynamic=True)
        run.go()
        if is_compiled:
            # Explaining would compile the layers once more.
            for layer in run.extractor.encoder.modules():
                layer._compiled_call_impl = None
    return run, data


def some_marks(marks: SentenceMarks, num: int, seed: int) -> SentenceMarks:
    """Return a random choice of the marks that say rationale or irrelevant."""
    taught = [item for item in sorted(marks.by_sentence.items()) if item[1] in (RATIONALE, IRRELEVANT)]
    kept = np.random.default_rng(seed).choice(len(taught), min(num, len(taught)), replace=False)
    return SentenceMarks(by_sentence=dict(taught[index] for index in kept.tolist()), report=marks.report)


def row_of(job: Job, stores: Path, encoder: Path, is_compiled: bool, arrays: Path) -> dict:
    """Run a job and return what the results keep."""
    began = time.monotonic()
    run, data = train(job, stores, encoder, is_compiled)
    row = {
        **vars(job), "data": "wiki documents" if job.store.startswith("wiki") else "FB-NYT part", "data_fingerprint": data.store.fingerprint, "sayso": __version__, "best_epoch": run.status.best_epoch,
        "validation_average_precision": run.status.best_average_precision, "train_seconds": round(run.status.seconds, 1),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
    }  # fmt: skip
    if data.withheld is not None:
        row["validation"] = found_again(run, data)
    else:
        for part in job.parts:
            row[part] = figures_of(run, data, part, arrays / f"{job.name}-{job.seed}-{part}.npz")
    return row | {"seconds": round(time.monotonic() - began, 1)}


def found_again(run: TrainingRun, data: RunData) -> dict:
    """Return which share of the withheld facts are among the most probable of their fold."""
    logit_BR = predict_logits(run.extractor, data.validation)
    label_BR = data.validation.label_rows(np.arange(data.validation.table.num_bags)).numpy() > 0
    is_right = label_BR.ravel()[np.argsort(-logit_BR, axis=None)]
    recall = {str(num): round(float(is_right[:num].sum() / is_right.sum()), 4) for num in TOPS}
    return {**relation_figures(logit_BR, label_BR), "recall": recall, "num_facts": int(is_right.sum())}


def figures_of(run: TrainingRun, data: RunData, part: str, arrays: Path) -> dict:
    """Return AP, τ and faithfulness on a part; the logits go to `arrays`."""
    parts = model_of(run.extractor.eval(), data, run.status)
    subject = TrainedRun(folder=arrays, model=parts, store=data.store, part_name=part)
    settings = EvaluationSettings(methods=("attention", "shapley"), num_resamples=0)
    evaluation = evaluate_run(subject, marks_of_store(data.store, part), settings)
    before = evaluation.logit_BR if evaluation.uncalibrated_BR is None else evaluation.uncalibrated_BR
    if part == "test":
        arrays.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(arrays, calibrated=evaluation.logit_BR.astype(np.float16), plain=before.astype(np.float32))
    label_BR = subject.label_BR
    return {
        **plain(relation_figures(before, label_BR)),
        "calibrated": plain(relation_figures(evaluation.logit_BR, label_BR))["average_precision"],
        **{
            name: mechanism_figures(evaluation, name) and slim(plain(mechanism_figures(evaluation, name)))
            for name in evaluation.mechanisms
        },
    }


def slim(figures: dict) -> dict:
    """Return τ and faithfulness without intervals."""
    tau = {
        band: {name: each[name] for name in ("pooled", "per_fact_mean", "num_tuples", "num_facts")}
        for band, each in figures["tau"].items()
    }
    faithful = {name: figures["faithfulness"][name]["value"] for name in ("comprehensiveness", "sufficiency")}
    return {"tau": tau, **faithful}


def main() -> None:
    """Print jobs, or run them and add a line per job to the output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("jobs")
    listed.add_argument("set", choices=["choose", "final", "wiki"])
    listed.add_argument("--chosen", type=Path, nargs="*", default=[])
    running = commands.add_parser("run")
    running.add_argument("jobs", type=Path)
    for name in ("stores", "encoder", "out"):
        running.add_argument(f"--{name}", type=Path, required=True)
    running.add_argument("--worker", default="0/1")
    running.add_argument("--seconds", type=float, default=float("inf"))
    running.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    if given.command == "run":
        work(given)
        return
    rows = [json.loads(line) for path in given.chosen for line in path.read_text().splitlines()]
    if given.set == "wiki":
        print(" ".join(f"--set {change}" for change in best(rows, "wiki")["changes"] if "calibration" not in change))
        return
    jobs = choices() if given.set == "choose" else final(chosen_changes(rows), NUM_MARKS)
    print("\n".join(json.dumps(vars(job)) for job in jobs))


def chosen_changes(rows: list[dict]) -> list[str]:
    """Return the chosen settings for FB-NYT, with calibration."""
    fbnyt = [row for row in rows if not row["name"].startswith("wiki")]
    return [change for change in best(fbnyt, "")["changes"] if "calibration" not in change]


def work(given: argparse.Namespace) -> None:
    """Run this worker's jobs until the time is up."""
    began, (number, num) = time.monotonic(), map(int, given.worker.split("/"))
    jobs = [Job(**json.loads(line)) for line in given.jobs.read_text().splitlines() if line]
    with given.out.open("a") as file:
        for job in jobs[number::num]:
            if time.monotonic() - began > given.seconds:
                break
            try:
                row = row_of(job, given.stores, given.encoder, given.compile, given.out.parent / "arrays")
            except Exception:  # noqa: BLE001  a job that fails must not stop the others
                traceback.print_exc()
                continue
            file.write(json.dumps(row) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
