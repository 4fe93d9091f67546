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
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run_one(arguments: argparse.Namespace) -> None:
    """Train and evaluate one variant; print its line."""
    import torch

    from sayso import __version__
    from sayso.bags.store import Store
    from sayso.evaluate.direct import weights_by_source
    from sayso.evaluate.relations import relation_figures
    from sayso.model.checkpoint import find_model, load_model
    from sayso.model.predict import predict_logits
    from sayso.train.config import load_config
    from sayso.train.data import RunData
    from sayso.train.device import choose_device
    from sayso.train.run import train

    torch.set_num_threads(arguments.threads)
    config = load_config(arguments.config, [*arguments.set, f"seed={arguments.seed}"])
    store = Store(arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        standing = train(config, arguments.data, Path(folder) / "run", arguments.device)
        seconds = time.monotonic() - began
        data = RunData(store, config)
        extractor = load_model(find_model(Path(folder) / "run")).extractor.to(choose_device(arguments.device))
    figures = {}
    for name in arguments.parts:
        part = data.part(name)
        label_BR = part.label_rows(torch.arange(part.table.num_bags).numpy()).numpy()
        unread = store.manifest["read"].get(name, {}).get("num_facts_unread", 0)
        figures[name] = asdict(relation_figures(predict_logits(extractor, part), label_BR, unread))
    if data.direct is not None:
        figures["weights"] = weights_by_source(extractor, data.validation, data.direct)
    line = {
        "data": arguments.label,
        "data_fingerprint": store.fingerprint,
        "variant": config.variant,
        "seed": config.seed,
        "changes": arguments.set,
        "validation": {
            "area_up_to_recall_0_4": standing.best_area,
            "average_precision": standing.best_average_precision,
        },
        "epochs": standing.epoch,
        "best_epoch": standing.best_epoch,
        "seconds": round(seconds, 1),
        "device": arguments.device_name or arguments.device,
        "sayso": __version__,
        **figures,
    }
    print(json.dumps(line))


def run_all(arguments: argparse.Namespace) -> None:
    """Start a process for each run that is not done yet."""
    done = set()
    if arguments.out.exists():
        done = {(row["variant"], row["seed"], tuple(row["changes"])) for row in map(json.loads, arguments.out.open())}
    sys.path.insert(0, str(ROOT / "src"))
    from sayso.train.config import load_config

    wanted = []
    for config in sorted(arguments.configs):
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            variant = load_config(config, arguments.set).variant
            if (variant, seed, tuple(arguments.set)) not in done:
                wanted.append((config, seed))

    def start(job: tuple[Path, int]) -> None:
        config, seed = job
        words = [sys.executable, __file__, "--one", "--config", str(config), "--seed", str(seed)]
        words += ["--data", str(arguments.data), "--label", arguments.label, "--device", arguments.device]
        words += [
            "--threads",
            str(arguments.threads),
            "--device-name",
            arguments.device_name,
            "--parts",
            *arguments.parts,
        ]
        for change in arguments.set:
            words += ["--set", change]
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        if result.returncode:
            print(f"FAILED {config.name} seed {seed}: {result.stderr[-2000:]}", flush=True)
            return
        with arguments.out.open("a") as file:
            file.write(result.stdout.splitlines()[-1] + "\n")
        row = json.loads(result.stdout.splitlines()[-1])
        test = row.get("test", {})
        print(
            f"{row['variant']:20} seed {seed} epochs {row['epochs']:2} best {row['best_epoch']:2} {row['seconds']:6.1f} s"
            f" validation AP {row['validation']['average_precision']:.3f} test AP {test.get('average_precision', 0):.3f}"
            f" AUC@0.4 {test.get('area_up_to_recall_0_4', 0):.3f}",
            flush=True,
        )

    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(start, wanted))


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
    parser.add_argument("--device", default="auto")
    parser.add_argument("--device-name", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parts", nargs="*", default=["test"])
    arguments = parser.parse_args()
    run_one(arguments) if arguments.one else run_all(arguments)


if __name__ == "__main__":
    main()
