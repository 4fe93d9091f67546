"""Pretrained encoders: settings chosen on validation, learning from marks, and the recommended runs on test.

    python experiments/encoder.py jobs choose > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --encoder models/MiniLM --out chosen.jsonl
    python experiments/encoder.py jobs final > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --encoder models/MiniLM --out final.jsonl
    python experiments/encoder.py jobs cnn > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --out cnn.jsonl
    python experiments/encoder.py jobs articles > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --encoder models/MiniLM --out articles.jsonl
    python experiments/encoder.py jobs larger > jobs.jsonl
    python experiments/encoder.py run jobs.jsonl --stores stores --encoder models/MPNet --out larger.jsonl
    python experiments/encoder.py gain arrays/*-test.npz --store stores/whole

Stores of the FB-NYT part, `prepare --types … --direct kbp37_train.txt.gz --marks …`: `x3` and `x5` (`--seed 3` and `5`, `--validation 0.15`,
without test, with entity vectors) to choose settings, `test` (`--seed 1`) for the number of marks, `whole` (`--validation 0.05 --keep-shared`,
with entity vectors) for the recommended run, `cnn` (as `test`, with `--vectors glove-100d.bin`) for CNNs. Entity vectors are trained with `--exclude-store`, so they know no validation or test pair.
`wiki`: the wiki documents, `prepare --folds 5`; `articles`: the store of the README's real text, with 3 folds. Several workers share the
jobs: `--worker 0/3`. Needs a GPU, except for CNNs, articles and `gain`.
"""

import argparse
import json
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from sayso import __version__
from sayso.evaluate.baselines import baselines_of
from sayso.evaluate.evaluation import EvaluationSettings, evaluate_run
from sayso.evaluate.figures import mechanism_figures, plain, relation_figures
from sayso.explain.trained_run import TrainedRun
from sayso.metrics.interval import bootstrap, difference
from sayso.metrics.precision_recall import average_precision, precision_recall_curve, sort_scores
from sayso.metrics.rationale import IRRELEVANT, RATIONALE
from sayso.model.predict import predict_logits
from sayso.store.marks import SentenceMarks, marks_of_store
from sayso.store.store import Store
from sayso.train.calibrate import calibration_of
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.epoch import ProcessShard
from sayso.train.folder import RunFolder, model_of
from sayso.train.marks import MarkedBags
from sayso.train.run import Callbacks, TrainingRun

