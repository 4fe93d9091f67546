"""`sayso train`: train a model from a config and a store."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import interrupted, note, print_json, print_table, say_next
from sayso.cli.options import AsJson, Device, NoVerify, complete_configs
from sayso.cli.progress import EpochDisplay, shown_epochs
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.train.config import RunConfig
    from sayso.train.seeds import SeedRun


def _print_configs(is_wanted: bool) -> None:
    if is_wanted:
        print_table("configs", ["name", "trains"], complete_configs(), num_text=2)
        raise typer.Exit


def train(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", autocompletion=complete_configs, help="Name of a config (see --list), or a TOML file."
        ),
    ],
    data: Annotated[Path, typer.Option(metavar="STORE", help="Store made by `sayso prepare`.")],
    out: Annotated[Path, typer.Option(metavar="RUN", help="Run folder.")],
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder, if there is one.")] = False,
    seeds: Annotated[
        int,
        typer.Option(min=1, max=1_000, help="Train this many runs, with consecutive seeds, in RUN/seed-N."),
    ] = 1,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Override a setting; may be repeated.")
    ] = None,
    device: Device = "auto",
    as_json: AsJson = False,
    _list: Annotated[
        bool,
        typer.Option("--list", callback=_print_configs, is_eager=True, help="List the configs and exit."),
    ] = False,
    _no_verify: NoVerify = False,
) -> None:
    """Train a model and keep the epoch with the best validation AUC@0.4.

    The state is saved after every epoch: an interrupted run continues with `--resume` and ends with the same weights.
    Under torchrun, each process takes a share of every batch.

    Example: `sayso train cnns_att_f_ld --data stores/nyt --out runs/cnns_att_f_ld --seeds 3`
    """
    from sayso.train.config import load_config

    with _only_first_speaks(), shown_epochs() as display:
        settings = load_config(config, changes or ())
        try:
            runs = _train(settings, data, out, seeds, device, resume, display)
        except KeyboardInterrupt as error:
            if not _is_first():
                raise typer.Exit(130) from None
            raise interrupted(error, _what_is_kept(display.folder or out)) from None
    if _is_first():
        _report(settings, runs, as_json)
        say_next(str(out), as_command("sayso", "evaluate", out, *_evaluated_on(data)))


def _evaluated_on(data: Path) -> list[object]:
    """Return the options of `sayso evaluate` for a part that the store has."""
    from sayso.store.store import Store

    return ["--data", data] if "test" in Store(data).parts else ["--data", data, "--part", "validation"]


def _train(
    config: "RunConfig", data: Path, out: Path, num_seeds: int, device: str, resume: bool, display: EpochDisplay
) -> "list[SeedRun]":
    from sayso.train.config import load_config
    from sayso.train.folder import CONFIG
    from sayso.train.run import Callbacks, train
    from sayso.train.seeds import SeedRun, train_seeds

    callbacks = display.callbacks() if _is_first() else Callbacks()

    def say_skipped(run: SeedRun) -> None:
        if _is_first():
            note(f"{run.folder}: already finished, at epoch {run.status.epoch}")

    if num_seeds > 1:
        return train_seeds(config, data, out, num_seeds, device, resume, callbacks, say_skipped)
    status = train(config, data, out, device, resume, callbacks)
    # A random seed is recorded in the run's own settings.
    return [SeedRun(seed=load_config(out / CONFIG).seed, folder=out, status=status)]


def _report(config: "RunConfig", runs: "list[SeedRun]", as_json: bool) -> None:
    from sayso.train.seeds import summarise

    summary = summarise(runs)
    rows: list[dict[str, Any]] = [
        {
            "seed": run.seed,
            "folder": str(run.folder),
            "epochs": run.status.epoch,
            "best_epoch": run.status.best_epoch,
            "seconds": run.status.seconds,
            **run.status.figures(),
        }
        for run in runs
    ]
    if as_json:
        print_json({"variant": config.variant, "runs": rows, "validation": summary})
        return
    figures = list(summary)
    table: list[list[object]] = [
        [str(row["seed"]), row["epochs"], row["best_epoch"], *(f"{row[name]:.4f}" for name in figures)] for row in rows
    ]
    if len(runs) > 1:
        values = [f"{value['mean']:.4f} ± {value['standard_deviation']:.4f}" for value in summary.values()]
        table.append(["mean ± sd", None, None, *values])
    print_table(
        f"{config.variant}, validation", ["seed", "epochs", "best epoch", "AUC@0.4", "average precision"], table
    )


def _what_is_kept(folder: Path) -> str:
    from sayso.train.folder import STATE
    from sayso.train.state import num_epochs_kept

    epoch = num_epochs_kept(folder / STATE)
    kept = f"the state after epoch {epoch} is in {folder}: continue with the same command and --resume"
    return f"interrupted; {kept if epoch else 'no epoch had finished, so nothing was saved'}"


def _is_first() -> bool:
    """Return whether this is the first process of torchrun, or the only one."""
    return int(os.environ.get("RANK", "0")) == 0


@contextmanager
def _only_first_speaks() -> Iterator[None]:
    """Let only the first process report a user error, which occurs in all of them."""
    try:
        yield
    except UserError:
        if _is_first():
            raise
        raise typer.Exit(2) from None
