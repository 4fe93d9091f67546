"""Two reasons why the paper's claims may not show on a part of FB-NYT: repeated names, and few NA pairs.

Evaluates the models of a reproduction (`sayso reproduce --keep-models`) on the test part in two ways. By names: average
precision among the test pairs of which training has both entities, one, or none. By NA pairs: AUC@0.4 with every pair
without a relation counted several times, which estimates the area on a test set with more of them.

    python experiments/names.py --data stores/nyt --reproduction DIR --out results/6-names.jsonl --label "FB-NYT part"
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rows import Row, write_rows

from sayso.metrics.precision_recall import average_precision, precision_recall_curve
from sayso.model.checkpoint import find_model, load_model
from sayso.model.predict import predict_logits
from sayso.store.store import Store
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.folder import CONFIG

NA_TIMES = (1, 5, 25)
RECALL = 0.4
HEAD: Row = {
    "title": "Why F does not raise the area here: repeated names, and few NA pairs",
    "table": "names",
    "text": [
        "Test AP among the pairs of which training has both entities, one or none; and AUC@0.4 with each NA pair counted once, 5 times",
        "and 25 times: how the area falls with more such NA pairs. The test file has 4 % of the release's NA pairs and all of its",
        "positive ones; they may not be a random sample, so no column is an estimate for the whole release.",
    ],
}


def seen_groups(data: RunData) -> dict[str, np.ndarray]:
    """Return a mask of the bags in each group of test pairs."""
    train, test = data.train.table, data.store.part("test")
    known = np.union1d(train.head_B, train.tail_B)
    num_B = np.isin(test.head_B, known).astype(int) + np.isin(test.tail_B, known)
    return {"none": num_B == 0, "one": num_B == 1, "both": num_B == 2}


def weighted_area(logit_BR: np.ndarray, label_BR: np.ndarray, times: int) -> float:
    """Return the area up to recall 0.4, with each unlabelled bag counted `times` times."""
    weight_B = np.where(label_BR.any(1), 1.0, float(times))
    order = np.argsort(-logit_BR.ravel(), kind="stable")
    is_fact = label_BR.ravel()[order]
    weight = np.repeat(weight_B, label_BR.shape[1])[order]
    precision = np.cumsum(is_fact) / np.cumsum(weight)
    gain = is_fact / is_fact.sum()
    before = np.cumsum(gain) - gain
    return float((precision * np.clip(RECALL - before, 0.0, gain)).sum())


def figures_of(run: Path, store: Path) -> Row:
    """Return the result line for one run."""
    config = load_config(run / CONFIG)
    data = RunData(Store(store), config)
    part = data.part("test")
    label_BR = part.label_rows(np.arange(part.table.num_bags)).numpy()
    logit_BR = predict_logits(load_model(find_model(run)).extractor, part)
    by_names: dict[str, Any] = {}
    for name, is_in_B in seen_groups(data).items():
        curve = precision_recall_curve(logit_BR[is_in_B], label_BR[is_in_B])
        by_names[name] = {
            "average_precision": average_precision(curve),
            "num_facts": int(label_BR[is_in_B].sum()),
            "num_bags": int(is_in_B.sum()),
        }
    areas = {str(times): weighted_area(logit_BR, label_BR, times) for times in NA_TIMES}
    outcome = json.loads((run.parent.parent / "outcomes" / f"{run.name}.json").read_text())
    kept = ("variant", "seed", "data_fingerprint", "seconds", "device", "sayso")
    return {**{name: outcome[name] for name in kept}, "changes": [], "by_names": by_names, "area_with_na_times": areas}


def main() -> None:
    """Parse the arguments and write a line per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reproduction", type=Path, required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--out", type=Path, default=Path("results/6-names.jsonl"))
    arguments = parser.parse_args()
    runs = sorted(path for path in (arguments.reproduction / "runs").iterdir() if (path / "model").is_dir())
    rows = [figures_of(run, arguments.data) | {"data": arguments.label} for run in runs]
    write_rows(arguments.out, HEAD, rows)
    print(f"wrote {arguments.out}; next: make docs")


if __name__ == "__main__":
    main()
