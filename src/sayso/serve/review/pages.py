"""Review: a table of extracted facts, and one fact with its quotes and decision; pages and JSON API."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Depends, Form, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import decision_on
from sayso.annotate.people import Annotator
from sayso.facts.fact import ExtractedFact
from sayso.records import Triple
from sayso.serve.access import Bench, Who
from sayso.serve.decisions import DecisionRequest, SentByForm, save
from sayso.serve.fact_table import TablePage
from sayso.serve.fact_view import QuoteResponse, SupportResponse, quote_response, support_response, view_extracted
from sayso.serve.responses import Render, not_found, review_url
from sayso.serve.review.file import PRESETS, ExtractedFile, ReviewQuery, ReviewRow
from sayso.serve.workbench import Workbench

api = APIRouter(prefix="/api/review", tags=["review"])
pages = APIRouter(include_in_schema=False)

MAX_ID = 2_000
"""In characters; an id may be a URL."""


class FactIds(BaseModel):
    """An extracted fact, by its ids."""

    head: Annotated[str, Field(max_length=MAX_ID)]
    relation: Annotated[str, Field(max_length=500)]
    tail: Annotated[str, Field(max_length=MAX_ID)]

    @property
    def fact(self) -> Triple:
        """The fact as a triple."""
        return Triple(self.head, self.relation, self.tail)


class ExtractionResponse(BaseModel):
    """An open file of facts: its name in URLs, and how many of its facts are decided."""

    name: str
    num_facts: int
    num_decided: int


@dataclass(frozen=True, kw_only=True)
class ExtractedFactResponse(ExtractedFact):
    """A fact with its quotes in rank order; `contradicts` are the tails in the knowledge base instead."""

    support: SupportResponse  # type: ignore[assignment]
    quotes: list[QuoteResponse]  # type: ignore[assignment]
    decision: str


class ReviewDecision(FactIds, DecisionRequest):
    """A decision on an extracted fact; `withdrawn` deletes the decision."""


class ReviewDecisionForm(SentByForm, ReviewDecision):
    """A decision on an extracted fact, submitted with the form on its page."""


def find_file(facts: str, bench: Bench) -> ExtractedFile:
    """Return the extraction with this name, with its decisions up to date."""
    found = bench.extractions.get(facts)
    if found is None:
        raise not_found(f"Extraction {facts!r} not found.")
    with bench.database.reading() as connection:
        found.index.follow(connection)
    return found


FileParam = Annotated[ExtractedFile, Depends(find_file)]
IdsParam = Annotated[FactIds, Depends()]
ReviewQueryParam = Annotated[ReviewQuery, Query()]
ReviewWithinParam = Annotated[ReviewQuery, Depends(ReviewQuery.within)]


def find_extracted(file: ExtractedFile, asked: FactIds) -> int:
    """Return the index of the fact; not found (404) if the file does not have it."""
    row = file.index.find(asked.fact)
    if row is None:
        raise not_found(f"Fact not found in {file.name}.")
    return row


@api.get("")
def get_extractions(bench: Bench) -> list[ExtractionResponse]:
    """Return the open extractions."""
    tables = {name: find_file(name, bench).index for name in bench.extractions}
    return [
        ExtractionResponse(name=name, num_facts=table.num_facts, num_decided=table.num_decided)
        for name, table in tables.items()
    ]


@api.get("/{facts}")
def get_extracted_facts(file: FileParam, query: ReviewQueryParam) -> TablePage[ReviewRow]:
    """Return one page of the table of extracted facts."""
    return file.index.page(query)


@api.get("/{facts}/fact")
def get_extracted_fact(bench: Bench, file: FileParam, asked: IdsParam) -> ExtractedFactResponse:
    """Return one fact with its quotes."""
    fact = file.fact(find_extracted(file, asked))
    with bench.database.reading() as connection:
        decided = decision_on(connection, asked.fact)
    made = {
        "quotes": [quote_response(each) for each in sorted(fact.quotes, key=lambda each: each.rank)],
        "support": support_response(fact, file.threshold_of(fact.relation)),
        "decision": decided.decision if decided else "",
    }
    return ExtractedFactResponse(**{**vars(fact), **made})


@api.post("/{facts}/decisions")
def post_review_decision(bench: Bench, who: Who, file: FileParam, given: ReviewDecision) -> None:
    """Save a decision, replacing the previous one."""
    _save(bench, who, file, given)


@pages.get("/review")
def first_file(bench: Bench) -> Response:
    """Redirect to the first extraction."""
    if not bench.extractions:
        raise not_found("No extraction is open; open one with `sayso serve --facts`.")
    return RedirectResponse(f"/review/{quote(next(iter(bench.extractions)), safe='')}", HTTPStatus.SEE_OTHER)


@pages.get("/review/{facts}")
def list_page(render: Render, file: FileParam, query: ReviewQueryParam) -> Response:
    """Show one page of the table of extracted facts."""
    # Facts decided while working through this list stay in it.
    within = query.link(page=1, since=file.index.last_event)
    found = file.index.page(query)
    return render("review/list.html", file=file, query=query, found=found, within=within, presets=PRESETS)


@pages.get("/review/{facts}/fact")
def fact_page(render: Render, bench: Bench, file: FileParam, asked: IdsParam, query: ReviewWithinParam) -> Response:
    """Show one fact with its quotes."""
    row = find_extracted(file, asked)
    fact = file.fact(row)
    with bench.database.reading() as connection:
        decision = decision_on(connection, asked.fact)
    number = bench.relation_numbers.get(asked.relation)
    return render(
        "review/fact.html",
        file=file,
        asked=asked,
        fact=fact,
        support=support_response(fact, file.threshold_of(fact.relation)),
        definition="" if number is None else bench.store.relations[number].definition,
        instead=_named(bench, fact.contradicts),
        shown=view_extracted(fact),
        query=query,
        within=query.link(page=1),
        position=file.index.position(row, query),
        decision=decision,
    )


@pages.post("/review/{facts}/decide")
def decide_form(bench: Bench, who: Who, file: FileParam, given: Annotated[ReviewDecisionForm, Form()]) -> Response:
    """Save a decision and show the fact again."""
    _save(bench, who, file, given)
    return RedirectResponse(review_url(file.name, given.fact, given.within), HTTPStatus.SEE_OTHER)


def _save(bench: Workbench, who: Annotator, file: ExtractedFile, given: ReviewDecision) -> None:
    fact = file.fact(find_extracted(file, given))
    save(bench, who, given, fact, fact.status == "known")


def _named(bench: Workbench, ids: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (id, name) of each entity; the name is empty if the store does not have it."""
    entities = bench.store.entities
    rows = pc.index_in(pa.array(ids, entities["id"].type), value_set=entities["id"]).to_pylist()
    return [(each, "" if row is None else entities["name"][row].as_py()) for each, row in zip(ids, rows, strict=True)]
