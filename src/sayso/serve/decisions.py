"""Decisions: the list with filters, forms to decide and undo, and files for a knowledge base; pages and JSON API."""

import secrets
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import (
    DAMAGED,
    DecisionFilter,
    count_decisions,
    curators,
    decisions,
    readable,
    undo_decision,
)
from sayso.errors import BadInputError
from sayso.facts.export import FORMS, FormName
from sayso.facts.fact import DecidedFact
from sayso.records import Triple
from sayso.serve.access import Bench, Who
from sayso.serve.annotate.schemas import KeyedRequest
from sayso.serve.decide import PredictionDecision, save_decision
from sayso.serve.fact_schemas import QuoteResponse, quote_response
from sayso.serve.predictions.lookup import prediction_url
from sayso.serve.render import page
from sayso.serve.review.pages import review_url
from sayso.serve.workbench import Workbench


def decided_file(bench: Workbench, form: FormName) -> Response:
    """Return the decided facts as a file."""
    chosen = FORMS[form]
    with bench.database.reading() as connection:
        facts, _ = readable(decisions(connection))
    facts, _ = chosen.keep(facts)
    headers = {"Content-Disposition": f'attachment; filename="{chosen.file_name}"'}
    return Response(chosen.write(facts), media_type=chosen.media_type, headers=headers)


pages = APIRouter(include_in_schema=False)

PAGE_SIZE = 50


class PredictionDecisionForm(PredictionDecision):
    """A decision sent by a page: without a key, because a browser sends a form once."""

    key: str = Field(default_factory=lambda: secrets.token_hex(8))
    within: Annotated[str, Field(max_length=2_000)] = ""


@pages.get("/decisions")
def list_page(
    request: Request,
    bench: Bench,
    decision: Literal["", "accepted", "rejected", "needs_evidence"] = "",
    relation: Annotated[str, Query(max_length=500)] = "",
    annotator: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    number: Annotated[int, Query(alias="page", ge=1, le=10_000_000)] = 1,
    undone: Literal["", "elsewhere", "nothing"] = "",
) -> Response:
    """Show all decisions, latest first."""
    wanted = DecisionFilter(decision=decision, relation=relation, annotator=annotator, q=q)
    with bench.database.reading() as connection:
        totals = count_decisions(connection)
        num_found = sum(count_decisions(connection, wanted).values())
        num_pages = max(1, ceil(num_found / PAGE_SIZE))
        number = min(number, num_pages)
        rows, damaged = readable(decisions(connection, wanted, (number - 1) * PAGE_SIZE, PAGE_SIZE))
        names = curators(connection)
    asked = {name: value for name, value in vars(wanted).items() if value}
    return page(
        request,
        "decisions/list.html",
        section="decisions",
        wanted=wanted,
        rows=[(row, fact_link(bench, row.run, Triple(row.head_id, row.relation, row.tail_id))) for row in rows],
        totals={name: num for name, num in totals.items() if name != DAMAGED},
        damaged=[(each, fact_link(bench, "", each.fact)) for each in damaged],
        num_found=num_found,
        number=number,
        num_pages=num_pages,
        curators=names,
        relations=[each.name for each in bench.store.relations],
        forms=FORMS,
        page_link=lambda other: "/decisions?" + urlencode({**asked, "page": other}),
        undone=undone,
        first_run=next(iter(bench.explored), ""),
        first_found=next(iter(bench.found), ""),
    )


@pages.post("/decisions/decide")
def decide_form(
    bench: Bench,
    who: Who,
    given: Annotated[PredictionDecisionForm, Form()],
) -> Response:
    """Save a decision and show the fact again."""
    save_decision(bench, who, given)
    address = prediction_url(given.run, given.bag, given.relation, within=given.within)
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)


