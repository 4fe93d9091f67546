"""`sayso train`: train a model from a config and a store."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import interrupted, new_path, note, print_result, print_table, say_next
from sayso.cli.options import AsJson, Device, NoVerify, complete_configs, corpus_of
from sayso.cli.progress import shown_epochs
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
    from sayso.train.folder import CONFIG
    from sayso.train.run import Callbacks
    from sayso.train.run import train as train_run
    from sayso.train.seeds import SeedRun, train_seeds

    # Of the processes of torchrun, which all raise the same errors, only the first prints.
    is_first = int(os.environ.get("RANK", "0")) == 0
    with shown_epochs() as display:
        callbacks = display.callbacks() if is_first else Callbacks()
        try:
            settings = load_config(config, changes or ())
            if seeds > 1:
                on_skip = _note_skipped if is_first else lambda _: None
                runs = train_seeds(settings, data, out, seeds, device, resume, callbacks, on_skip)
            else:
                status = train_run(settings, data, out, device, resume, callbacks)
                # A random seed is recorded in the run's own settings.
                runs = [SeedRun(seed=load_config(out / CONFIG).seed, folder=out, status=status)]
        except UserError:
            if is_first:
                raise
            raise typer.Exit(2) from None
        except KeyboardInterrupt as error:
            if not is_first:
                raise typer.Exit(130) from None
            raise interrupted(error, _what_is_kept(display.folder or out)) from None
    if is_first:
        record = training_record(settings, runs)
        print_result(as_json, record, lambda: print_runs(record))
        _say_next(out, data)


def _note_skipped(run: "SeedRun") -> None:
    note(f"{run.folder}: already finished, at epoch {run.status.epoch}")


def _say_next(out: Path, data: Path) -> None:
    from sayso.store.store import Store

    store = Store(data)
    if not store.num_folds or "test" in store.parts:
        say_next(str(out), as_command("sayso", "evaluate", out, "--data", data))
        return
    corpus, command = corpus_of(data), ("--precision", "0.8", "--out", new_path("facts"))
    if corpus:
        say_next(str(out), as_command("sayso", "extract", out, corpus, *command))
    else:
        say_next(str(out), hint=f"to extract facts: {as_command('sayso', 'extract', out, 'CORPUS', *command)}")


def training_record(config: "RunConfig", runs: "list[SeedRun]") -> dict[str, Any]:
    """Return the metrics of the runs, one per seed, and their summary."""
    from sayso.train.seeds import summarise

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
    return {"variant": config.variant, "runs": rows, "validation": summarise(runs)}


def print_runs(record: dict[str, Any]) -> None:
    """Print the metrics of runs, and what was learned from their folds."""
    rows, summary = record["runs"], record["validation"]
    table: list[list[object]] = [
        [str(row["seed"]), row["epochs"], row["best_epoch"], *(f"{row[name]:.4f}" for name in summary)] for row in rows
    ]
    if len(rows) > 1:
        values = [f"{value['mean']:.4f} ± {value['standard_deviation']:.4f}" for value in summary.values()]
        table.append(["mean ± sd", None, None, *values])
    for row in rows:
        if line := _about_folds(Path(row["folder"])):
            note(line)
    columns = ["seed", "epochs", "best epoch", "AUC@0.4", "average precision"]
    print_table(f"{record['variant']}, validation", columns, table)


def _about_folds(folder: Path) -> str:
    from sayso.train.held_out import held_out_report

    report = held_out_report(folder)
    if not report:
        return ""
    before, after = (
        f"{found['value']:.4f} [{found['low']:.4f}, {found['high']:.4f}]" if found["low"] is not None else "–"
        for found in report["calibration_error"].values()
    )
    return (
        f"{folder}: {report['num_folds']} folds, {sum(report['num_facts']):,} facts withheld once each; trained on"
        f" all of them for {report['num_epochs']} epochs; calibration error {before}, after calibration {after}"
    )


def _what_is_kept(folder: Path) -> str:
    from sayso.train.folder import STATE
    from sayso.train.state import num_epochs_kept

    epoch = num_epochs_kept(folder / STATE)
    kept = f"the state after epoch {epoch} is in {folder}: continue with the same command and --resume"
    return f"interrupted; {kept if epoch else 'no epoch had finished, so nothing was saved'}"