DATA = {"wiki": "wiki documents", "articles": "examples/wiki"}
TOPS = (20, 40, 60, 100, 200)
SEEDS = (13, 14, 15)
NUM_MARKS = (0, None, 1_000, 300, 100)
CNN_WEIGHTS = (0, 1)
"""Weights of the marks of the CNN's runs on test, chosen on validation: `mark_score` and `mark_ranking`."""
NO_MARKS = ("loss.mark_score=0", "loss.mark_ranking=0")


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run: its store (`wiki/2` withholds the second fold), and the parts to evaluate it on.

    `num_marks` is the number of training marks to learn from; None for all.
    """

    name: str
    store: str
    config: str = "recommended_marks"
    changes: list[str] = field(default_factory=list)
    seed: int = 13
    num_marks: int | None = None
    parts: list[str] = field(default_factory=lambda: ["validation"])


def choices() -> list[Job]:
    """Return the settings to choose from; `short` runs have three epochs with a higher learning rate."""
    kbp, entities = "loss.direct_task=relations", "model.use_entities=true"
    short = ["train.max_epochs=3", "train.pretrained_learning_rate=1e-4", kbp]
    noisy_or, slow = ["model.aggregator.kind=noisy_or", "model.aggregator.noisy_or.context=true"], [kbp, entities]

    def marks(score: float, ranking: float, bags: int) -> list[str]:
        return [f"loss.mark_score={score}", f"loss.mark_ranking={ranking}", f"loss.marked_bags={bags}"]

    fbnyt = {
        "attention": [*short, *NO_MARKS],
        "attention, no context, marks 1 1": [*short, "model.aggregator.attention.context=false", *marks(1, 1, 4)],
        "attention, marks 1 1": [*short, *marks(1, 1, 4)],
        "attention, marks 1 3": short,
        "attention, marks 0 3": [*short, *marks(0, 3, 8)],
        "noisy-or": [*short, *noisy_or, *NO_MARKS],
        "noisy-or, marks 0.3 1": [*short, *noisy_or, *marks(0.3, 1, 4)],
        "noisy-or, marks 1 3": [*short, *noisy_or],
        "attention, +E": [*short, entities, *NO_MARKS],
        "attention, +E, marks 1 3": [*short, entities],
        "attention, +E, marks 1 3, 5 epochs": [*slow, "train.pretrained_learning_rate=1e-4"],
        "attention, +E, marks 1 3, 5 epochs, slow": slow,
        "attention, +E, marks 1 3, batches of 16": [
            *short, entities, "train.batch_bags=16", "loss.direct_sentences=32", "loss.marked_bags=4"
        ],
    }  # fmt: skip
    wiki = {
        "wiki F": ["model.aggregator.noisy_or.context=false"],
        "wiki F+C": [],
        "wiki FE+C": ["data.mentions=type_and_words"],
        "wiki F+C, attention": ["model.aggregator.kind=attention", "model.aggregator.attention.context=true"],
        "wiki F+C, 5 epochs": ["train.max_epochs=5"],
    }
    jobs = [Job(name=name, store=store, changes=each) for name, each in fbnyt.items() for store in ("x3", "x5")]
    return jobs + [
        Job(name=name, store=f"wiki/{fold}", config="recommended", changes=each)
        for name, each in wiki.items()
        for fold in range(1, 6)
    ]


def final() -> list[Job]:
    """Return the recommended run on test, then shorter runs that learn from some marks, with attention and noisy-or."""
    kbp, short = "loss.direct_task=relations", ["train.max_epochs=3", "train.pretrained_learning_rate=1e-4"]
    jobs = [
        Job(
            name="recommended_marks +E",
            store="whole",
            changes=[kbp, "model.use_entities=true"],
            seed=seed,
            parts=["test"],
        )
        for seed in SEEDS
    ]
    noisy_or = ["model.aggregator.kind=noisy_or", "model.aggregator.noisy_or.context=true"]
    for name, aggregator, nums in (("attention", [], NUM_MARKS), ("noisy-or", noisy_or, (0, None))):
        for num in nums:
            changes = [kbp, *short, *aggregator, *(NO_MARKS if num == 0 else ())]
            jobs += [
                Job(
                    name=f"{name}, {'all' if num is None else num} marks", store="test", changes=changes, seed=seed,
                    num_marks=num, parts=["test"],
                )
                for seed in SEEDS
            ]  # fmt: skip
    return jobs


def cnn() -> list[Job]:
    """Return weights of marks to choose from for CNNs+ATT+F, and its runs on test that learn from some marks."""
    epochs = "train.max_epochs=10"

    def marks(score: float, ranking: float) -> list[str]:
        return [epochs, f"loss.mark_score={score}", f"loss.mark_ranking={ranking}"]

    chosen = marks(*CNN_WEIGHTS)
    return [
        Job(name=f"CNNs+ATT+F, marks {score:g} {ranking:g}", store="cnn", config="cnns_att_f", changes=marks(score, ranking))
        for score, ranking in ((0, 0), (0, 0.1), (0, 1), (0, 3), (0.1, 0.1), (0.1, 0.3), (0.3, 1), (1, 1), (1, 3))
    ] + [
        Job(
            name=f"CNNs+ATT+F, {'all' if num is None else num} marks", store="cnn", config="cnns_att_f",
            changes=[epochs] if num == 0 else chosen, seed=seed, num_marks=num, parts=["test"],
        )
        for num in NUM_MARKS
        for seed in SEEDS
    ]  # fmt: skip


def articles() -> list[Job]:
    """Return the baseline and the recommended run on the folds of the articles in `examples/wiki`."""
    settings = {
        "articles, baseline": ("baseline", [], SEEDS),
        "articles, MiniLM, 4 of 6 layers frozen": ("recommended", ["model.encoder.transformer.freeze_layers=4"], SEEDS),
        "articles, MiniLM": ("recommended", [], SEEDS[:1]),
    }
    return [
        Job(name=name, store=f"articles/{fold}", config=config, changes=changes, seed=seed)
        for name, (config, changes, seeds) in settings.items()
        for seed in seeds
        for fold in (1, 2, 3)
    ]


def larger() -> list[Job]:
    """Return settings of a larger encoder to choose from."""
    slow, long = ["loss.direct_task=relations", "train.max_epochs=3"], "train.max_epochs=5"
    settings = {
        "MPNet, marks 1 3": slow,
        "MPNet": [*slow, *NO_MARKS],
        "MPNet, +E, marks 1 3": [*slow, "model.use_entities=true"],
        "MPNet, marks 1 3, 5 epochs, slower": [*slow, long, "train.pretrained_learning_rate=3e-5"],
    }
    return [Job(name=name, store=store, changes=each) for name, each in settings.items() for store in ("x3", "x5")]


def train(job: Job, stores: Path, encoder: Path) -> tuple[TrainingRun, RunData]:
    """Train a job's model in memory."""
    store, _, fold = job.store.partition("/")
    config = load_config(
        job.config,
        [
            f"model.encoder.transformer.folder={encoder}",
            f"seed={job.seed}",
            *(() if "test" in job.parts else ("train.calibration=none",)),
            *job.changes,
        ],
    )
    data = RunData(Store(stores / store), config, withheld=int(fold) if fold else None)
    if job.num_marks:
        kept = some_marks(marks_of_store(data.store, "train"), job.num_marks, job.seed)
        data.__dict__["marked"] = MarkedBags(data.train.table, kept)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        run = TrainingRun(data, RunFolder(Path(folder), is_writer=False), device, ProcessShard(), Callbacks())
        run.go()
    if data.withheld is None:
        run.extractor.calibration = calibration_of(run.extractor, data)
    return run, data


