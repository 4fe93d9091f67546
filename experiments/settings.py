"""Compare settings on the validation part: overrides x variants x seeds, in parallel.

Each --try has one or more overrides, separated by spaces; the shipped settings are included. An interrupted experiment
continues where it stopped. The test part is never used. `make docs` turns the lines into a section of
docs/results/experiments.md.

    python experiments/settings.py --data stores/nyt --name "FB-NYT" --work runs/settings --out results/6-settings.jsonl \\
        --title "Settings tried" --variants CNNs+ATT,DirectSup --try model.encoder.cnn.dropout=0.3 --try "train.patience=20"
"""

import argparse
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from rows import row_of, write_rows

from sayso.reproduce.folder import ReproductionFolder
from sayso.reproduce.paper import variant_config, variants_named
from sayso.reproduce.plan import PlannedRun
from sayso.reproduce.run import make_runs
from sayso.reproduce.worker import Event, Task
from sayso.store.store import Store

AS_SHIPPED = ""


def jobs_of(variants: Sequence[str], tries: Sequence[str], num_seeds: int) -> dict[str, tuple[PlannedRun, list[str]]]:
    """Return the runs by key, each with its overrides."""
    found = {}
    for text in (AS_SHIPPED, *tries):
        label = "try-" + (re.sub(r"[^\w.=-]+", "_", text) or "as-shipped")
        for seed in range(13, 13 + num_seeds):
            for variant in variants:
                config = variant_config(variant, [*text.split(), f"seed={seed}"])
                job = PlannedRun(variant=variant, config=config, label=label)
                found[job.key] = job, text.split()
    return found


def show(event: Event) -> None:
    """Print a line for each finished run."""
    if event.kind == "done":
        print(f"{event.key}: {event.text or f'{event.epoch} epochs, {event.seconds:.0f} s'}", flush=True)


def main() -> None:
    """Parse the arguments, train missing runs, write all lines and print the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--name", required=True, help="name of the data in tables")
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and outcomes")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines file to write")
    parser.add_argument("--title", default="Settings tried on validation")
    parser.add_argument("--text", action="append", default=[])
    parser.add_argument("--variants", default="CNNs+ATT,DirectSup+F+LD")
    parser.add_argument("--try", dest="tries", action="append", default=[], metavar='"A.B=C ..."')
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    jobs = jobs_of(variants_named(arguments.variants.split(",")), arguments.tries, arguments.seeds)
    folder, store = ReproductionFolder(arguments.work), Store(arguments.data)
    task = Task(store=arguments.data, out=arguments.work, device=arguments.device, num_resamples=2, keeps_models=False)
    every = [job for job, _ in jobs.values()]
    with folder.locked():
        done = folder.done(every, store.fingerprint)
        make_runs(task, [job for job in every if job.key not in done], arguments.jobs, show)
        outcomes = folder.done(every, store.fingerprint)
    rows = [row_of(outcomes[key], arguments.name, changes) for key, (_, changes) in jobs.items()]
    write_rows(arguments.out, {"title": arguments.title, "table": "validation", "text": arguments.text}, rows)
    for text in (AS_SHIPPED, *arguments.tries):
        found = [row["validation"] for row in rows if row["changes"] == text.split() and row["validation"]]
        means = [
            statistics.fmean(each[name] for each in found) for name in ("area_up_to_recall_0_4", "average_precision")
        ]
        print(f"{text or 'as shipped'}: validation AUC@0.4 {means[0]:.4f}, AP {means[1]:.4f} ({len(found)} runs)")


if __name__ == "__main__":
    main()
