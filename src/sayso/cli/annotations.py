"""`sayso annotations`: export, import and compare the marks of annotators."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sayso.cli.console import note, print_json, print_result, print_table, say_next
from sayso.cli.options import AnnotationDb, AsJson, form_of, store_of_database
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sayso.annotate.store import Connection
    from sayso.records import Triple

app = typer.Typer(help="Export, import and compare marks.", no_args_is_help=True)

app.callback()(lambda: None)


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; a folder for eraser.")],
    db: AnnotationDb,
    form: Annotated[
        Literal["jsonl", "eraser", "csv", "tuples", "comments"] | None,
        typer.Option(
            "--format",
            help="By default from the file extension: csv, else jsonl. `sayso evaluate --marks` reads jsonl and eraser;"
            " comments includes reports of wrong facts.",
        ),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Every annotator's marks instead of one per sentence.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Include facts that are still waiting for annotators.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Store whose names are written beside the ids; by default the one next to the database."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export submitted marks: one per sentence (settled or by majority), or every annotator's own.

    Leaves out the pilot round and, like the pages, facts that are still waiting for annotators.

    Example: `sayso annotations export marks.jsonl --db demo/store.annotations.db`
    """
    from sayso.annotate.agreement import submitted_marks
    from sayso.annotate.marks import ERASER_FILE, FORMS, each_mark, settled_marks
    from sayso.annotate.store import reading_from

    endings = {**{name: each.suffix for name, each in FORMS.items()}, "comments": ".jsonl"}
    chosen_form = form_of(out, form, endings, "jsonl")
    if chosen_form == "comments":
        if each:
            raise UserError("--each applies only to marks: comments are always exported for every annotator")
        _export_comments(out, db, everything, data, as_json)
        return
    chosen = FORMS[chosen_form]
    with reading_from(db) as connection:
        submitted = {mark.fact for mark in submitted_marks(connection)}
        if not submitted:
            raise UserError(f"{db}: no facts have been submitted yet; nothing to export")
        facts = submitted if everything else _complete(connection, db, submitted)
        marks = list((each_mark if each else settled_marks)(connection, facts))
    names = _names(data or store_of_database(db), (mark.fact for mark in marks))
    num_left_out = chosen.write(out, marks, names)
    if num_left_out:
        note(f"{num_left_out:,} marks cannot be written in the format {chosen_form} and were left out")
    counts = {"num_marks": len(marks) - num_left_out, "num_left_out": num_left_out}
    print_result(as_json, {"written": str(out), "format": chosen_form, **counts}, f"{counts['num_marks']:,} marks")
    file, store = out / ERASER_FILE if chosen.is_folder else out, store_of_database(db) or "STORE"
    if chosen_form in ("jsonl", "eraser"):
        command = as_command("sayso", "evaluate", "RUN", "--data", store, "--marks", file)
        say_next(str(out), hint=f"to evaluate a run with these marks: {command}")
    else:
        _say_import(out, file)


def _names(store: Path | None, facts: "Iterable[Triple]") -> dict[str, str]:
    """Return the names of the facts' entities, if there is a store."""
    from sayso.annotate.marks import ids_of
    from sayso.store.columns import names_of
    from sayso.store.store import Store

    return names_of(Store(store).entities, ids_of(facts)) if store else {}


def _say_import(out: Path, file: Path) -> None:
    command = as_command("sayso", "annotations", "import", file, "--db", "FILE")
    say_next(str(out), hint=f"to import them elsewhere: {command}")


def _complete(connection: "Connection", db: Path, submitted: "set[Triple]") -> "set[Triple]":
    """Return the facts that enough annotators have submitted, and print how many others there are."""
    from sayso.annotate.agreement import closed_facts

    complete = submitted.intersection(closed_facts(connection))
    if num_left_out := len(submitted - complete):
        if not complete:
            raise UserError(f"{db}: all submitted facts are still waiting for annotators; export them with --all")
        note(f"left out {num_left_out:,} facts that are still waiting for annotators; --all includes them")
    return complete


def _export_comments(out: Path, db: Path, everything: bool, data: Path | None, as_json: bool) -> None:
    from sayso.annotate.marks import comment_lines, fact_comments
    from sayso.annotate.store import reading_from
    from sayso.io.atomic import atomic_file

    with reading_from(db) as connection:
        found = fact_comments(connection)
        if not found:
            raise UserError(f"{db}: no submitted fact has a comment or is reported as wrong")
        if not everything:
            complete = _complete(connection, db, {each.fact for each in found})
            found = [each for each in found if each.fact in complete]
    with atomic_file(out) as file:
        names = _names(data or store_of_database(db), (each.fact for each in found))
        file.writelines(comment_lines(found, names))
    record = {"written": str(out), "format": "comments", "num_comments": len(found)}
    print_result(as_json, record, f"{len(found):,} comments")
    _say_import(out, out)


@app.command("import")
def take(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files in any format that export writes.")],
    db: Annotated[Path, typer.Option("--db", help="Annotation database; created if missing.")],
    known: Annotated[bool, typer.Option("--known", help="The marks are the known answers of a pilot round.")] = False,
    as_json: AsJson = False,
) -> None:
    """Import marks and comments under the names in the files; they replace the same annotator's earlier ones.

    Example: `sayso annotations import colleagues.jsonl --db demo/store.annotations.db`
    """
    from sayso.annotate.marks import holds_comments, read_any, read_comments, save_comments, save_marks
    from sayso.annotate.store import writing_to

    said = [path for path in files if holds_comments(path)]
    if known and said:
        raise UserError(f"{said[0]}: comments cannot be known answers; import them without --known")
    marks = [mark for path in files if path not in said for mark in read_any(path)]
    comments = [each for path in said for each in read_comments(path)]
    with writing_to(db) as connection:
        taken = save_marks(connection, marks, known)
        save_comments(connection, comments)
    marked = f"{taken.num_marks:,} marks by {taken.num_annotators:,} annotators on {taken.num_facts:,} facts"
    text = "\n".join([marked] * bool(marks) + [f"{len(comments):,} comments"] * bool(comments))
    print_result(as_json, {"written": str(db), **taken._asdict(), "num_comments": len(comments)}, text)
    command = as_command("sayso", "serve", "--data", store_of_database(db) or "STORE", "--db", db)
    is_complete = store_of_database(db) is not None
    say_next(str(db), *[command] * is_complete, hint="" if is_complete else f"to see them: {command}")


@app.command("agreement")
def show_agreement(db: AnnotationDb, as_json: AsJson = False) -> None:
    """Show the agreement on facts that two or more annotators have submitted: percent, Cohen's κ, Krippendorff's α.

    Example: `sayso annotations agreement --db demo/store.annotations.db`
    """
    from sayso.annotate.agreement import report, submitted_marks
    from sayso.annotate.store import reading_from

    with reading_from(db) as connection:
        figures = report(submitted_marks(connection))
    if as_json:
        print_json(asdict(figures))
        return
    rows = [
        [each.relation or "all relations", each.num_facts, each.num_units, each.percent, each.kappa, each.alpha]
        for each in (*figures.relations, figures.overall)
        if each.num_units or each is figures.overall
    ]
    print_table("agreement", ["relation", "facts", "sentences", "same", "κ", "α"], rows)
    if len(figures.pairs) > 1:
        pairs = [[f"{each.first}, {each.second}", each.num_units, each.percent, each.kappa] for each in figures.pairs]
        print_table("annotator pairs", ["annotators", "sentences", "same", "κ"], pairs)
