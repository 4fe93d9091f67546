"""Settings for leads and everyone's progress, as pages and JSON: the queue with its pilot round."""

import uuid
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from sayso.annotate import pilot
from sayso.annotate import queue as stored
from sayso.annotate.assignment import AnnotatorProgress, progress, queue_progress
from sayso.annotate.people import Annotator, annotators
from sayso.annotate.queue import QueueSettings
from sayso.errors import UserError
from sayso.serve.access import Bench, Lead, Who
from sayso.serve.annotate.schemas import StrictModel
from sayso.serve.responses import Render
from sayso.serve.workbench import Workbench

api = APIRouter(prefix="/api", tags=["project"])
pages = APIRouter(include_in_schema=False)

ORDER_TITLES = {
    "contrast": "Contrast: start with pairs of several relations, or whose prediction rests on only some sentences",
    "doubtful": "Doubtful: start with facts whose high probability barely drops without the top-ranked sentence",
    "relation": "By relation",
    "random": "Random",
}


@dataclass(frozen=True, kw_only=True)
class ChangedQueue(QueueSettings):
    """The current queue settings, and the effect of a change on the pilot round, if any."""

    pilot_change: pilot.PilotChange | None = None


class QueueRequest(StrictModel):
    """Queue settings to change; settings that are left out stay as they are."""

    annotators_per_fact: int | None = None
    relations: tuple[str, ...] | None = None
    order: str | None = None
    num_pilot: int | None = None


class QueueForm(BaseModel):
    """The queue settings in the form; no relation means all. A change to the pilot round must be confirmed."""

    annotators_per_fact: int
    order: str
    num_pilot: int
    relations: tuple[str, ...] = ()
    is_confirmed: bool = False


class ProgressResponse(BaseModel):
    """How far the queue is, the days and hours of work until it is complete, and everyone's progress."""

    num_facts: int
    num_complete: int
    num_needed: int
    per_day: float | None
    seconds_per_fact: float | None
    days_left: float | None
    hours_left: float | None
    people: list[AnnotatorProgress]


@dataclass(frozen=True, kw_only=True)
class PilotScore:
    """One annotator's result in the pilot round."""

    annotator: str
    result: pilot.PilotResult


def change_queue(bench: Workbench, who: Annotator, wanted: QueueSettings, is_trial: bool = False) -> ChangedQueue:
    """Save the settings, choose a new pilot round if its size changes, and return the effect.

    If `is_trial`, nothing is saved. There may be fewer facts for the pilot round than requested.
    """
    unknown = [name for name in wanted.relations if name not in bench.relation_numbers]
    if unknown:
        raise UserError(f"the store has no relation {unknown[0]!r}")
    with bench.database.writing() as connection:
        if wanted.num_pilot == len(pilot.pilot_facts(connection)):
            if not is_trial:
                stored.write_settings(connection, wanted)
            return ChangedQueue(**asdict(wanted))
        known = pilot.known_answers_of_store(bench.store, bench.table, bench.settings.part)
        known |= pilot.known_answers_of_database(connection)
        in_work = pilot.facts_in_work(connection)
        free = {fact: marks for fact, marks in known.items() if bench.has_fact(fact) and fact not in in_work}
        facts = pilot.choose_pilot(free, wanted.num_pilot)
        change = pilot.pilot_change(connection, facts, wanted.num_pilot)
        settings = replace(wanted, num_pilot=len(facts))
        if not is_trial:
            stored.write_settings(connection, settings)
            pilot.set_pilot(connection, who, facts, known, uuid.uuid4().hex)
    return ChangedQueue(**asdict(settings), pilot_change=change)


@api.get("/progress")
def get_progress(bench: Bench) -> ProgressResponse:
    """Return everyone's progress."""
    with bench.database.reading() as connection:
        found = queue_progress(connection, bench.queue(stored.read_settings(connection)))
        left = {"days_left": found.days_left, "hours_left": found.hours_left}
        return ProgressResponse.model_validate({**asdict(found), **left, "people": progress(connection)})


@api.get("/pilot")
def get_pilot(bench: Bench, who: Who) -> pilot.PilotResult:
    """Return your result in the pilot round, with the agreement once you have finished it."""
    with bench.database.reading() as connection:
        return pilot.pilot_result(connection, who, bench.has_fact)


@api.get("/pilot/people")
def get_pilot_scores(bench: Bench, _: Lead) -> list[PilotScore]:
    """Return everyone's result in the pilot round (leads only)."""
    with bench.database.reading() as connection:
        active = {each.annotator for each in progress(connection)}
        everyone = [each for each in annotators(connection) if each.name in active]
        return [
            PilotScore(annotator=each.name, result=pilot.pilot_result(connection, each, bench.has_fact))
            for each in everyone
        ]


@api.get("/queue")
def get_queue(bench: Bench) -> QueueSettings:
    """Return the queue settings."""
    with bench.database.reading() as connection:
        return stored.read_settings(connection)


@api.put("/queue")
def put_queue(
    bench: Bench,
    who: Lead,
    wanted: QueueRequest,
    dry_run: Annotated[bool, Query(description="Report what would change without saving.")] = False,
) -> ChangedQueue:
    """Change the queue settings (leads only); return the current ones.

    There may be fewer known answers than requested. Assigned facts keep their number of annotators, and finished work
    still counts.
    """
    with bench.database.reading() as connection:
        settings = replace(stored.read_settings(connection), **wanted.model_dump(exclude_none=True))
    return change_queue(bench, who, settings, is_trial=dry_run)


@pages.get("/annotate/queue")
def queue_page(render: Render, bench: Bench, _: Who) -> Response:
    """Show the queue settings, with a form for leads."""
    with bench.database.reading() as connection:
        settings = stored.read_settings(connection)
        num_claimed = connection.execute("SELECT count(DISTINCT fact) FROM claim WHERE quota").fetchone()[0]
    limits = {"max_annotators": stored.MAX_ANNOTATORS, "max_sentences": pilot.MAX_SENTENCES}
    return render("annotate/queue.html", num_claimed=num_claimed, settings=settings, orders=ORDER_TITLES, **limits)


@pages.post("/annotate/queue")
def save_queue(render: Render, bench: Bench, who: Lead, given: Annotated[QueueForm, Form()]) -> Response:
    """Change the queue settings; a change to the pilot round must be confirmed."""
    settings = QueueSettings(**given.model_dump(exclude={"is_confirmed"}))
    if not given.is_confirmed and (change := change_queue(bench, who, settings, is_trial=True).pilot_change):
        return render("annotate/pilot_change.html", settings=settings, change=change)
    change_queue(bench, who, settings)
    return RedirectResponse("/annotate", HTTPStatus.SEE_OTHER)
