"""`sayso decisions`: facts that people have accepted or rejected, with the sentences that were shown, as files."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import print_json, remark, say, say_next
from sayso.cli.file_form import form_of
from sayso.cli.verify import NoVerify
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.annotate.decisions import DamagedDecision

_NUM_NAMED = 10

app = typer.Typer(help="Export and import what people have decided about facts.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print what was written, and how much, as JSON.")]


class DecisionForm(StrEnum):
    """Forms of files."""

    jsonld = "jsonld"
    csv = "csv"
    triples = "triples"
    quickstatements = "quickstatements"
    decisions = "decisions"


@app.callback()
def _group() -> None:
    """Export and import what people have decided about facts."""


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    db: Annotated[Path, typer.Option("--db", help="File of the annotations that `sayso serve` has made.")],
    form: Annotated[
        DecisionForm | None,
        typer.Option(
            help="Accepted facts in one of four forms, or all decisions as JSON lines; by the name if not given:"
            " csv, tsv (triples), jsonl (decisions), else jsonld."
        ),
    ] = None,
    wikidata: Annotated[
        Path | None, typer.Option(help="Your ids and Wikidata's, with a tab between, for quickstatements.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write decided facts with their provenance: quotes, documents, run, mechanism, score, who decided and when.

    Example: `sayso decisions export accepted.jsonld --db demo/store.annotations.db`
    """
    from sayso.annotate.decisions import decisions, readable
    from sayso.annotate.store import reading_from
    from sayso.facts.export import FORMS
    from sayso.facts.quick_statements import in_wikidata, read_ids
    from sayso.io.atomic import atomic_file

    endings: dict[str, str] = {name: "".join(Path(each.file_name).suffixes) for name, each in FORMS.items()}
    form = DecisionForm(form_of(out, form, endings, DecisionForm.jsonld))
    if wikidata and form is not DecisionForm.quickstatements:
        raise UserError(f"--wikidata is for --form quickstatements, and {out} becomes {form.value}")
    chosen, ids = FORMS[form.value], read_ids(wikidata) if wikidata else {}
    with reading_from(db) as connection:
        every, damaged = readable(decisions(connection))
    facts, num_left_out = chosen.keep([in_wikidata(each, ids) for each in every])
    _name_damaged(damaged)
    if num_left_out:
        remark(f"{form.value}: {chosen.about}: {num_left_out:,} of {num_left_out + len(facts):,}")
    if not facts and num_left_out:
        raise UserError(f"{db}: no accepted fact fits into the form {form.value}; nothing was written")
    if not facts:
        raise UserError(f"{db}: no fact is {' or '.join(chosen.decisions)} yet; decide on some with `sayso serve`")
    with atomic_file(out) as file:
        file.write(chosen.write(facts))
    if as_json:
        counts = {"num_facts": len(facts), "num_left_out": num_left_out, "num_damaged": len(damaged)}
        print_json({"written": str(out), "form": form.value, **counts})
    else:
        say(f"{len(facts):,} facts")
    remark(f"wrote {out}; docs/workbench-facts.md says what is in it")


def _name_damaged(damaged: "list[DamagedDecision]") -> None:
    if damaged:
        remark(f"{len(damaged):,} damaged decisions are left out: decide on these facts again with `sayso serve`")
    for each in damaged[:_NUM_NAMED]:
        remark(f"  {' '.join(each.fact)}: {each.reason}")


@app.command("import")
def take(
    file: Annotated[
        Path,
        typer.Argument(metavar="DECISIONS", help="JSON lines: head, relation, tail, decision (accepted, rejected)."),
    ],
    facts: Annotated[
        Path,
        typer.Option("--facts", help="The facts that were decided on: an extraction's folder or facts.jsonl."),
    ],
    db: Annotated[Path, typer.Option("--db", help="File of the annotations, made if missing.")],
    by: Annotated[str, typer.Option("--by", help="Who decided, where a line does not say.")] = "import",
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Take decisions on extracted facts in, each with the sentences and the provenance of its fact.

    Example: `sayso decisions import decisions.jsonl --facts facts --db decisions.db --by Ada`
    """
    from sayso.annotate.decisions import decide_on_found
    from sayso.annotate.store import writing_to
    from sayso.facts.file import read_extracted
    from sayso.readers.fact import read_decisions

    wanted = {each.fact: each for each in read_decisions(file)}
    with writing_to(db) as connection:
        num = decide_on_found(connection, read_extracted(facts), wanted, by)
    if num < len(wanted):
        remark(f"{len(wanted) - num:,} decisions are on facts that {facts} does not have; they were left out")
    if as_json:
        print_json({"written": str(db), "num_decisions": num, "num_left_out": len(wanted) - num})
    else:
        say(f"{num:,} decisions")
    say_next(str(db), as_command("sayso", "decisions", "export", "accepted.jsonld", "--db", db))
