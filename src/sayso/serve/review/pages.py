"""Review: a table of extracted facts, and one fact with its quotes and decision; pages and JSON API."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Annotated, Literal, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import decide_quote, withdraw_quote
from sayso.annotate.people import Annotator, now
from sayso.facts.fact import ExtractedFact
from sayso.facts.quote import QuoteDecisionName
from sayso.serve.access import Bench, Decider
from sayso.serve.annotate.schemas import KeyedRequest, Prose, StrictModel
from sayso.serve.decisions import MAX_ID, MAX_REASON, DecisionRequest, FactIds, SentByForm, save
from sayso.serve.fact_table import TablePage
from sayso.serve.fact_view import (
    QuoteResponse,
    RemainingSupport,
    SupportResponse,
    quote_response,
    remaining_support,
    support_response,
    view_extracted,
)
from sayso.serve.responses import Render, not_found, review_url
from sayso.serve.review.file import ExtractedFile
from sayso.serve.review.table import PRESETS, ReviewQuery, ReviewRow, ReviewTable
from sayso.serve.workbench import Workbench
from sayso.store.columns import names_of

api = APIRouter(prefix="/api/review", tags=["review"])
pages = APIRouter(include_in_schema=False)

MAX_TOGETHER = 1_000
"""The number of facts that one request can decide on."""
MAX_DOCUMENT, MAX_SENTENCE = 200_000, 200_000
"""The number of characters of a document that a page shows, and of a sentence that can be decided on."""


class ExtractionResponse(BaseModel):
    """An open file of facts: its name in URLs, and how many of its facts are decided."""

    name: str
    num_facts: int
    num_decided: int


@dataclass(frozen=True, kw_only=True)
class ExtractedFactResponse(ExtractedFact):
    """A fact with its quotes in rank order; `contradicts` are the tails in the knowledge base instead.

    `remaining` is what the prediction rests on without the rejected quotes, null if none is rejected.
    """

    support: SupportResponse  # type: ignore[assignment]
    quotes: list[QuoteResponse]  # type: ignore[assignment]
    decision: str
    remaining: RemainingSupport | None


class ReviewDecision(FactIds, DecisionRequest):
    """A decision on an extracted fact; `withdrawn` deletes the decision."""


class TogetherDecision(DecisionRequest, StrictModel):
    """One decision on several extracted facts, which is undone as a whole."""

    facts: Annotated[list[FactIds], Field(min_length=1, max_length=MAX_TOGETHER)]


class QuoteDecision(FactIds, KeyedRequest, StrictModel):
    """A decision on one quote of an extracted fact; `withdrawn` deletes the decision.

    The quote is identified by its sentence: a rank may be that of another one after the next extraction.
    """

    sentence: Annotated[str, Field(min_length=1, max_length=MAX_SENTENCE)]
    decision: QuoteDecisionName | Literal["withdrawn"]
    reason: Annotated[Prose, Field(max_length=MAX_REASON)] = ""


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
    with bench.database.reading() as connection:
        fact, decided = file.fact_with_decisions(find_extracted(file, asked), connection)
    threshold = file.threshold_of(fact.relation)
    made = {
        "quotes": [quote_response(each) for each in sorted(fact.quotes, key=lambda each: each.rank)],
        "support": support_response(fact, threshold),
        "decision": decided.decision if decided else "",
        "remaining": remaining_support(fact, threshold),
    }
    return ExtractedFactResponse(**{**vars(fact), **made})


@api.post("/{facts}/decisions")
def post_review_decision(bench: Bench, who: Decider, file: FileParam, given: ReviewDecision) -> None:
    """Save a decision, replacing the previous one."""
    _save(bench, who, file, given, [given])


@api.post("/{facts}/decisions/together")
def post_decisions_together(bench: Bench, who: Decider, file: FileParam, given: TogetherDecision) -> None:
    """Save one decision on several facts; one undo restores all of them."""
    _save(bench, who, file, given, given.facts)


@api.post("/{facts}/quotes")
def post_quote_decision(bench: Bench, who: Decider, file: FileParam, given: QuoteDecision) -> None:
    """Save a decision on one quote, replacing the previous one; it is undone like a decision on a fact."""
    fact = file.fact(find_extracted(file, given))
    quote = next((each for each in fact.quotes if each.sentence == given.sentence), None)
    if quote is None:
        raise not_found(f"The fact does not quote this sentence in {file.name}.")
    with bench.database.writing() as connection:
        if given.decision == "withdrawn":
            withdraw_quote(connection, who, fact.triple, quote.sentence, given.key)
            return
        decided = fact.quote_decided(quote, given.decision, given.reason.strip(), who.name, now())
        decide_quote(connection, who, decided, given.key)


@pages.get("/review")
def first_file(request: Request, bench: Bench) -> Response:
    """Redirect to the first extraction, with the same filters."""
    if not bench.extractions:
        raise not_found("No extraction is open; open one with `sayso serve --facts`.")
    first, query = quote(next(iter(bench.extractions)), safe=""), request.url.query
    return RedirectResponse(f"/review/{first}{'?' if query else ''}{query}", HTTPStatus.SEE_OTHER)


@pages.get("/review/{facts}")
def list_page(render: Render, file: FileParam, query: ReviewQueryParam) -> Response:
    """Show one page of the table of extracted facts."""
    # Facts decided while working through this list stay in it, so that the next page starts with the next fact.
    begun = query.model_copy(update={"since": file.index.last_event if query.since is None else query.since})
    found = file.index.page(query)
    groups = _groups(file.index, query, found.rows)
    within = begun.link(page=1)
    about = {"query": query, "begun": begun, "within": within, "presets": PRESETS}
    return render("review/list.html", file=file, found=found, groups=groups, **about)


@pages.get("/review/{facts}/fact")
def fact_page(render: Render, bench: Bench, file: FileParam, asked: IdsParam, query: ReviewWithinParam) -> Response:
    """Show one fact with its quotes."""
    row = find_extracted(file, asked)
    with bench.database.reading() as connection:
        fact, decision = file.fact_with_decisions(row, connection)
    threshold = file.threshold_of(fact.relation)
    number = bench.relation_numbers.get(asked.relation)
    within, position = query.link(page=1), file.index.position(row, query)
    return render(
        "review/fact.html",
        file=file,
        asked=asked,
        fact=fact,
        support=support_response(fact, threshold),
        remaining=remaining_support(fact, threshold),
        reasons=bench.settings.reasons,
        contexts={each.rank: bench.context(each) for each in fact.quotes},
        shared=dict(zip(sorted(each.rank for each in fact.quotes), file.index.shared_sentences(row), strict=True)),
        definition="" if number is None else bench.relations[number].definition,
        instead=_named(bench, fact.contradicts),
        shown=view_extracted(fact),
        query=query,
        within=within,
        position=position,
        ahead=[review_url(file.name, each.triple, within) for each in position.ahead],
        decision=decision,
    )


@pages.get("/review/{facts}/document")
def document_page(
    render: Render,
    bench: Bench,
    file: FileParam,
    id: Annotated[str, Query(max_length=MAX_ID)],
    start: Annotated[int, Query(ge=0, le=2**53)] = 0,
    stop: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """Show the text of a document, with a quoted sentence marked."""
    text = bench.documents and bench.documents.text(id)
    if not text:
        raise not_found(f"Document {id!r} not found; `sayso serve --documents` opens the documents.")
    first = max(0, start - MAX_DOCUMENT // 2)
    pieces = (text[first:start], text[start:stop], text[max(start, stop) : first + MAX_DOCUMENT])
    is_cut = first > 0 or len(text) > first + MAX_DOCUMENT
    return render("review/document.html", file=file, document_id=id, pieces=pieces, is_cut=is_cut)


@pages.post("/review/{facts}/decide")
def decide_form(bench: Bench, who: Decider, file: FileParam, given: Annotated[ReviewDecisionForm, Form()]) -> Response:
    """Save a decision and show the fact again."""
    _save(bench, who, file, given, [given])
    return RedirectResponse(review_url(file.name, given.fact, given.within), HTTPStatus.SEE_OTHER)


def _save(
    bench: Workbench, who: Annotator, file: ExtractedFile, given: DecisionRequest, wanted: Sequence[FactIds]
) -> None:
    facts = [file.fact(find_extracted(file, each)) for each in wanted]
    save(bench, who, given, [(fact, fact.status == "known") for fact in facts])


class RowGroup(NamedTuple):
    """Consecutive rows of a table with the same pair or the same top-ranked sentence, whose text is given."""

    rows: list[ReviewRow]
    sentence: str = ""


def _groups(table: ReviewTable, query: ReviewQuery, rows: list[ReviewRow]) -> list[RowGroup]:
    if not query.group:
        return [RowGroup(rows)]
    group_F = table.group_F(query.group)
    groups = [(number, list(some)) for number, some in groupby(rows, lambda row: int(group_F[row.number]))]
    return [RowGroup(some, table.sentence_text(number) if query.group == "sentence" else "") for number, some in groups]


def _named(bench: Workbench, ids: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (id, name) of each entity; the name is empty if the store does not have it."""
    names = names_of(bench.store.entities, ids)
    return [(each, names.get(each, "")) for each in ids]
