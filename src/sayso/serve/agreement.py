"""Agreement: metrics, settling disagreements, and exporting marks; pages and JSON API."""

import shutil
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from sayso.annotate import agreement as stored
from sayso.annotate.log import undo
from sayso.annotate.marks import FORMS, comment_lines, each_mark, fact_comments, settled_marks
from sayso.serve.access import Bench, ShownFact, Who
from sayso.serve.annotate.schemas import FactRequest, Label, NextFact, UndoRequest
from sayso.serve.responses import Render, RequestError, download, not_found
from sayso.serve.workbench import FactName

api = APIRouter(prefix="/api/agreement", tags=["agree"])


class DisputedFact(FactName):
    """A closed fact with the sentences that annotators have marked differently."""

    head_name: str
    tail_name: str
    sentences: list[stored.Disagreement]


class Settling(FactRequest):
    """The label that settles a sentence, given by its index in the bag; an empty label reopens it."""

    sentence: Annotated[int, Field(ge=0)]
    label: Label


@api.get("")
def get_agreement(bench: Bench) -> stored.AgreementReport:
    """Return the agreement on submitted facts."""
    with bench.database.reading() as connection:
        return stored.report(stored.submitted_marks(connection))


@api.get("/disagreements")
def get_disagreements(bench: Bench, _: Who) -> list[DisputedFact]:
    """Return the disputed facts."""
    with bench.database.reading() as connection:
        found = stored.disagreements(connection)
    return [
        DisputedFact(**dict(shown.name), head_name=shown.head_name, tail_name=shown.tail_name, sentences=sentences)
        for fact, sentences in found.items()
        if (shown := bench.fact_of(fact))
    ]


@api.post("/settle")
def post_settling(bench: Bench, who: Who, given: Settling) -> None:
    """Settle a disputed sentence."""
    shown = bench.fact(given)
    text = shown.text(given.sentence)
    with bench.database.writing() as connection:
        disputed = stored.disagreements(connection).get(shown.fact, [])
        if text not in {each.sentence for each in disputed}:
            raise RequestError(HTTPStatus.CONFLICT, "Annotators do not disagree on this sentence.")
        stored.settle(connection, who, shown.fact, text, given.label, given.key)


@api.post("/undo")
def post_undo(bench: Bench, who: Who, given: UndoRequest) -> NextFact:
    """Undo the label that you settled last, on one fact or on any fact; return the fact."""
    asked = bench.fact(given.fact).fact if given.fact else None
    with bench.database.writing() as connection:
        changes = undo(connection, who, stored.SCOPE, given.key, bench.has_fact, asked)
    shown = bench.fact_of(changes[0].fact if changes else None)
    return NextFact(fact=shown.name if shown else None)


exports = APIRouter(prefix="/api/annotations", tags=["annotations"])


@exports.get("", response_class=Response)
def export(
    bench: Bench,
    _: Who,
    form: Annotated[Literal["jsonl", "eraser", "csv", "tuples"], Query(description="The file format.")] = "jsonl",
    each: Annotated[bool, Query(description="Every annotator's marks instead of one per sentence.")] = False,
) -> Response:
    """Return the marks on closed facts: one per sentence (settled or by majority), or every annotator's own.

    Facts that someone may still mark are left out; `sayso annotations export --all` includes them.
    """
    chosen = FORMS[form]
    with tempfile.TemporaryDirectory() as folder, bench.database.reading() as connection:
        target = Path(folder) / f"annotations{chosen.suffix}"
        marks = (each_mark if each else settled_marks)(connection, stored.closed_facts(connection))
        chosen.write(target, marks)
        if chosen.is_folder:
            target = Path(shutil.make_archive(str(target), "zip", target))
        media = {".zip": "application/zip", ".csv": "text/csv"}.get(target.suffix, "application/x-ndjson")
        return download(target.name, target.read_bytes(), media)


@exports.get("/comments", response_class=Response)
def get_comments(bench: Bench, _: Who) -> Response:
    """Return comments on closed facts, and reports that a fact is wrong, as JSON lines."""
    with bench.database.reading() as connection:
        content = "".join(comment_lines(fact_comments(connection, stored.closed_facts(connection))))
    return download("comments.jsonl", content, "application/x-ndjson")


pages = APIRouter(include_in_schema=False)


@pages.get("/agreement")
def home(render: Render, bench: Bench, _: Who) -> Response:
    """Show agreement and disputed facts."""
    with bench.database.reading() as connection:
        figures = stored.report(stored.submitted_marks(connection))
        found = stored.disagreements(connection)
        said = fact_comments(connection, stored.closed_facts(connection))
    disputed = [(shown, each) for fact, each in found.items() if (shown := bench.fact_of(fact))]
    disputed.sort(key=lambda shown_each: all(each.settled for each in shown_each[1]))
    comments = [(shown, each) for each in said if (shown := bench.fact_of(each.fact))]
    return render("agreement/home.html", figures=figures, disputed=disputed, comments=comments, forms=FORMS)


@pages.get("/agreement/fact")
def fact_page(render: Render, bench: Bench, _: Who, shown: ShownFact) -> Response:
    """Show the disputed sentences of one fact, to settle them."""
    with bench.database.reading() as connection:
        found = stored.disagreements(connection)
        said = fact_comments(connection, {shown.fact})
    if shown.fact not in found:
        raise not_found("Annotators do not disagree on this fact.")
    queries = [other.name.url_query for fact in found if (other := bench.fact_of(fact))]
    here = queries.index(shown.name.url_query)
    return render(
        "agreement/fact.html",
        shown=shown,
        disputed=[each for each in found[shown.fact] if each.sentence in shown.places],
        comments=said,
        previous=queries[here - 1] if here > 0 else "",
        following=queries[here + 1] if here + 1 < len(queries) else "",
        number=here + 1,
        num_facts=len(queries),
    )
