"""Agreement, disagreements of closed facts, and settling them."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from sayso.annotate.agreement import AgreementReport, report, submitted_marks
from sayso.annotate.disagreement import Disagreement, disagreements, settle, undo_settling
from sayso.annotate.queue import read_settings
from sayso.serve.api.forms import FactName, FactStep, Label, Turn, UndoStep
from sayso.serve.bag_fact import bag_fact_of, find_bag_fact
from sayso.serve.deps import Bench, Who
from sayso.serve.errors import RequestError

router = APIRouter(prefix="/api/agreement", tags=["agree"])


class DisputedFact(FactName):
    """A closed fact with the sentences that people have marked differently."""

    head_name: str
    tail_name: str
    sentences: list[Disagreement]


class Settling(FactStep):
    """What a sentence, by its place in the bag, is settled as; the empty label opens it again."""

    sentence: Annotated[int, Field(ge=0)]
    label: Label


@router.get("")
def get_agreement(bench: Bench) -> AgreementReport:
    """Return the agreement of everybody on what they have submitted."""
    with bench.database.reading() as connection:
        return report(submitted_marks(connection))


@router.get("/disagreements")
def get_disagreements(bench: Bench, _: Who) -> list[DisputedFact]:
    """Return the disputed facts."""
    with bench.database.reading() as connection:
        found = disagreements(connection, read_settings(connection).annotators_per_fact)
    shown = ((bag_fact_of(bench, fact), sentences) for fact, sentences in found.items())
    return [
        DisputedFact(
            bag=fact.number,
            relation=fact.relation.name,
            head_name=fact.head_name,
            tail_name=fact.tail_name,
            sentences=sentences,
        )
        for fact, sentences in shown
        if fact
    ]


@router.post("/settle")
def post_settling(bench: Bench, who: Who, given: Settling) -> None:
    """Settle what a disputed sentence is."""
    shown = find_bag_fact(bench, given.bag, given.relation)
    text = shown.text(given.sentence)
    with bench.database.writing() as connection:
        disputed = disagreements(connection, read_settings(connection).annotators_per_fact).get(shown.fact, [])
        if text not in {each.sentence for each in disputed}:
            raise RequestError(HTTPStatus.CONFLICT, "There is nothing to settle about this sentence.")
        settle(connection, who, shown.fact, text, given.label, given.key)


@router.post("/undo")
def post_undo(bench: Bench, who: Who, given: UndoStep) -> Turn:
    """Take back what one has settled last, on one fact or on any; return the fact it was on."""
    asked = find_bag_fact(bench, given.fact.bag, given.fact.relation).fact if given.fact else None
    with bench.database.writing() as connection:
        fact = undo_settling(connection, who, given.key, bench.has_fact, asked)
    shown = bag_fact_of(bench, fact) if fact else None
    return Turn(fact=FactName(bag=shown.number, relation=shown.relation.name) if shown else None)
