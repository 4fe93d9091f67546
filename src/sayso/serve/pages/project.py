"""The pages of what is set for the whole work: the queue and the guideline."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from sayso.annotate.guideline import MAX_LENGTH, read_guideline, write_guideline
from sayso.annotate.pilot import MAX_SENTENCES
from sayso.annotate.queue import MAX_ANNOTATORS, QueueSettings, read_settings
from sayso.serve.deps import Bench, Lead, Sessions, Who
from sayso.serve.project import change_queue
from sayso.serve.render import page

router = APIRouter(include_in_schema=False)

ORDER_TITLES = {
    "contrast": "Contrast first: several relations, or a prediction that rests on some of the sentences",
    "doubtful": "Doubtful first: high probability that hardly falls without the sentence that ranks first",
    "relation": "Relation by relation",
    "random": "In a random order",
}


@router.get("/annotate/queue")
def queue_page(request: Request, bench: Bench, sessions: Sessions, who: Who) -> Response:
    """Show the settings of the queue, and the form that changes them to whoever leads the work."""
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


@router.post("/annotate/queue")
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
    """Change the settings of the queue; another pilot round once the person has seen what it changes."""
    settings = QueueSettings(
        annotators_per_fact=annotators_per_fact, order=order, num_pilot=num_pilot, relations=tuple(relations or ())
    )
    if not is_confirmed and (change := change_queue(bench, who, settings, is_trial=True).pilot):
        return page(request, "annotate/pilot_change.html", section="annotate", settings=settings, change=change)
    change_queue(bench, who, settings)
    return RedirectResponse("/annotate", HTTPStatus.SEE_OTHER)


@router.get("/annotate/guideline")
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


@router.post("/annotate/guideline")
def save_guideline(bench: Bench, _: Lead, text: Annotated[str, Form(max_length=MAX_LENGTH)] = "") -> Response:
    """Change the guideline."""
    with bench.database.writing() as connection:
        write_guideline(connection, text)
    return RedirectResponse("/annotate/guideline", HTTPStatus.SEE_OTHER)
