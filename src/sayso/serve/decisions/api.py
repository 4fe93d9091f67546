"""Decisions as JSON, and the files made from them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from sayso.annotate.decisions import DecisionFilter, decisions, readable, undo_decision
from sayso.facts.decided import DecidedFact, FactDecision
from sayso.facts.forms import FormName
from sayso.serve.api.forms import Step
from sayso.serve.decisions.decide import DecisionStep, save_decision
from sayso.serve.decisions.files import decided_file
from sayso.serve.decisions.pages import undone_link
from sayso.serve.deps import Bench, Who
from sayso.serve.predictions.answers import QuoteAnswer, quote_answer

router = APIRouter(prefix="/api/decisions", tags=["curate"])

MAX_LISTED = 1_000


@dataclass(frozen=True, kw_only=True)
class DecisionAnswer(FactDecision):
    """A decided fact, and all that the person who decided has seen."""

    quotes: list[QuoteAnswer]


class UndoStep(Step):
    """The wish to take back a decision; its fact is then shown among `facts` and `within` a list, if they have it."""

    facts: Annotated[str, Field(max_length=300)] = ""
    within: Annotated[str, Field(max_length=2_000)] = ""


class UndoneDecision(BaseModel):
    """The fact whose decision was taken back, empty where there was none; `link` is the page to go to."""

    head_id: str = ""
    relation: str = ""
    tail_id: str = ""
    link: str


@router.get("")
def get_decisions(
    bench: Bench,
    decision: Literal["", "accepted", "rejected", "needs_evidence"] = "",
    relation: Annotated[str, Query(max_length=500)] = "",
    annotator: Annotated[str, Query(max_length=100)] = "",
    q: Annotated[str, Query(max_length=200)] = "",
    first: Annotated[int, Query(ge=0, le=2**53)] = 0,
    num: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 100,
) -> list[DecisionAnswer]:
    """Return decisions, the latest first; those that are damaged are left out."""
    wanted = DecisionFilter(decision=decision, relation=relation, annotator=annotator, q=q)
    with bench.database.reading() as connection:
        return [_answer(each) for each in readable(decisions(connection, wanted, first, num))[0]]


@router.post("")
def post_decision(bench: Bench, who: Who, given: DecisionStep) -> None:
    """Save a decision; it takes the place of the one before."""
    save_decision(bench, who, given)


@router.post("/undo")
def post_undo(bench: Bench, who: Who, given: UndoStep) -> UndoneDecision:
    """Take back one's last decision."""
    with bench.database.writing() as connection:
        fact = undo_decision(connection, who, given.key)
    link = undone_link(bench, fact, given.facts, given.within)
    return UndoneDecision(**(fact._asdict() if fact else {}), link=link)


@router.get("/files/{form}", response_class=Response)
def get_file(bench: Bench, form: FormName) -> Response:
    """Return the decided facts as a file: JSON-LD or CSV of the accepted, or JSON lines of the decisions."""
    return decided_file(bench, form)


def _answer(decided: DecidedFact) -> DecisionAnswer:
    return DecisionAnswer(**{**vars(decided), "quotes": [quote_answer(each) for each in decided.quotes]})
