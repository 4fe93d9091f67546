"""`sayso reproduce`: a store to the paper's tables, figures and claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli import complete
from sayso.cli.console import print_json, print_table, remark, say, say_next
from sayso.cli.ending import interrupted
from sayso.cli.overview import shown_overview
from sayso.cli.train import Device
from sayso.cli.verify import NoVerify

if TYPE_CHECKING:
    from sayso.reproduce.block import Table
    from sayso.reproduce.run import Reproduced, Request


def reproduce(
    data: Annotated[Path, typer.Option(metavar="STORE", help="Store made by `sayso prepare`, with a test part.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the reproduction; the same again goes on.")],
    name: Annotated[str, typer.Option(help="What tables call the data; else the store's folder.")] = "",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Runs of each variant, with seeds 13, 14, …; 3, or 1 with --quick."),
    ] = None,
    variants: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            autocompletion=complete.variants,
            help="Variants, such as CNNs+ATT,CNNs+ATT+F+E; else all 18.",
        ),
    ] = "",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change a setting of every run; may be repeated.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in half an hour: one seed, 10 epochs, no grid unless asked for.")
    ] = False,
    grid: Annotated[
        bool | None,
        typer.Option("--grid/--no-grid", help="Try the paper's values of λ on validation; done if not quick."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=0, max=1_024, help="Runs side by side; 0: one a core, at most 16 on a GPU.")
    ] = 0,
    resamples: Annotated[
        int,
        typer.Option(
            min=2, max=1_000_000, help="Resamples of the test pairs, for intervals; runs that are done keep theirs."
        ),
    ] = 1_000,
    keep_models: Annotated[bool, typer.Option(help="Keep every run's model in DIR/runs.")] = True,
    device: Annotated[Device, typer.Option(help="auto takes a GPU if there is one.")] = Device.auto,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the store and say what would run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    _no_verify: NoVerify = False,
) -> None:
    """Train all variants of the paper and make its tables, figures and claims, with the paper's figures beside ours.

    Every run that is done has a file in DIR/outcomes, and every run in progress its state: a reproduction that was
    killed goes on with the same command and ends with the same tables. `docs/reproduce.md` says how to do it on FB-NYT.

    Example: `sayso reproduce --data stores/nyt --out reproduction --seeds 3 --name "FB-NYT"`
    """
    from sayso.reproduce.paper import variants_named
    from sayso.reproduce.plan import PlanSettings
    from sayso.reproduce.run import Request

    plan = PlanSettings(
        variants=variants_named(word.strip() for word in variants.split(",") if word.strip()),
        num_seeds=seeds or (1 if quick else 3),
        changes=tuple(changes or ()),
        is_quick=quick,
        has_grid=not quick if grid is None else grid,
    )
    request = Request(
        store=data,
        out=out,
        name=name or data.resolve().name,
        plan=plan,
        device=device.value,
        num_workers=jobs,
        num_resamples=resamples,
        keeps_models=keep_models,
    )
    if dry_run:
        _say_plan(request, as_json)
        return
    _report(_run(request), resamples, as_json)


def _run(request: "Request") -> "Reproduced":
    from sayso.reproduce.run import reproduce

    try:
        with shown_overview() as overview:
            return reproduce(request, overview.begin, overview.hear)
    except KeyboardInterrupt as error:
        raise interrupted(
            error, f"interrupted; all that is done is in {request.out}: the same command goes on"
        ) from None


def _say_plan(request: "Request", as_json: bool) -> None:
    from sayso.reproduce.plan import survey_store
    from sayso.reproduce.run import plan_status
    from sayso.store.store import Store

    status, lines = plan_status(request), survey_store(Store(request.store))
    done = {run.key for run in status.done}
    rows = [(run.key, run.variant, run.config.seed, run.label) for run in status.plan.runs]
    if as_json:
        runs = [
            {"run": key, "variant": variant, "seed": seed, "label": label, "is_done": key in done}
            for key, variant, seed, label in rows
        ]
        print_json({"store": lines, "left_out": status.plan.left_out, "runs": runs})
        return
    for line in lines:
        say(line)
    for variant, reason in status.plan.left_out.items():
        say(f"left out: {variant}: {reason}")
    table = [[key, variant, str(seed), "done" if key in done else "to do"] for key, variant, seed, _ in rows]
    print_table(f"{len(rows)} runs, {status.num_workers} side by side", ["run", "variant", "seed", ""], table, 4)
    remark("nothing was run; to run it, leave out --dry-run")


def _report(result: "Reproduced", resamples: int, as_json: bool) -> None:
    from sayso.reproduce.document import notes
    from sayso.reproduce.tables import claim_tables, extraction_table

    for line in notes(result.summary):
        remark(line)
    there = result.summary["num_resamples"]
    if there not in (0, resamples):
        remark(f"intervals: {there:,} resamples, not {resamples:,}: runs that are done keep theirs, the fewest count")
    if as_json:
        print_json(result.summary)
    else:
        _print(extraction_table(result.summary))
        _print(claim_tables(result.summary)[0])
    page, *_ = result.files
    say_next(f"{page.parent}: tables, figures and claims", note=f"open {page} in a browser")


def _print(table: "Table") -> None:
    rows: list[list[Any]] = [
        [f"{cell.text} ({cell.small})" if cell.small else cell.text for cell in row] for row in table.rows
    ]
    print_table(table.title, table.columns, rows, num_text=len(table.columns))
