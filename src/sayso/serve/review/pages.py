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
from sayso.serve.decide import GivenDecision, save
from sayso.serve.errors import not_found
from sayso.serve.fact_schemas import FoundAnswer, FoundFileAnswer, found_answer, found_file_answer
from sayso.serve.fact_table import PAGE_SIZE
from sayso.serve.fact_view import show_found, support_text
from sayso.serve.render import page
from sayso.serve.review.file import FoundFile
from sayso.serve.review.table import PRESETS, FoundPage, FoundQuery, FoundRow
from sayso.serve.workbench import Workbench

MAX_ID = 2_000
"""Characters; an id may be a web address."""

_Id = Annotated[str, Query(max_length=MAX_ID)]


def find_file(facts: str, bench: Bench) -> FoundFile:
    """Return the facts of this name, which know what was decided up to now."""
    found = bench.found.get(facts)
    if found is None:
        raise not_found(f"Extraction {facts!r} not found.")
    with bench.database.reading() as connection:
        found.index.decided.follow(connection)
    return found


def asked_fact(head: _Id, relation: Annotated[str, Query(max_length=500)], tail: _Id) -> Triple:
    """Return the fact that the address names by its ids."""
    return Triple(head, relation, tail)


def find_found(file: FoundFile, asked: Triple) -> int:
    """Return the row of the fact."""
    row = file.index.decided.find(asked)
    if row is None:
        raise not_found(f"{file.name} does not have this fact.")
    return row


def within_found(within: Annotated[str, Query(max_length=2_000)] = "") -> FoundQuery:
    """Return the facts among which one is looked at."""
    return FoundQuery.within(within)


def found_address(facts: str, fact: Triple, within: str = "") -> str:
    """Return where a fact of an extraction is shown."""
    values = {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id}
    return f"/review/{quote(facts, safe='')}/fact?{urlencode(values | ({'within': within} if within else {}))}"


AskedFile = Annotated[FoundFile, Depends(find_file)]
AskedFound = Annotated[Triple, Depends(asked_fact)]
WantedFound = Annotated[FoundQuery, Query()]
WithinFound = Annotated[FoundQuery, Depends(within_found)]


class FoundName(BaseModel):
    """A fact of an extraction, by its ids."""

    head: Annotated[str, Field(max_length=MAX_ID)]
    relation: Annotated[str, Field(max_length=500)]
    tail: Annotated[str, Field(max_length=MAX_ID)]

    @property
    def fact(self) -> Triple:
        """The fact."""
        return Triple(self.head, self.relation, self.tail)


class FoundDecision(FoundName, GivenDecision):
    """What is decided about a fact of an extraction; `withdrawn` leaves it undecided again."""


def save_found_decision(bench: Workbench, who: Annotator, file: FoundFile, given: FoundDecision) -> None:
    """Save what somebody decides about a fact of an extraction."""
    fact = file.fact(find_found(file, given.fact))
    save(bench, who, given.fact, given, lambda decision, reason: fact.decided(decision, who.name, now(), reason))


api = APIRouter(prefix="/api/review", tags=["found"])


@api.get("")
def get_files(bench: Bench) -> list[FoundFileAnswer]:
    """Return the files of facts that are open."""
    return [found_file_answer(find_file(name, bench)) for name in bench.found]


@api.get("/{facts}")
def get_found(file: AskedFile, query: WantedFound) -> FoundPage:
    """Return one page of the facts that are asked for, sorted and filtered."""
    return file.index.page(query)


@api.get("/{facts}/fact")
def get_found_fact(bench: Bench, file: AskedFile, asked: AskedFound) -> FoundAnswer:
    """Return one fact with its quotes."""
    fact = file.fact(find_found(file, asked))
    with bench.database.reading() as connection:
        decided = decision_on(connection, asked)
    return found_answer(fact, file.threshold, decided.decision if decided else "")


@api.post("/{facts}/decisions")
def post_found_decision(bench: Bench, who: Who, file: AskedFile, given: FoundDecision) -> None:
    """Save a decision on a fact; it takes the place of the one before."""
    save_found_decision(bench, who, file, given)


pages = APIRouter(include_in_schema=False)


class FoundForm(FoundDecision):
    """A decision as the page of a fact sends it: no key, because a browser sends a form once; and the way back."""

    key: str = Field(default_factory=lambda: secrets.token_hex(8))
    within: Annotated[str, Field(max_length=2_000)] = ""


@pages.get("/review")
def first_file(bench: Bench) -> Response:
    """Go to the facts of the first file."""
    if not bench.found:
        raise not_found("No extraction is open; open one with `sayso serve --facts`.")
    return RedirectResponse(f"/review/{quote(next(iter(bench.found)), safe='')}", HTTPStatus.SEE_OTHER)


@pages.get("/review/{facts}")
def list_page(request: Request, bench: Bench, file: AskedFile, query: WantedFound) -> Response:
    """Show one page of the facts that were asked for."""
    found = file.index.page(query)
    # Whoever goes through this list meets its facts, also those that are decided on the way.
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
        "review/fact.html",
        section="review",
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


@pages.post("/review/{facts}/decide")
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
