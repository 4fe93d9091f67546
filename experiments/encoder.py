"""Pretrained encoders on the FB-NYT part: ways to read a pair, and learning from marks with noisy-or.

    python experiments/encoder.py --store stores/fbnyt --encoder models/MiniLM --work runs/encoder --out results/15-encoder.jsonl

The store has all training sentences of pairs outside validation (`prepare --keep-shared`), types, entity vectors, and marks on training,
validation and test sentences. Settings were chosen on validation before any test figure was read. Needs a GPU.
"""

import argparse
from pathlib import Path

import torch
from rows import Row, write_rows

from sayso import __version__
from sayso.evaluate.evaluation import EvaluationSettings, evaluate_run
from sayso.explain.marks import marks_of_store
from sayso.explain.trained_run import open_runs
from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.metrics.rationale import IRRELEVANT, RATIONALE
from sayso.store.store import Store
from sayso.train.config import load_config
from sayso.train.run import train

PLAIN = ["data.mentions=words"]
MARKS = ["loss.mark_score=0.1", "model.use_entities=true"]
RUNS: list[tuple[str, list[str], tuple[int, ...], tuple[str, ...]]] = [
    ("names, markers", PLAIN, (13,), ("validation",)),
    ("names, spans", [*PLAIN, "model.encoder.transformer.reading=spans"], (13,), ("validation",)),
    ("types and names, markers, +E, marks", MARKS, (13, 14, 15), ("validation", "test")),
]
METHODS = ("attention", "gradient_x_input", "saliency", "shapley")


def main() -> None:
    """Train and evaluate every run, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("store", "encoder", "work", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    rows = []
    for name, changes, seeds, parts in RUNS:
        for seed in seeds:
            folder = given.work / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}"
            encoder = f"model.encoder.transformer.folder={given.encoder}"
            # AP over all relations together: calibration per relation is left out, as in the paper's figures.
            config = load_config("recommended", [encoder, f"seed={seed}", "train.calibration=none", *changes])
            status = train(config, given.store, folder, device="cuda")
            found = row_of(name, folder, given.store, parts)
            rows.append(found | {"seed": seed, "changes": changes, "seconds": round(status.seconds, 1)})
    write_rows(given.out, {"title": "Pretrained encoders", "table": "encoder", "text": []}, rows)


def row_of(name: str, folder: Path, path: Path, parts: tuple[str, ...]) -> Row:
    """Return AP and pooled tau of a run on these parts."""
    store = Store(path)
    row: Row = {"name": name, "data": "FB-NYT part", "data_fingerprint": store.fingerprint, "sayso": __version__}
    row["device"] = torch.cuda.get_device_name()
    for part in parts:
        (run,) = open_runs([folder], store, part, "cuda")
        settings = EvaluationSettings(methods=METHODS, num_resamples=0)
        evaluation = evaluate_run(run, marks_of_store(store, part), settings)
        curve = precision_recall_curve(evaluation.logit_BR, run.label_BR)
        row[part] = {"average_precision": float(average_precision(curve))}
        for method in METHODS:
            row[part][method], row[part]["num_tuples"] = tau_of(evaluation.marked_facts(method))
    return row


def tau_of(facts: object) -> tuple[float, int]:
    """Return pooled tau over all (rationale, irrelevant) tuples, and their number."""
    total = num = 0
    for first, stop in zip(facts.start_F1[:-1], facts.start_F1[1:], strict=True):  # type: ignore[attr-defined]
        score, mark = facts.score_N[first:stop], facts.mark_N[first:stop]  # type: ignore[attr-defined]
        above = score[mark == RATIONALE][:, None] - score[mark == IRRELEVANT][None]
        total, num = total + int((above > 0).sum()) - int((above < 0).sum()), num + above.size
    return total / max(num, 1), num


if __name__ == "__main__":
    main()
