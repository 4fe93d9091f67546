"""Agreement: metrics, settling disagreements, and exporting marks; pages and JSON API."""

import shutil
import tempfile
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from sayso.annotate import agreement as stored
from sayso.annotate.log import undo
from sayso.annotate.marking import LABELS
from sayso.annotate.marks import (
    FORMS,
    comment_lines,
    each_mark,
    fact_comments,
    ids_of,
    settled_marks,
)
from sayso.serve.access import Bench, Settler, ShownFact, Who
from sayso.serve.annotate.schemas import FactRequest, Label, NextFact, Prose, UndoRequest
from sayso.serve.responses import Render, RequestError, download, not_found, nothing_to_export
from sayso.serve.workbench import FactName
from sayso.store.columns import names_of

api = APIRouter(prefix="/api/agreement", tags=["agree"])


MAX_NOTE = 2_000


class DisputedFact(FactName):
    """A closed fact with the sentences that annotators have marked differently."""

    head_name: str
    tail_name: str
    sentences: list[stored.Disagreement]


class Settling(FactRequest):
    """The label that settles a sentence, given by its index in the bag; an empty label reopens it.

    Without a `note`, the note on the sentence stays as it is.
    """

    sentence: Annotated[int, Field(ge=0)]
    label: Label
    note: Annotated[Prose, Field(max_length=MAX_NOTE)] | None = None


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
def post_settling(bench: Bench, who: Settler, given: Settling) -> None:
    """Settle a disputed sentence."""
    shown = bench.fact(given)
    text = shown.text(given.sentence)
    with bench.database.writing() as connection:
        disputed = stored.disagreements(connection).get(shown.fact, [])
        if text not in {each.sentence for each in disputed}:
            raise RequestError(HTTPStatus.CONFLICT, "Annotators do not disagree on this sentence.")
        stored.settle(connection, who, shown.fact, text, given.label, given.key, given.note)


@api.post("/undo")
def post_undo(bench: Bench, who: Settler, given: UndoRequest) -> NextFact:
    """Undo the label that you settled last, on one fact or on any fact; return the fact."""
    asked = bench.fact(given.fact).fact if given.fact else None
    with bench.database.writing() as connection:
        changes = undo(connection, who, stored.SCOPE, given.key, bench.has_fact, asked)
    shown = bench.fact_of(changes[0].fact if changes else None)
    return NextFact(fact=shown.name if shown else None)


exports = APIRouter(prefix="/api/annotations", tags=["annotations"])
pages = APIRouter(include_in_schema=False)

MarkForm = Literal["jsonl", "eraser", "csv", "tuples"]
EachParam = Annotated[bool, Query(description="Every annotator's marks instead of one per sentence.")]


@exports.get("", response_class=Response)
def export(
    bench: Bench,
    _: Who,
    form: Annotated[MarkForm, Query(description="The file format.")] = "jsonl",
    each: EachParam = False,
) -> Response:
    """Return the marks on closed facts: one per sentence (settled or by majority), or every annotator's own.

    Facts that someone may still mark are left out; `sayso annotations export --all` includes them. Without any marks,
    the error (404) says why there is nothing to export.
    """
    return mark_file(bench, _, form, each)


@pages.get("/agreement/files/{form}")
def mark_file(bench: Bench, _: Who, form: MarkForm, each: EachParam = False) -> Response:
    """Return the marks on closed facts as a file in this format."""
    chosen = FORMS[form]
    with bench.database.reading() as connection:
        marks = list((each_mark if each else settled_marks)(connection, stored.closed_facts(connection)))
        reason = stored.why_no_marks(connection)
    names = names_of(bench.store.entities, ids_of(mark.fact for mark in marks))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / f"marks{chosen.suffix}"
        if chosen.write(target, marks, names) == len(marks):
            raise nothing_to_export(reason or chosen.why_empty)
        if chosen.is_folder:
            target = Path(shutil.make_archive(str(target), "zip", target))
        media = {".zip": "application/zip", ".csv": "text/csv; charset=utf-8"}.get(
            target.suffix, "application/x-ndjson"
        )
        kind = "-".join(["every-annotator" if each else "marks", *([] if form in ("jsonl", "csv") else [form])])
        return download(bench.name, f"{kind}{target.suffix}", target.read_bytes(), media)


@exports.get("/comments", response_class=Response)
@pages.get("/agreement/comments")
def get_comments(bench: Bench, _: Who) -> Response:
    """Return comments on closed facts, and reports that a fact is wrong, as JSON lines.

    Without any, the error (404) says why there is nothing to export.
    """
    with bench.database.reading() as connection:
        found = fact_comments(connection, stored.closed_facts(connection))
        reason = stored.why_no_marks(connection) or "no complete fact has a comment or is reported as wrong"
    if not found:
        raise nothing_to_export(reason)
    names = names_of(bench.store.entities, ids_of(each.fact for each in found))
    return download(bench.name, "comments.jsonl", "".join(comment_lines(found, names)), "application/x-ndjson")


@pages.get("/agreement")
def home(render: Render, bench: Bench, _: Who, relation: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Show agreement and disputed facts, of all relations or of one."""
    with bench.database.reading() as connection:
        figures = stored.report(stored.submitted_marks(connection))
        found = stored.disagreements(connection)
        said = fact_comments(connection, stored.closed_facts(connection))
        reason = stored.why_no_marks(connection)
    counts = Counter(fact.relation for fact in found)
    num_open = Counter(fact.relation for fact, each in found.items() if not all(one.settled for one in each))
    disputed = [
        (shown, each)
        for fact, each in found.items()
        if relation in ("", fact.relation) and (shown := bench.fact_of(fact))
    ]
    disputed.sort(key=lambda shown_each: all(each.settled for each in shown_each[1]))
    comments = [(shown, each) for each in said if (shown := bench.fact_of(each.fact))]
    about = {"figures": figures, "disputed": disputed, "comments": comments, "why_no_marks": reason, "labels": LABELS}
    by_relation = {"relation": relation, "num_disputed": counts, "num_open": num_open}
    return render("agreement/home.html", **about, **by_relation, forms=FORMS)


@pages.get("/agreement/fact")
def fact_page(
    render: Render,
    bench: Bench,
    _: Who,
    shown: ShownFact,
    same_relation: Annotated[bool, Query(description="Whether the next fact has the same relation.")] = False,
) -> Response:
    """Show the disputed sentences of one fact, to settle them."""
    with bench.database.reading() as connection:
        found = stored.disagreements(connection)
        said = fact_comments(connection, {shown.fact})
    if shown.fact not in found:
        raise not_found("Annotators do not disagree on this fact.")
    queries = [
        other.name.url_query
        for fact in found
        if not same_relation or fact.relation == shown.fact.relation
        if (other := bench.fact_of(fact))
    ]
    here = queries.index(shown.name.url_query)
    return render(
        "agreement/fact.html",
        shown=shown,
        disputed=[each for each in found[shown.fact] if each.sentence in shown.places],
        comments=said,
        previous=queries[here - 1] if here > 0 else "",
        following=queries[here + 1] if here + 1 < len(queries) else "",
        same_relation=same_relation,
        max_note=MAX_NOTE,
        number=here + 1,
        num_facts=len(queries),
    )
