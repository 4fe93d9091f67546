"""`sayso serve`: run the workbench in the browser."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import Terminated, note, say, stages
from sayso.cli.options import NoVerify, settings_from
from sayso.errors import MissingExtraError, UserError, as_command
from sayso.facts.file import FACTS_FILE

if TYPE_CHECKING:
    from sayso.annotate.store import AnnotationDatabase
    from sayso.serve.server import ServeSettings


def serve(
    project: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Project to show: its store, its facts, its decisions and its documents."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The store to show; by default that of the project.")] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run", help="A run trained on the store; its predictions are computed if necessary. May be repeated."
        ),
    ] = None,
    facts: Annotated[
        list[Path] | None,
        typer.Option(help="Facts to review: folder written by `sayso extract`, or facts.jsonl; may be repeated."),
    ] = None,
    db: Annotated[
        Path | None, typer.Option(help="Annotation database, created if missing; by default STORE.annotations.db.")
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            help="Part of the store; by default that of the runs' predictions, else test, else validation, else train."
        ),
    ] = "",
    host: Annotated[
        str, typer.Option(help="Host to listen on; annotators on other machines need a link.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free port.")] = 8017,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where a proxy on this machine offers the workbench, such as https://example.org/sayso."
        ),
    ] = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="Annotator who gets a link to connect from other machines, printed once; may be repeated."),
    ] = None,
    leads: Annotated[
        list[str] | None,
        typer.Option(
            "--lead",
            help="Annotator who may edit queue settings and guideline, settle disagreements and give people roles and"
            " links (default: the only local user); may be repeated.",
        ),
    ] = None,
    reviewers: Annotated[
        list[str] | None,
        typer.Option("--reviewer", help="Person who decides on facts but marks no sentences; may be repeated."),
    ] = None,
    readers: Annotated[
        list[str] | None, typer.Option("--reader", help="Person who changes nothing; may be repeated.")
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            help="Documents of the facts, as given to `sayso build`, to show quotes in context; a project has its own."
        ),
    ] = None,
    reasons: Annotated[
        Path | None, typer.Option(help="Reasons for rejecting a quote, one per line; the first nine have keys.")
    ] = None,
    new_links: Annotated[
        bool, typer.Option("--new-links", help="Revoke all earlier links; only the --annotator names get a new one.")
    ] = False,
    new_link: Annotated[
        list[str] | None,
        typer.Option("--new-link", help="Person whose link and sessions are replaced by a new link; may be repeated."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,
    _no_verify: NoVerify = False,
) -> None:
    """Annotate, review facts and explore explanations in the browser; runs until Ctrl-C or SIGTERM.

    Example: `sayso serve --data demo/store --run demo/cnns_att_f_ld`
    """
    if project is not None:
        data, facts, db, documents = _of_project(project, data, facts, db, documents)
    if data is None:
        raise UserError("name a project (`sayso serve DIR`), or a store with --data")
    try:
        from sayso.serve.app import make_app
        from sayso.serve.server import ServeSettings, open_socket
        from sayso.serve.server import run as run_server
    except ModuleNotFoundError as error:
        if str(error.name).startswith("sayso"):
            raise
        raise MissingExtraError("the workbench", "serve") from error
    from sayso.facts.quote import read_reasons

    opened = open_socket(host, port)
    database = db or Path(f"{os.path.realpath(data)}.annotations.db")
    part = _with_predictions(data, runs, part) if runs else part
    given = {"reasons": read_reasons(reasons)} if reasons else {}
    settings = settings_from(ServeSettings, {**locals(), "reasons": None, **given, "port": opened.getsockname()[1]})
    _refuse_odd_links(settings, annotator, new_link, new_links)
    app = make_app(settings)
    if not settings.is_local:
        names = [*(annotator or ()), *settings.leads, *settings.reviewers, *settings.readers]
        _say_links(app.state.workbench.database, settings, names, new_links, new_link or ())
    _say_where(settings, open_page)
    try:
        run_server(app, opened)
    except Terminated:  # how services are stopped
        note("stopped; everything is saved")


def _of_project(
    folder: Path, data: Path | None, facts: list[Path] | None, db: Path | None, documents: Path | None
) -> tuple[Path, list[Path] | None, Path, Path]:
    """Return the store, the facts (if they are extracted already), the database and the documents of a project."""
    from sayso.project import open_project

    project = open_project(folder)
    if data is None and not project.store.is_dir():
        raise UserError(f"{folder}: no store yet: run the project with `{as_command('sayso', 'run', folder)}`")
    found = [project.facts] if (project.facts / FACTS_FILE).is_file() else None
    documents = documents or project.build_inputs.documents
    return data or project.store, facts or found, db or project.database, documents


def _with_predictions(data: Path, runs: list[Path], part: str) -> str:
    """Compute the predictions of the runs that have none, with progress; return the part to show."""
    from sayso.serve.predictions.run import parts_predicted
    from sayso.store.store import Store

    predicted = parts_predicted(runs)
    known = {each for each in predicted if each}
    part = part or (known.pop() if len(known) == 1 else "") or Store(data).default_part
    missing = [run for run, is_there in zip(runs, predicted, strict=True) if not is_there]
    if missing:
        _predict(data, missing, part)
    return part


def _predict(data: Path, runs: list[Path], part: str) -> None:
    from sayso.evaluate.evaluation import EvaluationSettings, evaluate_and_keep
    from sayso.explain.trained_run import open_runs
    from sayso.io.folder import locked
    from sayso.store.marks import marks_of_store
    from sayso.store.store import Store

    store = Store(data)
    for subject in open_runs(runs, store, part):
        note(f"{subject.folder}: no predictions yet; computing those for the {part} part")
        with locked(subject.folder.resolve(), "sayso serve"), stages() as show:
            evaluate_and_keep(subject, marks_of_store(store, part), EvaluationSettings(), show)


def _refuse_odd_links(
    settings: "ServeSettings", annotators: list[str] | None, new_link: list[str] | None = None, new_links: bool = False
) -> None:
    given = {"--annotator": annotators, "--new-link": new_link, "--new-links": new_links}
    for option in (option for option, value in given.items() if value and settings.is_local):
        raise UserError(f"{option} is for annotators on other machines, who cannot reach {settings.host}: see --host")
    if not settings.is_local and not (annotators or settings.leads or settings.reviewers or settings.readers):
        where = settings.public_url or settings.host
        raise UserError(f"{where} can be reached from other machines: allow annotators with --annotator NAME")


def _say_links(
    database: "AnnotationDatabase",
    settings: "ServeSettings",
    names: list[str],
    new_links: bool,
    new_link: Sequence[str],
) -> None:
    from sayso.serve.server import make_links

    for name, link in make_links(database, settings, names, new_links, new_link):
        say(f"link for {name}, shown only once: {link}")
    warning = " Use a trusted network: HTTP is not encrypted" * settings.url.startswith("http:")
    note(f"the links are like passwords; --new-link NAME replaces one, --new-links all.{warning}")


def _say_where(settings: "ServeSettings", open_page: bool) -> None:
    from sayso.annotate.store import is_open_to_others

    if is_open_to_others(database := settings.database):
        note(
            f"warning: other users of this machine can read or change {database}; to prevent this: chmod 600 {database}"
        )
    say(f"workbench: {settings.url}", flush=True)
    if settings.public_url:
        note(f"the proxy must pass requests on to {replace(settings, public_url='').url}")
    if not settings.is_local and not settings.leads:
        note("nobody can change the queue, pilot round or guideline: name a lead with --lead NAME")
    note(f"annotations are saved in {database}; Ctrl-C stops the workbench")
    if open_page:
        import webbrowser

        webbrowser.open(settings.url)
