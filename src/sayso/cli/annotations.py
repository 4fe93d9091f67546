"""`sayso annotations`: people's marks out of the workbench and into it, and how far they agree."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import print_json, print_table, remark, say, say_next
from sayso.cli.file_form import form_of
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.annotate.store import Connection
    from sayso.records import Triple

app = typer.Typer(help="Export, import and compare people's marks.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print what was written, and how much, as JSON.")]
Database = Annotated[Path, typer.Option("--db", help="File of the annotations that `sayso serve` has made.")]


class FormName(StrEnum):
    """Forms of files."""

    jsonl = "jsonl"
    eraser = "eraser"
    csv = "csv"
    tuples = "tuples"
    remarks = "remarks"


@app.callback()
def _group() -> None:
    """Export, import and compare people's marks."""


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; a folder for eraser.")],
    db: Database,
    form: Annotated[
        FormName | None,
        typer.Option(
            help="By the name if not given: csv, else jsonl. `sayso evaluate --marks` reads jsonl and eraser;"
            " remarks are comments and flags."
        ),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Everybody's marks, not one a sentence.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Also facts that fewer people than wanted have submitted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the submitted marks: one a sentence, as it was settled or as the majority says, or everybody's own.

    The pilot round is not in it, nor are facts that fewer people than wanted have submitted, as on the pages.

    Example: `sayso annotations export marks.jsonl --db demo/store.annotations.db`
    """
    from sayso.annotate.agreement import submitted_marks
    from sayso.annotate.forms import ERASER_FILE, FORMS
    from sayso.annotate.marks import each_mark, settled_marks
    from sayso.annotate.store import reading_from

    endings = {**{name: each.suffix for name, each in FORMS.items()}, FormName.remarks: ".jsonl"}
    form = FormName(form_of(out, form, endings, FormName.jsonl))
    if form is FormName.remarks:
        if each:
            raise UserError("--each is for marks: remarks are everybody's own in any case")
        _export_remarks(out, db, everything, as_json)
        return
    chosen = FORMS[form.value]
    with reading_from(db) as connection:
        submitted = {mark.fact for mark in submitted_marks(connection)}
        if not submitted:
            raise UserError(f"{db}: nobody has submitted a fact yet; there is nothing to write")
        facts = submitted if everything else _complete(connection, db, submitted)
        marks = list((each_mark if each else settled_marks)(connection, facts))
    num_left_out = chosen.write(out, marks)
    if num_left_out:
        remark(f"{num_left_out:,} marks have no place in the form {form.value} and were left out")
    num = len(marks) - num_left_out
    if as_json:
        print_json({"written": str(out), "form": form.value, "num_marks": num, "num_left_out": num_left_out})
    else:
        say(f"{num:,} marks")
    written = out / ERASER_FILE if chosen.is_folder else out
    evaluating = ("evaluate", "RUN", "--data", "STORE", "--marks")
    following = evaluating if form in (FormName.jsonl, FormName.eraser) else ("annotations", "import", "--db", "FILE")
    say_next(str(out), as_command("sayso", *following, written))


def _complete(connection: "Connection", db: Path, submitted: "set[Triple]") -> "set[Triple]":
    """Return those of the facts that as many people as wanted have submitted, and say how many others there are."""
    from sayso.annotate.agreement import closed_facts
    from sayso.annotate.queue import read_settings

    complete = submitted.intersection(closed_facts(connection, read_settings(connection).annotators_per_fact))
    if num_left_out := len(submitted - complete):
        about = f"facts that fewer people than wanted have submitted: {num_left_out:,}"
        if not complete:
            raise UserError(f"{db}: there are only {about}; export them with --all")
        remark(f"left out {about}; --all exports them, too")
    return complete


def _export_remarks(out: Path, db: Path, everything: bool, as_json: bool) -> None:
    from sayso.annotate.marks import comment_lines, fact_comments
    from sayso.annotate.store import reading_from
    from sayso.io.atomic import atomic_file

    with reading_from(db) as connection:
        found = fact_comments(connection)
        if not found:
            raise UserError(f"{db}: nobody has said anything about a fact that they have submitted")
        if not everything:
            complete = _complete(connection, db, {each.fact for each in found})
            found = [each for each in found if each.fact in complete]
    with atomic_file(out) as file:
        file.writelines(comment_lines(found))
    if as_json:
        print_json({"written": str(out), "form": FormName.remarks.value, "num_remarks": len(found)})
    else:
        say(f"{len(found):,} remarks")
    say_next(str(out), as_command("sayso", "annotations", "import", "--db", "FILE", out))


@app.command("import")
def take(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of any form that export writes.")],
    db: Annotated[Path, typer.Option("--db", help="File of the annotations, made if missing.")],
    known: Annotated[
        bool, typer.Option("--known", help="The marks are the known answers for a pilot round, not somebody's work.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take marks and remarks from files in, under the names that stand there; a mark on the same sentence is replaced.

    Example: `sayso annotations import colleagues.jsonl --db demo/store.annotations.db`
    """
    from sayso.annotate.forms import read_any
    from sayso.annotate.marks import holds_comments, read_comments, save_comments, save_marks
    from sayso.annotate.store import writing_to

    said = [path for path in files if holds_comments(path)]
    if known and said:
        raise UserError(f"{said[0]}: remarks are no known answers; import them without --known")
    marks = [mark for path in files if path not in said for mark in read_any(path)]
    remarks = [each for path in said for each in read_comments(path)]
    with writing_to(db) as connection:
        taken = save_marks(connection, marks, known)
        save_comments(connection, remarks)
    if as_json:
        counts = {"num_marks": taken.num_marks, "num_annotators": taken.num_annotators}
        print_json({"written": str(db), **counts, "num_facts": taken.num_facts, "num_remarks": len(remarks)})
    else:
        marked = f"{taken.num_marks:,} marks by {taken.num_annotators:,} people on {taken.num_facts:,} facts"
        say("\n".join([marked] * bool(marks) + [f"{len(remarks):,} remarks"] * bool(remarks)))
    say_next(str(db), as_command("sayso", "serve", "--data", "STORE", "--db", db))


@app.command("agreement")
def show_agreement(
    db: Database,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Show how far people agree on what two or more have submitted: percent, Cohen's κ and Krippendorff's α.

    Example: `sayso annotations agreement --db demo/store.annotations.db`
    """
    from dataclasses import asdict

    from sayso.annotate.agreement import report, submitted_marks
    from sayso.annotate.store import reading_from

    with reading_from(db) as connection:
        figures = report(submitted_marks(connection))
    if as_json:
        print_json(asdict(figures))
        return
    overall = figures.overall
    rows = [
        [each.relation or "all relations", each.num_facts, each.num_units, each.percent, each.kappa, each.alpha]
        for each in (*figures.relations, overall)
        if each.num_units or each is overall
    ]
    print_table("agreement", ["relation", "facts", "sentences", "same", "κ", "α"], rows)
    if len(figures.pairs) > 1:
        pairs = [[f"{each.first}, {each.second}", each.num_units, each.percent, each.kappa] for each in figures.pairs]
        print_table("between each two", ["annotators", "sentences", "same", "κ"], pairs)