def some_marks(marks: SentenceMarks, num: int, seed: int) -> SentenceMarks:
    """Return a random choice of the marks that say rationale or irrelevant."""
    taught = [item for item in sorted(marks.by_sentence.items()) if item[1] in (RATIONALE, IRRELEVANT)]
    kept = np.random.default_rng(seed).choice(len(taught), min(num, len(taught)), replace=False)
    return SentenceMarks(by_sentence=dict(taught[index] for index in kept.tolist()), report=marks.report)


def row_of(job: Job, stores: Path, encoder: Path, arrays: Path) -> dict:
    """Run a job and return what the results keep."""
    began = time.monotonic()
    run, data = train(job, stores, encoder)
    row = {
        **vars(job), "data": DATA.get(job.store.partition("/")[0], "FB-NYT part"), "data_fingerprint": data.store.fingerprint, "sayso": __version__, "best_epoch": run.status.best_epoch,
        "validation_average_precision": run.status.best_average_precision, "train_seconds": round(run.status.seconds, 1),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
    }  # fmt: skip
    if data.withheld is not None:
        row["validation"] = found_again(run, data)
    else:
        for part in job.parts:
            row[part] = figures_of(job, run, data, part, arrays / f"{job.name}-{job.seed}-{part}.npz")
    return row | {"seconds": round(time.monotonic() - began, 1)}


def found_again(run: TrainingRun, data: RunData) -> dict:
    """Return which share of the withheld facts are among the most probable of their fold."""
    logit_BR = predict_logits(run.extractor, data.validation)
    label_BR = data.validation.label_rows(np.arange(data.validation.table.num_bags)).numpy() > 0
    is_right = label_BR.ravel()[np.argsort(-logit_BR, axis=None)]
    recall = {str(num): round(float(is_right[:num].sum() / is_right.sum()), 4) for num in TOPS}
    return {**relation_figures(logit_BR, label_BR), "recall": recall, "num_facts": int(is_right.sum())}


def figures_of(job: Job, run: TrainingRun, data: RunData, part: str, arrays: Path) -> dict:
    """Return AP, τ and faithfulness on a part; the logits go to `arrays`."""
    parts = model_of(run.extractor.eval(), data, run.status)
    subject = TrainedRun(folder=arrays, model=parts, store=data.store, part_name=part)
    methods = ("attention", "shapley") if job.name.startswith("recommended") else ("attention",)
    settings = EvaluationSettings(methods=methods, num_resamples=0)
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


def reading_gain(files: list[Path], store: Store) -> dict:
    """Return the mean AP of several seeds' logits for test minus that of the best baseline that reads no sentences."""
    part, num_relations = store.part("test"), len(store.relations)
    label_BR = part.label_BR(num_relations)
    baselines = {each.name: each.score_BR for each in baselines_of(store, part) if not each.reads_sentences}
    name = max(baselines, key=lambda each: average_precision(precision_recall_curve(baselines[each], label_BR)))
    scores = [
        sort_scores(score_BR, label_BR) for score_BR in (baselines[name], *(np.load(file)["plain"] for file in files))
    ]

    def gain(weight_B: np.ndarray) -> list[float]:
        baseline, *seeds = (average_precision(each.curve(weight_B)) for each in scores)
        return [float(np.mean(seeds)) - baseline]

    found = difference(gain(np.ones(len(label_BR), np.int64))[0], bootstrap(len(label_BR), gain)[:, 0])
    return {"baseline": name, "num_seeds": len(files), **plain(found)}


def main() -> None:
    """Print jobs, or run them and add a line per job to the output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("jobs")
    listed.add_argument("set", choices=list(SETS))
    running = commands.add_parser("run")
    running.add_argument("jobs", type=Path)
    for name in ("stores", "out"):
        running.add_argument(f"--{name}", type=Path, required=True)
    running.add_argument("--encoder", type=Path, default=Path())
    running.add_argument("--worker", default="0/1")
    running.add_argument("--seconds", type=float, default=float("inf"))
    gaining = commands.add_parser("gain")
    gaining.add_argument("logits", type=Path, nargs="+")
    gaining.add_argument("--store", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "run":
        work(given)
        return
    if given.command == "gain":
        print(json.dumps(reading_gain(given.logits, Store(given.store))))
        return
    print("\n".join(json.dumps(vars(job)) for job in SETS[given.set]()))


def work(given: argparse.Namespace) -> None:
    """Run this worker's jobs until the time is up."""
    began, (number, num) = time.monotonic(), map(int, given.worker.split("/"))
    jobs = [Job(**json.loads(line)) for line in given.jobs.read_text().splitlines() if line]
    with given.out.open("a") as file:
        for job in jobs[number::num]:
            if time.monotonic() - began > given.seconds:
                break
            try:
                row = row_of(job, given.stores, given.encoder, given.out.parent / "arrays")
            except Exception:  # noqa: BLE001  a job that fails must not stop the others
                traceback.print_exc()
                continue
            file.write(json.dumps(row) + "\n")
            file.flush()


SETS = {"choose": choices, "final": final, "cnn": cnn, "articles": articles, "larger": larger}

if __name__ == "__main__":
    main()
