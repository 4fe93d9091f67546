"""Decisions: the list with filters, forms to decide and undo, and file downloads; pages and JSON API.

A decision records the fact, who decided what and why, and the sentences shown on the page.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from http import HTTPStatus
from math import ceil
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate import decisions as stored
from sayso.annotate.log import undo
from sayso.annotate.people import Annotator, now
from sayso.errors import BadInputError
from sayso.facts.explanation import Explanation
from sayso.facts.export import FORMS, QUOTE_FORMS, FormName, QuoteForm, QuoteFormName
from sayso.facts.fact import DecidedFact, Decision, Fact, QuotedFact
from sayso.facts.quote import WRONG_ENTITY, quote_of
from sayso.records import Triple
from sayso.serve.access import Bench, Decider
from sayso.serve.annotate.schemas import KeyedRequest, Prose
from sayso.serve.fact_view import QuoteResponse, quote_response
from sayso.serve.predictions.lookup import find_fact, find_run, marks_visible
from sayso.serve.predictions.run import RunPredictions
from sayso.serve.responses import Render, download, nothing_to_export, prediction_url, review_url
from sayso.serve.workbench import FactName, Workbench

pages = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api/decisions", tags=["decisions"])

PAGE_SIZE = 50
MAX_LISTED = 1_000
MAX_QUOTES = 20
MAX_REASON = 2_000
MAX_ID = 2_000
"""In characters; an id may be a URL."""


class DecisionRequest(KeyedRequest):
    """A decision on a fact, and the reason; `withdrawn` deletes the decision."""

    decision: Decision | Literal["withdrawn"]
    reason: Annotated[Prose, Field(max_length=MAX_REASON)] = ""


class SentByForm(BaseModel):
    """Fields that a form adds: a key for this submission, and the list to return to."""

    key: str = Field(default_factory=lambda: secrets.token_hex(8))
    within: Annotated[str, Field(max_length=2_000)] = ""


class PredictionDecision(FactName, DecisionRequest):
    """A decision on a fact in a run's predictions; `withdrawn` deletes the decision."""

    run: Annotated[str, Field(max_length=300)]


class PredictionDecisionForm(SentByForm, PredictionDecision):
    """A decision on a fact in a run's predictions, submitted with the form on its page."""


@dataclass(frozen=True, kw_only=True)
class DecisionResponse(DecidedFact):
    """A decided fact, with the quotes that were shown."""

    quotes: list[QuoteResponse]  # type: ignore[assignment]


class UndoDecisionRequest(KeyedRequest):
    """Undo the last decision; then show its fact, in the list `within` if it is in the extraction `facts`."""

    facts: Annotated[str, Field(max_length=300)] = ""
    within: Annotated[str, Field(max_length=2_000)] = ""


class UndoDecisionForm(SentByForm, UndoDecisionRequest):
    """Undo a decision with the button on a page."""


class FactIds(BaseModel):
    """An extracted fact, by its ids."""

    head: Annotated[str, Field(max_length=MAX_ID)]
    relation: Annotated[str, Field(max_length=500)]
    tail: Annotated[str, Field(max_length=MAX_ID)]

    @property
    def fact(self) -> Triple:
        """The fact as a triple."""
        return Triple(self.head, self.relation, self.tail)


class RestoredDecision(FactIds):
    """A fact after an undo: the decision that it had before, empty for none."""

    decision: str


class UndoneDecision(BaseModel):
    """The fact whose decision was undone, empty if there was none; `link` is the page to show next.

    `facts` are all facts of the step, which may have decided on several.
    """

    head_id: str = ""
    relation: str = ""
    tail_id: str = ""
    link: str
    facts: list[RestoredDecision] = []


