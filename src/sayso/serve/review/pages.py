"""The pages of Found: the facts of an extraction as a table, and one fact with its quotes and what is decided."""

import secrets
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Form, Request
from pydantic import Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import decision_on
from sayso.records import Triple
from sayso.serve.deps import Bench, Who
from sayso.serve.errors import not_found
from sayso.serve.predictions.table import PAGE_SIZE
from sayso.serve.render import page
from sayso.serve.review.answers import FoundDecision
from sayso.serve.review.decide import save_found_decision
from sayso.serve.review.deps import AskedFile, AskedFound, WantedFound, WithinFound, find_found, found_address
from sayso.serve.review.index import FoundRow
from sayso.serve.review.query import PRESETS
from sayso.serve.review.shown import show_found, support_text
from sayso.serve.state import Workbench

router = APIRouter(include_in_schema=False)


class FoundForm(FoundDecision):
    """A decision as the page of a fact sends it: no key, because a browser sends a form once; and the way back."""

    key: str = Field(default_factory=lambda: secrets.token_hex(8))
    within: Annotated[str, Field(max_length=2_000)] = ""


@router.get("/found")
def first_file(bench: Bench) -> Response:
    """Go to the facts of the first file."""
    if not bench.found:
        raise not_found("No extraction is open: `sayso serve --facts` names one.")
    return RedirectResponse(f"/found/{quote(next(iter(bench.found)), safe='')}", HTTPStatus.SEE_OTHER)


@router.get("/found/{facts}")
def list_page(request: Request, bench: Bench, file: AskedFile, query: WantedFound) -> Response:
    """Show one page of the facts that were asked for."""
    found = file.index.page(query)
    # Whoever goes through this list meets its facts, also those that are decided on the way.
    within = query.link(page=1, since=file.index.decided.last_event)
    return page(
        request,
        "found/list.html",
        section="found",
        file=file,
        files=list(bench.found),
        query=query,
        found=found,
        first=(found.page - 1) * PAGE_SIZE + 1,
        presets=PRESETS,
        address=lambda row: _address(file.name, row, within),
    )


@router.get("/found/{facts}/fact")
def fact_page(request: Request, bench: Bench, file: AskedFile, asked: AskedFound, query: WithinFound) -> Response:
    """Show one fact with its quotes."""
    row = find_found(file, asked)
    fact = file.fact(row)
    with bench.database.reading() as connection:
        decision = decision_on(connection, asked)
    number = bench.relation_numbers.get(asked.relation)
    within = query.link(page=1)
    return page(
        request,
        "found/fact.html",
        section="found",
        file=file,
        asked=asked,
        fact=fact,
        support={**fact.support._asdict(), "text": support_text(fact, file.threshold)},
        definition="" if number is None else bench.store.relations[number].definition,
        instead=_named(bench, fact.contradicts),
        shown=show_found(fact),
        query=query,
        within=within,
        place=file.index.place(row, query),
        decision=decision,
        address=lambda row: _address(file.name, row, within),
    )


@router.post("/found/{facts}/decide")
def decide_form(bench: Bench, who: Who, file: AskedFile, given: Annotated[FoundForm, Form()]) -> Response:
    """Save a decision and show the fact again."""
    save_found_decision(bench, who, file, given)
    return RedirectResponse(found_address(file.name, given.fact, given.within), HTTPStatus.SEE_OTHER)


def _address(facts: str, row: FoundRow, within: str) -> str:
    return found_address(facts, Triple(row.head_id, row.relation, row.tail_id), within)


def _named(bench: Workbench, ids: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return entities by id with their names, those that the store knows."""
    entities = bench.store.entities
    rows = pc.index_in(pa.array(ids, entities["id"].type), value_set=entities["id"]).to_pylist()
    return [(each, "" if row is None else entities["name"][row].as_py()) for each, row in zip(ids, rows, strict=True)]
