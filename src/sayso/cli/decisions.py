"""`sayso decisions`: facts that people have accepted or rejected, with the sentences that say so, as files."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sayso.cli.console import remark
from sayso.errors import UserError

app = typer.Typer(help="Export facts that people have decided on.", no_args_is_help=True)


class DecisionForm(StrEnum):
    """Forms of files."""

    jsonld = "jsonld"
    csv = "csv"
    judgements = "judgements"


@app.callback()
def _group() -> None:
    """Export facts that people have decided on."""


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    db: Annotated[Path, typer.Option("--db", help="File of the annotations that `sayso serve` has made.")],
    form: Annotated[
        DecisionForm,
        typer.Option(help="Accepted facts as W3C Web Annotations or CSV, or all verdicts as JSON lines."),
    ] = DecisionForm.jsonld,
) -> None:
    """Write decided facts with their provenance: quotes, documents, run, mechanism, score, who decided and when.

    Example: `sayso decisions export accepted.jsonld --db demo/store.annotations.db`
    """
    from sayso.annotate.curation import decisions
    from sayso.annotate.store import open_existing
    from sayso.atomic import atomic_file
    from sayso.provenance.forms import FORMS

    database, chosen = open_existing(db), FORMS[form.value]
    with database.reading() as connection:
        facts = chosen.keep(decisions(connection))
    database.close()
    if not facts:
        raise UserError(f"{db}: no fact is {' or '.join(chosen.decisions)} yet; decide on some with `sayso serve`")
    with atomic_file(out) as file:
        file.write(chosen.write(facts))
    print(f"{len(facts):,} facts")
    remark(f"wrote {out}; next: docs/workbench.md says what is in it")
