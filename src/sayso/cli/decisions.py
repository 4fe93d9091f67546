"""`sayso decisions`: export and import accepted and rejected facts, with their evidence."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sayso.cli.console import note, print_result, say_next
from sayso.cli.options import AnnotationDb, AsJson, NoVerify, Wikidata, form_of
from sayso.errors import UserError, as_command

_NUM_NAMED = 10

app = typer.Typer(help="Export and import decisions on facts.", no_args_is_help=True)
app.callback()(lambda: None)


@app.command("export")
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write.")],
    db: AnnotationDb,
    form: Annotated[
        Literal["jsonld", "csv", "triples", "quickstatements", "decisions", "quotes", "exceptions"] | None,
        typer.Option(
            "--format",
            help="Accepted facts in one of four formats, all decisions as JSON lines, decisions on sentences as CSV"
            " (quotes), or wrong entities for `sayso build` (exceptions). By default from the file extension: csv,"
            " tsv (triples), jsonl (decisions), else jsonld.",
        ),
    ] = None,
    wikidata: Wikidata = None,
    as_json: AsJson = False,
) -> None:
    """Write decided facts with provenance: quotes, documents, run, mechanism, score, annotator and time.

    Example: `sayso decisions export accepted.jsonld --db demo/store.annotations.db`
    """
    from sayso.annotate.decisions import decisions
    from sayso.annotate.store import reading_from
    from sayso.facts.export import FORMS, in_wikidata, read_ids
    from sayso.io.atomic import write_text

    if form == "quotes" or form == "exceptions":
        _export_quotes(out, db, form, wikidata, as_json)
        return
    endings = {name: "".join(Path(each.file_name).suffixes) for name, each in FORMS.items()}
    name = form_of(out, form, endings, "jsonld")
    if wikidata and name != "quickstatements":
        raise UserError(f"--wikidata requires --format quickstatements, but {out} is written as {name}")
    chosen, ids = FORMS[name], read_ids(wikidata) if wikidata else {}
    with reading_from(db) as connection:
        every, damaged = decisions(connection)
    facts, num_left_out = chosen.keep([in_wikidata(each, ids) for each in every])
    if damaged:
        note(f"{len(damaged):,} damaged decisions are left out: decide on these facts again with `sayso serve`")
    for each in damaged[:_NUM_NAMED]:
        note(f"  {' '.join(each.fact)}: {each.reason}")
    if num_left_out:
        note(f"{name}: {chosen.about}: {num_left_out:,} of {num_left_out + len(facts):,}")
    if not facts and num_left_out:
        raise UserError(f"{db}: no accepted fact can be written in the format {name}; nothing was written")
    if not facts:
        raise UserError(f"{db}: {chosen.why_empty(0)}; make decisions with `sayso serve`")
    write_text(out, chosen.write(facts))
    counts = {"num_facts": len(facts), "num_left_out": num_left_out, "num_damaged": len(damaged)}
    print_result(as_json, {"written": str(out), "format": name, **counts}, f"{len(facts):,} facts")
    note(f"wrote {out}; docs/workbench-facts.md documents the format")


def _export_quotes(
    out: Path, db: Path, form: Literal["quotes", "exceptions"], wikidata: Path | None, as_json: bool
) -> None:
    from sayso.annotate.decisions import decided_quotes
    from sayso.annotate.store import reading_from
    from sayso.facts.export import QUOTE_FORMS
    from sayso.io.atomic import write_text

    if wikidata:
        raise UserError(f"--wikidata requires --format quickstatements, but {out} is written as {form}")
    with reading_from(db) as connection:
        decided = decided_quotes(connection)
    text = QUOTE_FORMS[form].text(decided)
    if not text:
        why = QUOTE_FORMS[form].why_empty
        raise UserError(f"{db}: {why}: decide on them in `sayso serve --facts`; nothing was written")
    write_text(out, text)
    num = len(decided) if form == "quotes" else text.count("\n")
    print_result(as_json, {"written": str(out), "format": form, f"num_{form}": num}, f"{num:,} {form}")
    note(f"wrote {out}; docs/workbench-facts.md documents the format")
    if form == "exceptions":
        note(f"to build the corpus without these links, add --exceptions {out} to sayso build")


@app.command("import")
def take(
    file: Annotated[
        Path,
        typer.Argument(metavar="DECISIONS", help="JSON lines: head, relation, tail, decision (accepted, rejected)."),
    ],
    facts: Annotated[
        Path,
        typer.Option("--facts", help="The extracted facts: a folder written by `sayso extract`, or facts.jsonl."),
    ],
    db: Annotated[Path, typer.Option("--db", help="Annotation database; created if missing.")],
    by: Annotated[str, typer.Option("--by", help="Annotator for lines without one.")] = "import",
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Import decisions on extracted facts, with the evidence and provenance of each fact.

    Example: `sayso decisions import decisions.jsonl --facts facts --db decisions.db --by Ada`
    """
    from sayso.annotate.decisions import decide_on_extracted
    from sayso.annotate.store import writing_to
    from sayso.facts.file import read_extracted
    from sayso.readers.tables import read_decisions

    wanted = {each.fact: each for each in read_decisions(file)}
    with writing_to(db) as connection:
        num = decide_on_extracted(connection, read_extracted(facts), wanted, by)
    if num < len(wanted):
        note(f"{len(wanted) - num:,} decisions left out: their facts are not in {facts}")
    record = {"written": str(db), "num_decisions": num, "num_left_out": len(wanted) - num}
    print_result(as_json, record, f"{num:,} decisions")
    say_next(str(db), as_command("sayso", "decisions", "export", "accepted.jsonld", "--db", db))
