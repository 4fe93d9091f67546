"""What a lead sets, as pages and JSON: the queue with its pilot round, and the guideline."""

import uuid
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate.assignment import AnnotatorProgress, progress
from sayso.annotate.people import Annotator
from sayso.annotate.pilot import (
    MAX_SENTENCES,
    PilotChange,
    PilotResult,
    choose_pilot,
    facts_in_work,
    known_answers_of_database,
    known_answers_of_store,
    pilot_change,
    pilot_facts,
    pilot_result,
    set_pilot,
)
from sayso.annotate.queue import (
    MAX_ANNOTATORS,
    MAX_LENGTH,
    QueueSettings,
    read_guideline,
    read_settings,
    write_guideline,
    write_settings,
)
from sayso.errors import UserError
from sayso.serve.access import Bench, Lead, Sessions, Who
from sayso.serve.annotate.schemas import StrictModel
from sayso.serve.render import page
from sayso.serve.workbench import Workbench


@dataclass(frozen=True, kw_only=True)
class QueueChange:
    """The settings after a change, and its effect on the pilot round; None if the round stays the same."""

    settings: QueueSettings
    pilot: PilotChange | None


def change_queue(bench: Workbench, who: Annotator, wanted: QueueSettings, is_trial: bool = False) -> QueueChange:
    """Save the settings, choose a new pilot round if its size changes, and return the effect.

    A trial saves nothing. There may be fewer facts for the pilot round than requested.
    """
    unknown = [name for name in wanted.relations if name not in bench.relation_numbers]
    if unknown:
        raise UserError(f"the store has no relation {unknown[0]!r}")
    with bench.database.writing() as connection:
        if wanted.num_pilot == len(pilot_facts(connection)):
            if not is_trial:
                write_settings(connection, wanted)
            return QueueChange(settings=wanted, pilot=None)
        known = known_answers_of_store(bench.store, bench.table, bench.settings.part) | known_answers_of_database(
            connection
        )
        in_work = facts_in_work(connection)
        free = {fact: marks for fact, marks in known.items() if bench.has_fact(fact) and fact not in in_work}
        facts = choose_pilot(free, wanted.num_pilot)
        change = pilot_change(connection, facts, wanted.num_pilot)
        settings = replace(wanted, num_pilot=len(facts))
        if not is_trial:
            write_settings(connection, settings)
            set_pilot(connection, who, facts, known, uuid.uuid4().hex)
    return QueueChange(settings=settings, pilot=change)


api = APIRouter(prefix="/api", tags=["project"])


class GuidelineText(StrictModel):
    """The guideline for annotators."""

    text: Annotated[str, Field(max_length=MAX_LENGTH)]


class QueueRequest(StrictModel):
    """Queue settings to change; settings that are left out stay as they are."""

    annotators_per_fact: int | None = None
    relations: tuple[str, ...] | None = None
    order: str | None = None
    num_pilot: int | None = None


class QueueResponse(BaseModel):
    """The current queue settings, and the effect of a change on the pilot round, if any."""

    annotators_per_fact: int
    relations: tuple[str, ...]
    order: str
    num_pilot: int
    pilot_change: PilotChange | None


class ProgressResponse(BaseModel):
    """The number of facts in the queue, and everyone's progress."""

    num_facts: int
    people: list[AnnotatorProgress]


@api.get("/progress")
def get_progress(bench: Bench) -> ProgressResponse:
    """Return everyone's progress."""
    with bench.database.reading() as connection:
        return ProgressResponse(num_facts=len(bench.queue(read_settings(connection))), people=progress(connection))


@api.get("/pilot")
def get_pilot(bench: Bench, who: Who) -> PilotResult:
    """Return your result in the pilot round; the agreement once it is finished."""
    with bench.database.reading() as connection:
        return pilot_result(connection, who, bench.has_fact)


@api.get("/queue")
def get_queue(bench: Bench) -> QueueSettings:
    """Return the queue settings."""
    with bench.database.reading() as connection:
        return read_settings(connection)