@pages.get("/decisions")
def list_page(
    render: Render,
    bench: Bench,
    wanted: Annotated[stored.DecisionFilter, Depends()],
    page: Annotated[int, Query(ge=1, le=10_000_000)] = 1,
    undone: Literal["", "elsewhere", "nothing"] = "",
) -> Response:
    """Show one page of decisions, latest first, and the result of an undo."""
    with bench.database.reading() as connection:
        totals = stored.count_decisions(connection)
        num_found = sum(stored.count_decisions(connection, wanted).values())
        num_pages = max(1, ceil(num_found / PAGE_SIZE))
        number = min(page, num_pages)
        rows, damaged = stored.decisions(connection, wanted, (number - 1) * PAGE_SIZE, PAGE_SIZE)
        curators = stored.curators(connection)
        reasons = stored.count_reasons(connection)
    asked = {name: value for name, value in vars(wanted).items() if value}
    return render(
        "decisions/list.html",
        wanted=wanted,
        rows=[(row, fact_link(bench, row.run, row.triple)) for row in rows],
        totals={name: num for name, num in totals.items() if name != stored.DAMAGED},
        damaged=[(each, fact_link(bench, "", each.fact)) for each in damaged],
        num_found=num_found,
        number=number,
        num_pages=num_pages,
        curators=curators,
        reasons=reasons,
        forms={**FORMS, **_quote_forms(reasons)},
        totals_of=lambda decisions: sum(totals[each] for each in decisions),
        page_link=lambda other: "/decisions?" + urlencode({**asked, "page": other}),
        undone=undone,
    )


def _quote_forms(reasons: Sequence[stored.ReasonCount]) -> dict[QuoteFormName, QuoteForm]:
    """Return the formats for which there are decisions on quotes."""
    has_wrong_entity = any(each.reason in WRONG_ENTITY for each in reasons)
    return {name: form for name, form in QUOTE_FORMS.items() if reasons and (name == "quotes" or has_wrong_entity)}


@pages.post("/decisions/decide")
def decide_form(bench: Bench, who: Decider, given: Annotated[PredictionDecisionForm, Form()]) -> Response:
    """Save a decision and show the fact again."""
    save_decision(bench, who, given)
    url = prediction_url(given.run, given.bag, given.relation, within=given.within)
    return RedirectResponse(url, HTTPStatus.SEE_OTHER)


@pages.post("/decisions/undo")
def undo_form(bench: Bench, who: Decider, given: Annotated[UndoDecisionForm, Form()]) -> Response:
    """Undo your last decision and show its fact, or report that no open run or extraction has it.

    Unlike marks, decisions on all parts are listed and exported together, so undo does not depend on the part either.
    """
    return RedirectResponse(post_undo(bench, who, given).link, HTTPStatus.SEE_OTHER)


@api.get("")
def get_decisions(
    bench: Bench,
    wanted: Annotated[stored.DecisionFilter, Depends()],
    first: Annotated[int, Query(ge=0, le=2**53)] = 0,
    num: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 100,
) -> list[DecisionResponse]:
    """Return `num` decisions, latest first, starting at index `first`; damaged ones are left out."""
    with bench.database.reading() as connection:
        found, _ = stored.decisions(connection, wanted, first, num)
    return [DecisionResponse(**{**vars(each), "quotes": list(map(quote_response, each.quotes))}) for each in found]


@api.get("/reasons")
def get_reasons(bench: Bench) -> list[stored.ReasonCount]:
    """Return how many sentences were rejected for each reason, and of how many facts."""
    with bench.database.reading() as connection:
        return stored.count_reasons(connection)


@api.post("")
def post_decision(bench: Bench, who: Decider, given: PredictionDecision) -> None:
    """Save a decision, replacing the previous one."""
    save_decision(bench, who, given)


@api.post("/undo")
def post_undo(bench: Bench, who: Decider, given: UndoDecisionRequest) -> UndoneDecision:
    """Undo your last decision."""
    with bench.database.writing() as connection:
        changes = undo(connection, who, stored.SCOPE, given.key)
        # An undo restores the last change first.
        facts = list(dict.fromkeys(each.fact for each in reversed(changes)))
        before = stored.decisions_on(connection, facts)
    if not changes:
        return UndoneDecision(link="/decisions?undone=nothing")
    fact = facts[0]
    restored = [
        RestoredDecision(head=each.head_id, relation=each.relation, tail=each.tail_id, decision=before.get(each, ""))
        for each in facts
    ]
    link = review_link(bench, fact, given.facts, given.within) or fact_link(bench, "", fact)
    return UndoneDecision(**fact._asdict(), link=link or "/decisions?undone=elsewhere", facts=restored)


