"""Trains every config in configs/ with several seeds on a store and evaluates each once on its test part.

One JSON line per run goes to --out, whole runs only, so that a killed experiment goes on where it stood. Several runs
share a GPU or CPU by --jobs. Selection within a run is by the validation part alone.

    python experiments/variants.py --data stores/fbnyt --out results/fbnyt.jsonl --label "FB-NYT part" --seeds 3
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sayso import __version__
from sayso.bags.store import Store
from sayso.evaluate.direct import weights_by_source
from sayso.evaluate.marked import marked_facts, tau_by_band
from sayso.evaluate.marks import marks_of_files
from sayso.evaluate.mechanism import mechanisms_named
from sayso.evaluate.relations import relation_figures
from sayso.model.checkpoint import find_model, load_model
from sayso.model.extractor import Extractor
from sayso.model.predict import predict_logits
from sayso.train.config import load_config
from sayso.train.data import RunData
from sayso.train.device import choose_device
from sayso.train.run import train

ROOT = Path(__file__).parent.parent
MECHANISMS = ("attention", "saliency", "gradient_x_input", "leave_one_out")


def run_one(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train and evaluate one variant; return its line."""
    torch.set_num_threads(arguments.threads)
    config = load_config(arguments.config, [*arguments.set, f"seed={arguments.seed}"])
    store = Store(arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        standing = train(config, arguments.data, Path(folder) / "run", arguments.device)
        seconds = time.monotonic() - began
        extractor = load_model(find_model(Path(folder) / "run")).extractor.to(choose_device(arguments.device))
    data = RunData(store, config)
    validation = {"area_up_to_recall_0_4": standing.best_area, "average_precision": standing.best_average_precision}
    return {
        "data": arguments.label,
        "data_fingerprint": store.fingerprint,
        "variant": config.variant,
        "seed": config.seed,
        "changes": arguments.set,
        "validation": validation,
        "epochs": standing.epoch,
        "best_epoch": standing.best_epoch,
        "seconds": round(seconds, 1),
        "device": arguments.device_name or arguments.device,
        "sayso": __version__,
        **figures_of(extractor, data, arguments),
    }


def figures_of(extractor: Extractor, data: RunData, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures on the parts asked for, DirectSup's weights by source, and tau on the marks asked for."""
    figures: dict[str, Any] = {}
    for name in arguments.parts:
        part = data.part(name)
        label_BR = part.label_rows(torch.arange(part.table.num_bags).numpy()).numpy()
        unread = data.store.manifest["read"].get(name, {}).get("num_facts_unread", 0)
        figures[name] = asdict(relation_figures(predict_logits(extractor, part), label_BR, unread))
    if data.direct is not None:
        figures["weights"] = weights_by_source(extractor, data.validation, data.direct)
    for entry in arguments.marks:
        name, _, file = entry.partition("=")
        part = data.part("test")
        marks = marks_of_files([Path(file)], data.store, part.table)
        tau = tau_by_band(marked_facts(extractor, part, marks, mechanisms_named(MECHANISMS)))
        plain = {k: {band: asdict(found) for band, found in bands.items()} for k, bands in tau.items()}
        figures.setdefault("tau", {})[name] = plain
    return figures


def run_all(arguments: argparse.Namespace) -> None:
    """Start a process for each run that is not done yet."""
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(partial(start, arguments), wanted_runs(arguments)))


def wanted_runs(arguments: argparse.Namespace) -> list[tuple[Path, int]]:
    """Return the config and seed of each run that --out does not hold yet."""
    done = set()
    if arguments.out.exists():
        rows = map(json.loads, arguments.out.read_text().splitlines())
        done = {(row["variant"], row["seed"], tuple(row["changes"])) for row in rows}
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    return [
        (config, seed)
        for config in arguments.configs
        for seed in seeds
        if (load_config(config, arguments.set).variant, seed, tuple(arguments.set)) not in done
    ]


def start(arguments: argparse.Namespace, job: tuple[Path, int]) -> None:
    """Do one run in a process of its own, add its line to --out and show its main figures."""
    config, seed = job
    words = [sys.executable, __file__, "--one", "--config", str(config), "--seed", str(seed)]
    words += ["--data", str(arguments.data), "--label", arguments.label, "--device", arguments.device]
    words += ["--threads", str(arguments.threads), "--device-name", arguments.device_name]
    words += ["--parts", *arguments.parts]
    words += [word for change in arguments.set for word in ("--set", change)]
    words += [word for entry in arguments.marks for word in ("--marks", entry)]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode:
        print(f"FAILED {config.name} seed {seed}: {result.stderr[-2000:]}", flush=True)
        return
    line = result.stdout.splitlines()[-1]
    with arguments.out.open("a") as file:
        file.write(line + "\n")
    row = json.loads(line)
    test = row.get("test", {}).get("average_precision", float("nan"))
    print(
        f"{row['variant']:20} seed {seed} epochs {row['epochs']:2} best {row['best_epoch']:2} {row['seconds']:6.1f} s"
        f" validation AP {row['validation']['average_precision']:.3f} test AP {test:.3f}",
        flush=True,
    )


def main() -> None:
    """Read the arguments and do one run or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--out", type=Path, default=Path("results/variants.jsonl"))
    parser.add_argument("--configs", type=Path, nargs="+", default=sorted((ROOT / "configs").glob("*.toml")))
    parser.add_argument("--config", type=Path)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--first-seed", type=int, default=13)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--marks", action="append", default=[], help="NAME=FILE of rationale marks, for tau")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--device-name", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parts", nargs="*", default=["test"])
    arguments = parser.parse_args()
    print(json.dumps(run_one(arguments))) if arguments.one else run_all(arguments)


if __name__ == "__main__":
    main()