@api.put("/queue")
def put_queue(
    bench: Bench,
    who: Lead,
    wanted: QueueRequest,
    dry_run: Annotated[bool, Query(description="Report what would change without saving.")] = False,
) -> QueueResponse:
    """Change the queue settings (leads only); return the current ones.

    There may be fewer known answers than requested. Assigned facts keep their number of annotators, and finished work
    still counts.
    """
    with bench.database.reading() as connection:
        settings = replace(read_settings(connection), **wanted.model_dump(exclude_none=True))
    changed = change_queue(bench, who, settings, is_trial=dry_run)
    return QueueResponse(**asdict(changed.settings), pilot_change=changed.pilot)


@api.get("/guideline")
def get_guideline(bench: Bench) -> GuidelineText:
    """Return the guideline."""
    with bench.database.reading() as connection:
        return GuidelineText(text=read_guideline(connection))


@api.put("/guideline")
def put_guideline(bench: Bench, _: Lead, given: GuidelineText) -> GuidelineText:
    """Change the guideline (leads only); an empty text restores the default."""
    with bench.database.writing() as connection:
        write_guideline(connection, given.text)
        return GuidelineText(text=read_guideline(connection))


pages = APIRouter(include_in_schema=False)

ORDER_TITLES = {
    "contrast": "Contrast: facts with several relations, or whose prediction rests on only some sentences, first",
    "doubtful": "Doubtful: facts whose high probability barely drops without the top-ranked sentence first",
    "relation": "By relation",
    "random": "Random",
}


@pages.get("/annotate/queue")
def queue_page(request: Request, bench: Bench, sessions: Sessions, who: Who) -> Response:
    """Show the queue settings, with a form for leads."""
    with bench.database.reading() as connection:
        settings = read_settings(connection)
        num_claimed = connection.execute("SELECT count(DISTINCT fact) FROM claim WHERE quota").fetchone()[0]
    return page(
        request,
        "annotate/queue.html",
        section="annotate",
        is_lead=sessions.is_lead(who),
        num_claimed=num_claimed,
        settings=settings,
        orders=ORDER_TITLES,
        relations=bench.store.relations,
        max_annotators=MAX_ANNOTATORS,
        max_sentences=MAX_SENTENCES,
        has_runs=bool(bench.runs),
    )


@pages.post("/annotate/queue")
def save_queue(
    request: Request,
    bench: Bench,
    who: Lead,
    annotators_per_fact: Annotated[int, Form()],
    order: Annotated[str, Form()],
    num_pilot: Annotated[int, Form()],
    relations: Annotated[list[str] | None, Form()] = None,
    is_confirmed: Annotated[bool, Form()] = False,
) -> Response:
    """Change the queue settings; a different pilot round only after confirmation."""
    settings = QueueSettings(
        annotators_per_fact=annotators_per_fact, order=order, num_pilot=num_pilot, relations=tuple(relations or ())
    )
    if not is_confirmed and (change := change_queue(bench, who, settings, is_trial=True).pilot):
        return page(request, "annotate/pilot_change.html", section="annotate", settings=settings, change=change)
    change_queue(bench, who, settings)
    return RedirectResponse("/annotate", HTTPStatus.SEE_OTHER)


@pages.get("/annotate/guideline")
def guideline_page(request: Request, bench: Bench, sessions: Sessions, who: Who) -> Response:
    """Show the guideline, with the definitions of all relations."""
    with bench.database.reading() as connection:
        text = read_guideline(connection)
    return page(
        request,
        "annotate/guideline.html",
        section="annotate",
        is_lead=sessions.is_lead(who),
        text=text,
        paragraphs=[part for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()],
        relations=bench.store.relations,
        max_length=MAX_LENGTH,
    )


@pages.post("/annotate/guideline")
def save_guideline(bench: Bench, _: Lead, text: Annotated[str, Form(max_length=MAX_LENGTH)] = "") -> Response:
    """Change the guideline."""
    with bench.database.writing() as connection:
        write_guideline(connection, text)
    return RedirectResponse("/annotate/guideline", HTTPStatus.SEE_OTHER)
