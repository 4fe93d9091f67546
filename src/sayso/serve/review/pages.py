"""The review pages: extracted facts as a table, one fact with its quotes and decision; pages and JSON API."""

import secrets
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote, urlencode

import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import decision_on
from sayso.annotate.people import Annotator, now
from sayso.records import Triple
from sayso.serve.access import Bench, Who
from sayso.serve.decide import DecisionRequest, save
from sayso.serve.errors import not_found
from sayso.serve.fact_schemas import (
    ExtractedFactResponse,
    ExtractionResponse,
    extracted_fact_response,
    extraction_response,
)
from sayso.serve.fact_table import PAGE_SIZE, TablePage
from sayso.serve.fact_view import support_text, view_extracted
from sayso.serve.render import page
from sayso.serve.review.file import ExtractedFile
from sayso.serve.review.table import PRESETS, ReviewQuery, ReviewRow
from sayso.serve.workbench import Workbench

MAX_ID = 2_000
"""In characters; an id may be a URL."""

_Id = Annotated[str, Query(max_length=MAX_ID)]


def find_file(facts: str, bench: Bench) -> ExtractedFile:
    """Return the extraction of this name, with its decisions up to date."""
    found = bench.found.get(facts)
    if found is None:
        raise not_found(f"Extraction {facts!r} not found.")
    with bench.database.reading() as connection:
        found.index.decided.follow(connection)
    return found


def triple_param(head: _Id, relation: Annotated[str, Query(max_length=500)], tail: _Id) -> Triple:
    """Return the fact that the URL names by its ids."""
    return Triple(head, relation, tail)


def find_extracted(file: ExtractedFile, asked: Triple) -> int:
    """Return the index of the fact; not found (404) if the file does not have it."""
    row = file.index.decided.find(asked)
    if row is None:
        raise not_found(f"{file.name} does not have this fact.")
    return row


def review_within(within: Annotated[str, Query(max_length=2_000)] = "") -> ReviewQuery:
    """Return the query of the list that the fact was opened from."""
    return ReviewQuery.within(within)


def review_url(facts: str, fact: Triple, within: str = "") -> str:
    """Return the page of an extracted fact."""
    values = {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id}
    return f"/review/{quote(facts, safe='')}/fact?{urlencode(values | ({'within': within} if within else {}))}"


FileParam = Annotated[ExtractedFile, Depends(find_file)]
TripleParam = Annotated[Triple, Depends(triple_param)]
ReviewQueryParam = Annotated[ReviewQuery, Query()]
ReviewWithinParam = Annotated[ReviewQuery, Depends(review_within)]


class FactIds(BaseModel):
    """An extracted fact, by its ids."""

    head: Annotated[str, Field(max_length=MAX_ID)]
    relation: Annotated[str, Field(max_length=500)]
    tail: Annotated[str, Field(max_length=MAX_ID)]

    @property
    def fact(self) -> Triple:
        """The fact."""
        return Triple(self.head, self.relation, self.tail)


class ReviewDecision(FactIds, DecisionRequest):
    """A decision on an extracted fact; `withdrawn` deletes the decision."""


def save_review_decision(bench: Workbench, who: Annotator, file: ExtractedFile, given: ReviewDecision) -> None:
    """Save a decision on an extracted fact."""
    fact = file.fact(find_extracted(file, given.fact))
    save(bench, who, given.fact, given, lambda decision, reason: fact.decided(decision, who.name, now(), reason))


api = APIRouter(prefix="/api/review", tags=["found"])


@api.get("")
def get_files(bench: Bench) -> list[ExtractionResponse]:
    """Return the open extractions."""
    return [extraction_response(find_file(name, bench)) for name in bench.found]


@api.get("/{facts}")
def get_found(file: FileParam, query: ReviewQueryParam) -> TablePage[ReviewRow]:
    """Return one page of the table of extracted facts."""
    return file.index.page(query)


@api.get("/{facts}/fact")
def get_found_fact(bench: Bench, file: FileParam, asked: TripleParam) -> ExtractedFactResponse:
    """Return one fact with its quotes."""
    fact = file.fact(find_extracted(file, asked))
    with bench.database.reading() as connection:
        decided = decision_on(connection, asked)
    return extracted_fact_response(fact, file.threshold, decided.decision if decided else "")


@api.post("/{facts}/decisions")
def post_found_decision(bench: Bench, who: Who, file: FileParam, given: ReviewDecision) -> None:
    """Save a decision, replacing the previous one."""
    save_review_decision(bench, who, file, given)


pages = APIRouter(include_in_schema=False)


class ReviewDecisionForm(ReviewDecision):
    """A decision sent by a page: without a key, because a browser sends a form once."""

    key: str = Field(default_factory=lambda: secrets.token_hex(8))
    within: Annotated[str, Field(max_length=2_000)] = ""


@pages.get("/review")
def first_file(bench: Bench) -> Response:
    """Redirect to the first extraction."""
    if not bench.found:
        raise not_found("No extraction is open; open one with `sayso serve --facts`.")
    return RedirectResponse(f"/review/{quote(next(iter(bench.found)), safe='')}", HTTPStatus.SEE_OTHER)


@pages.get("/review/{facts}")
def list_page(request: Request, bench: Bench, file: FileParam, query: ReviewQueryParam) -> Response:
    """Show one page of the table of extracted facts."""
    found = file.index.page(query)
    # Facts decided while working through this list stay in it.
    within = query.link(page=1, since=file.index.decided.last_event)
    return page(
        request,
        "review/list.html",
        section="review",
        file=file,
        files=list(bench.found),
        query=query,
        found=found,
        first=(found.page - 1) * PAGE_SIZE + 1,
        presets=PRESETS,
        address=lambda row: _address(file.name, row, within),
    )


@pages.get("/review/{facts}/fact")
def fact_page(
    request: Request, bench: Bench, file: FileParam, asked: TripleParam, query: ReviewWithinParam
) -> Response:
    """Show one fact with its quotes."""
    row = find_extracted(file, asked)
    fact = file.fact(row)
    with bench.database.reading() as connection:
        decision = decision_on(connection, asked)
    number = bench.relation_numbers.get(asked.relation)
    within = query.link(page=1)
    return page(
        request,
        "review/fact.html",
        section="review",
        file=file,
        asked=asked,
        fact=fact,
        support={**fact.support._asdict(), "text": support_text(fact, file.threshold)},
        definition="" if number is None else bench.store.relations[number].definition,
        instead=_named(bench, fact.contradicts),
        shown=view_extracted(fact),
        query=query,
        within=within,
        position=file.index.position(row, query),
        decision=decision,
        address=lambda row: _address(file.name, row, within),
    )


@pages.post("/review/{facts}/decide")
def decide_form(bench: Bench, who: Who, file: FileParam, given: Annotated[ReviewDecisionForm, Form()]) -> Response:
    """Save a decision and show the fact again."""
    save_review_decision(bench, who, file, given)
    return RedirectResponse(review_url(file.name, given.fact, given.within), HTTPStatus.SEE_OTHER)


def _address(facts: str, row: ReviewRow, within: str) -> str:
    return review_url(facts, Triple(row.head_id, row.relation, row.tail_id), within)


def _named(bench: Workbench, ids: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the names of entities by id, empty for those the store does not have."""
    entities = bench.store.entities
    rows = pc.index_in(pa.array(ids, entities["id"].type), value_set=entities["id"]).to_pylist()
    return [(each, "" if row is None else entities["name"][row].as_py()) for each, row in zip(ids, rows, strict=True)]
