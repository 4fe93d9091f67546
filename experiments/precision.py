"""Train one config in several precisions and seeds, to see whether half precision is harmless.

Writes a JSON line per run: losses, validation metrics and seconds for each epoch. Needs a GPU for `bf16`:

    python experiments/precision.py cnns_att --data stores/nyt --work runs/precision --out precision.jsonl \\
        --precision float32 --precision bf16 --seeds 2 --epochs 12
"""

import argparse
import json
from pathlib import Path

from sayso.train.config import RunConfig, load_config
from sayso.train.folder import read_metrics
from sayso.train.run import train

FIGURES = ("loss", "validation/area_up_to_recall_0.4", "validation/average_precision", "train_seconds")


def runs_of(config: str, precision: str, num_seeds: int, epochs: int, work: Path) -> list[tuple[RunConfig, Path]]:
    """Return the runs of one precision and their folders; early stopping is off."""
    fixed = [f"train.precision={precision}", f"train.max_epochs={epochs}", f"train.patience={epochs}"]
    first = load_config(config).seed
    seeds = range(first, first + num_seeds)
    return [(load_config(config, [*fixed, f"seed={seed}"]), work / f"{precision}-{seed}") for seed in seeds]


def main() -> None:
    """Parse the arguments, train, and write a line per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", help="a config by name, or a TOML file")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for runs")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines file to write")
    parser.add_argument("--precision", action="append", required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    lines = []
    for precision in arguments.precision:
        for config, folder in runs_of(arguments.config, precision, arguments.seeds, arguments.epochs, arguments.work):
            train(config, arguments.data, folder, arguments.device)
            rows = read_metrics(folder)
            about = {"variant": config.variant, "precision": precision, "seed": config.seed}
            lines.append(json.dumps(about | {name: [row[name] for row in rows] for name in FIGURES}))
            best = max(row["validation/average_precision"] for row in rows)
            print(f"{precision}, seed {config.seed}: best validation AP {best:.4f}", flush=True)
    arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
