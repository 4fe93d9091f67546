"""Train the same config with several seeds; summarise the mean and standard deviation of the metrics."""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sayso.errors import UserError
from sayso.io.atomic import atomic_file
from sayso.model.ensemble import PREFIX
from sayso.seeding import drawn_seed
from sayso.store.store import Store
from sayso.train.config import RunConfig
from sayso.train.device import choose_device, claimed_by_first, from_first, process_group
from sayso.train.folder import FOLDS, MODEL, STATE, RunFolder
from sayso.train.held_out import HELD_OUT
from sayso.train.run import Callbacks, identity_of, train
from sayso.train.state import RunStatus, read_status

SUMMARY = "seeds.json"


@dataclass(frozen=True, kw_only=True)
class SeedRun:
    """The run with one seed."""

    seed: int
    folder: Path
    status: RunStatus


OnSkip = Callable[[SeedRun], None]


def train_seeds(
    config: RunConfig,
    store: Path,
    out: Path,
    num_seeds: int,
    device: str = "auto",
    resume: bool = False,
    callbacks: Callbacks = Callbacks(),
    on_skip: OnSkip = lambda _: None,
) -> list[SeedRun]:
    """Train with the config's seed and the ones after it, each in its own folder in `out`, and return the runs.

    With `resume`, finished runs are skipped and the first unfinished one continues. A summary is written to `out`.
    """
    target = choose_device(device)
    with process_group(target) as shard, claimed_by_first(out, shard, target):
        first = config.seed if config.seed >= 0 else int(from_first([_first_seed(out, resume)], shard, target)[0])
        configs = [replace(config, seed=first + number) for number in range(num_seeds)]
        _refuse_other_runs(out, configs, resume)
        runs: list[SeedRun] = []
        for each in configs:
            folder = _folder(out, each.seed)
            status = _ended(each, store, folder)
            if status is not None:
                on_skip(SeedRun(seed=each.seed, folder=folder, status=status))
            else:
                status = train(each, store, folder, device, resume, callbacks)
            runs.append(SeedRun(seed=each.seed, folder=folder, status=status))
        if shard.rank == 0:
            _write(out / SUMMARY, config.variant, runs)
    return runs


def summarise(runs: Sequence[SeedRun]) -> dict[str, dict[str, float | None]]:
    """Return mean and sample standard deviation (None for one run) of each validation metric."""
    found: dict[str, dict[str, float | None]] = {}
    for name in runs[0].status.figures():
        column = [run.status.figures()[name] for run in runs]
        deviation = statistics.stdev(column) if len(column) > 1 else None
        found[name] = {"mean": statistics.fmean(column), "standard_deviation": deviation}
    return found


def _folder(out: Path, seed: int) -> Path:
    return out / f"{PREFIX}{seed}"


def _first_seed(out: Path, resume: bool) -> int:
    """Return the lowest seed in `out` when resuming, else a new one."""
    names = [path.name.removeprefix(PREFIX) for path in out.glob(f"{PREFIX}*")] if resume else []
    seeds = [int(name) for name in names if name.isdecimal()]
    return min(seeds) if seeds else drawn_seed()


def _refuse_other_runs(out: Path, configs: Sequence[RunConfig], resume: bool) -> None:
    """Raise `UserError` before training if one of the folders already contains a run."""
    if (out / STATE).exists():
        raise UserError(f"{out}: the folder already contains a single run: choose another folder for several seeds")
    for config in configs:
        RunFolder(_folder(out, config.seed), is_writer=False).refuse_other_run(resume)


def _ended(config: RunConfig, store: Path, folder: Path) -> RunStatus | None:
    """Return the status of a finished run, else None."""
    opened = Store(store)
    wanted = [folder / STATE, folder / MODEL, *([folder / FOLDS / HELD_OUT] if opened.num_folds else [])]
    if not all(path.exists() for path in wanted):
        return None
    status = read_status(folder / STATE, identity_of(config, opened))
    return status if status.is_finished else None


def _write(path: Path, variant: str, runs: Sequence[SeedRun]) -> None:
    rows: list[dict[str, Any]] = [
        {"seed": run.seed, "folder": run.folder.name, "best_epoch": run.status.best_epoch} | run.status.figures()
        for run in runs
    ]
    with atomic_file(path) as file:
        file.write(json.dumps({"variant": variant, "runs": rows, "summary": summarise(runs)}, indent=2) + "\n")