@pages.get("/decisions/files/{form}")
@api.get("/files/{form}", response_class=Response)
def get_file(bench: Bench, form: FormName | QuoteFormName) -> Response:
    """Return the decided facts, or the decisions on their quotes, as a file in this format.

    Without any, the error (404) says why there is nothing to export.
    """
    if form == "quotes" or form == "exceptions":
        on_quotes = QUOTE_FORMS[form]
        with bench.database.reading() as connection:
            text = on_quotes.text(stored.decided_quotes(connection))
        if not text:
            raise nothing_to_export(on_quotes.why_empty)
        return download(bench.name, on_quotes.file_name, text, on_quotes.media_type)
    chosen = FORMS[form]
    with bench.database.reading() as connection:
        facts, _ = stored.decisions(connection)
    facts, num_left_out = chosen.keep(facts)
    if not facts:
        raise nothing_to_export(chosen.why_empty(num_left_out))
    return download(bench.name, chosen.file_name, chosen.write(facts), chosen.media_type)


def fact_link(bench: Workbench, run: str, fact: Triple) -> str:
    """Return the URL of a fact in its run, in another run or in an extraction; empty if none has it."""
    bag = bench.bag_of_pair.get((fact.head_id, fact.tail_id))
    if bag is not None:
        for name in sorted(bench.predictions, key=lambda name: name != run):
            if bench.predictions[name].index.find(bag, fact.relation) is not None:
                return prediction_url(name, bag, fact.relation)
    return next(filter(None, (review_link(bench, fact, name) for name in bench.extractions)), "")


def review_link(bench: Workbench, fact: Triple, facts: str, within: str = "") -> str:
    """Return the URL of a fact in an extraction; empty if the fact is not there or cannot be read."""
    try:
        is_there = facts in bench.extractions and bench.extractions[facts].index.find(fact) is not None
    except BadInputError:
        return ""
    return review_url(facts, fact, within) if is_there else ""


def save_decision(bench: Workbench, who: Annotator, given: PredictionDecision) -> None:
    """Save a decision on a fact in a run's predictions; refused if the fact is withheld from the annotator."""
    run = find_run(given.run, bench)
    explanation = run.explanation(find_fact(run, given), marks_visible(bench, who, given))
    save(bench, who, given, [(quoted_fact(run, explanation), bool(explanation.is_label))])


def save(bench: Workbench, who: Annotator, given: DecisionRequest, facts: Sequence[tuple[QuotedFact, bool]]) -> None:
    """Save or withdraw a decision on facts; each comes with whether the knowledge base has it."""
    with bench.database.writing() as connection:
        if given.decision == "withdrawn":
            stored.withdraw(connection, who, [fact.triple for fact, _ in facts], given.key)
            return
        about = (given.decision, who.name, now(), given.reason.strip())
        stored.decide_together(connection, who, [fact.decided(*about, is_label) for fact, is_label in facts], given.key)


def quoted_fact(run: RunPredictions, explanation: Explanation) -> QuotedFact:
    """Return a fact with the sentences of its smallest set and the rationales, or else the top-ranked sentence."""
    carrying = [each for each in explanation.evidence if each.is_in_smallest or each.mark == "rationale"]
    return QuotedFact(
        **{each.name: getattr(explanation, each.name) for each in fields(Fact)},
        run=run.name,
        variant=explanation.variant,
        model_fingerprint=str(run.predictions.manifest["model_fingerprint"]),
        data_fingerprint=str(run.predictions.manifest["data_fingerprint"]),
        mechanism=explanation.ranked_by,
        quotes=tuple(
            quote_of(each.sentence, each.rank, each.scores[explanation.ranked_by], each.mark)
            for each in (carrying or explanation.evidence[:1])[:MAX_QUOTES]
        ),
    )
