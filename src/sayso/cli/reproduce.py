"""`sayso reproduce`: reproduce the paper's tables, figures and claims on a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import note, print_json, print_result, print_table, resumable, say, say_next
from sayso.cli.options import AsJson, Device, NoVerify, complete_variants, settings_from
from sayso.cli.progress import shown_overview

if TYPE_CHECKING:
    from sayso.reproduce.run import Request


def reproduce(
    store: Annotated[
        Path, typer.Option("--data", metavar="STORE", help="Store made by `sayso prepare`, with a test part.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the reproduction; run again to continue.")],
    name: Annotated[str, typer.Option(help="Name of the data in the tables; by default the store's folder name.")] = "",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Runs per variant, with seeds 13, 14, …; by default 3, or 1 with --quick."),
    ] = None,
    variants: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            autocompletion=complete_variants,
            help="Variants, such as CNNs+ATT,CNNs+ATT+F+E; by default all 18.",
        ),
    ] = "",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Override a setting of all runs; may be repeated."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Quick first look: one seed, 10 epochs, no grid.")] = False,
    grid: Annotated[
        bool | None,
        typer.Option("--grid/--no-grid", help="Choose λ on validation from the paper's values; on unless --quick."),
    ] = None,
    num_workers: Annotated[
        int, typer.Option("--jobs", min=0, max=1_024, help="Parallel runs; 0: one per core, at most 16 on a GPU.")
    ] = 0,
    num_resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            min=2,
            max=1_000_000,
            help="Bootstrap resamples for the intervals; finished runs keep theirs.",
        ),
    ] = 1_000,
    keeps_models: Annotated[
        bool, typer.Option("--keep-models/--no-keep-models", help="Keep the model of every run in DIR/runs.")
    ] = True,
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check the store and list the runs.")] = False,
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Train all variants of the paper and compare its tables, figures and claims with ours.

    An interrupted reproduction continues with the same command and gives the same tables: finished runs are in
    DIR/outcomes, unfinished ones keep their state. docs/reproduce.md explains how to run it on FB-NYT.

    Example: `sayso reproduce --data stores/nyt --out reproduction --seeds 3 --name "FB-NYT"`
    """
    from sayso.reproduce.document import notes
    from sayso.reproduce.paper import variants_named
    from sayso.reproduce.plan import PlanSettings
    from sayso.reproduce.run import Request
    from sayso.reproduce.run import reproduce as run_plan

    plan = PlanSettings(
        variants=variants_named(word.strip() for word in variants.split(",") if word.strip()),
        num_seeds=seeds or (1 if quick else 3),
        changes=tuple(changes or ()),
        is_quick=quick,
        has_grid=not quick if grid is None else grid,
    )
    request = settings_from(Request, {**locals(), "name": name or store.resolve().name})
    if dry_run:
        _say_plan(request, as_json)
        return
    with resumable(out), shown_overview() as overview:
        summary, (page, *_) = run_plan(request, overview.begin, overview.update)
    there = summary["num_resamples"]
    for line in notes(summary):
        note(line)
    if there not in (0, num_resamples):
        note(
            f"intervals use {there:,} resamples, not {num_resamples:,}: finished runs keep theirs, so the smallest"
            " number is used"
        )
    print_result(as_json, summary, lambda: _print(summary))
    say_next(f"{page.parent}: tables, figures and claims", hint=f"open {page} in a browser")


def _say_plan(request: "Request", as_json: bool) -> None:
    from sayso.reproduce.plan import survey_store
    from sayso.reproduce.run import plan_status
    from sayso.store.store import Store

    status, lines = plan_status(request), survey_store(Store(request.store))
    done, runs = {run.key for run in status.done}, list[dict[str, Any]]()
    for run in status.plan.runs:
        about = {"run": run.key, "variant": run.variant, "seed": run.config.seed, "label": run.label}
        runs.append({**about, "is_done": run.key in done})
    if as_json:
        print_json({"store": lines, "left_out": status.plan.left_out, "runs": runs})
        return
    for line in (*lines, *(f"left out: {variant}: {reason}" for variant, reason in status.plan.left_out.items())):
        say(line)
    rows = [[run["run"], run["variant"], str(run["seed"]), "done" if run["is_done"] else "to do"] for run in runs]
    print_table(f"{len(rows)} runs, {status.num_workers} in parallel", ["run", "variant", "seed", ""], rows, 4)
    note("nothing was run; leave out --dry-run to start")


def _print(summary: dict[str, Any]) -> None:
    from sayso.reproduce.tables import claim_tables, extraction_table

    for table in (extraction_table(summary), claim_tables(summary)[0]):
        rows = [[f"{cell.text} ({cell.small})" if cell.small else cell.text for cell in row] for row in table.rows]
        print_table(table.title, table.columns, rows, num_text=len(table.columns))