@pages.post("/decisions/undo")
def undo_form(
    bench: Bench,
    who: Who,
    facts: Annotated[str, Form(max_length=300)] = "",
    within: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Undo the person's last decision and show its fact, or say that no open run or extraction has it.

    The fact is shown in the extraction `facts` if that has it. Unlike marks, decisions of all parts are listed and
    exported together, so they are undone together.
    """
    with bench.database.writing() as connection:
        fact = undo_decision(connection, who, secrets.token_hex(8))
    return RedirectResponse(undone_link(bench, fact, facts, within), HTTPStatus.SEE_OTHER)


@pages.get("/decisions/files/{form}")
def file(bench: Bench, form: FormName) -> Response:
    """Return the decided facts as a file."""
    return decided_file(bench, form)


def undone_link(bench: Workbench, fact: Triple | None, facts: str, within: str) -> str:
    """Return the page of the fact whose decision was undone, or the page that says there is none."""
    link = fact and (review_link(bench, fact, facts, within) or fact_link(bench, "", fact))
    return link or ("/decisions?undone=elsewhere" if fact else "/decisions?undone=nothing")


def fact_link(bench: Workbench, run: str, fact: Triple) -> str:
    """Return the page of a fact in its run, in another run or in an extraction; empty if none has it."""
    bag = bench.bag_of_pair.get((fact.head_id, fact.tail_id))
    if bag is None:
        return _first_review_link(bench, fact)
    names = [run, *bench.explored] if run in bench.explored else list(bench.explored)
    having = (name for name in names if bench.explored[name].index.find(bag, fact.relation) is not None)
    name = next(having, "")
    return prediction_url(name, bag, fact.relation) if name else _first_review_link(bench, fact)


def review_link(bench: Workbench, fact: Triple, facts: str, within: str = "") -> str:
    """Return the page of a fact in an extraction; empty if that does not have the fact or cannot be read."""
    try:
        is_there = facts in bench.found and bench.found[facts].index.decided.find(fact) is not None
    except BadInputError:
        return ""
    return review_url(facts, fact, within) if is_there else ""


def _first_review_link(bench: Workbench, fact: Triple) -> str:
    return next(filter(None, (review_link(bench, fact, name) for name in bench.found)), "")


api = APIRouter(prefix="/api/decisions", tags=["curate"])

MAX_LISTED = 1_000


@dataclass(frozen=True, kw_only=True)
class DecisionResponse(DecidedFact):
    """A decided fact, with the quotes that the person saw."""

    quotes: list[QuoteResponse]  # type: ignore[assignment]


class UndoDecisionRequest(KeyedRequest):
    """Undo a decision; its fact is then shown in the extraction `facts`, in the list `within`, if it has it."""

    facts: Annotated[str, Field(max_length=300)] = ""
    within: Annotated[str, Field(max_length=2_000)] = ""


class UndoneDecision(BaseModel):
    """The fact whose decision was undone, empty if there was none; `link` is the page to go to."""

    head_id: str = ""
    relation: str = ""
    tail_id: str = ""
    link: str


@api.get("")
def get_decisions(
    bench: Bench,
    decision: Literal["", "accepted", "rejected", "needs_evidence"] = "",
    relation: Annotated[str, Query(max_length=500)] = "",
    annotator: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    first: Annotated[int, Query(ge=0, le=2**53)] = 0,
    num: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 100,
) -> list[DecisionResponse]:
    """Return decisions, latest first; damaged ones are left out."""
    wanted = DecisionFilter(decision=decision, relation=relation, annotator=annotator, q=q)
    with bench.database.reading() as connection:
        return [_answer(each) for each in readable(decisions(connection, wanted, first, num))[0]]


@api.post("")
def post_decision(bench: Bench, who: Who, given: PredictionDecision) -> None:
    """Save a decision, replacing the previous one."""
    save_decision(bench, who, given)


@api.post("/undo")
def post_undo(bench: Bench, who: Who, given: UndoDecisionRequest) -> UndoneDecision:
    """Undo your last decision."""
    with bench.database.writing() as connection:
        fact = undo_decision(connection, who, given.key)
    link = undone_link(bench, fact, given.facts, given.within)
    return UndoneDecision(**(fact._asdict() if fact else {}), link=link)


@api.get("/files/{form}", response_class=Response)
def get_file(bench: Bench, form: FormName) -> Response:
    """Return the decided facts as a file: JSON-LD or CSV of accepted facts, or all decisions as JSON lines."""
    return decided_file(bench, form)


def _answer(decided: DecidedFact) -> DecisionResponse:
    return DecisionResponse(**{**vars(decided), "quotes": [quote_response(each) for each in decided.quotes]})
