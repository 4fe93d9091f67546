"""Annotation: progress, one fact at a time, and the result of the pilot round; pages and JSON API.

Annotators see only their own marks.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from sayso.annotate import marking
from sayso.annotate.assignment import (
    hold,
    is_held,
    keep_place,
    neighbour,
    next_fact,
    place_of,
    progress,
    queue_progress,
)
from sayso.annotate.guideline import read_guideline
from sayso.annotate.log import version_of
from sayso.annotate.people import Annotator
from sayso.annotate.pilot import pilot_facts, pilot_result
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.records import Triple
from sayso.serve.access import Bench, Marker, Sessions, ShownFact, Who
from sayso.serve.annotate import schemas
from sayso.serve.annotate.queue import get_pilot_scores
from sayso.serve.responses import Render, RequestError
from sayso.serve.workbench import BagFact, FactName, Workbench

api = APIRouter(prefix="/api/annotate", tags=["annotate"])
pages = APIRouter(include_in_schema=False)

_PILOT_DONE = "You have finished the pilot round and seen its answers, so your marks in it can no longer be changed."


@api.get("/fact")
def get_fact(bench: Bench, who: Who, shown: ShownFact) -> schemas.AnnotatedFact:
    """Return a fact, its sentences and your work on it; run scores only after you submit it."""
    with bench.database.reading() as connection:
        mine = marking.work_of(connection, who.id, shown.fact)
    sentences = [
        {
            "tokens": sentence.tokens,
            "head_spans": sentence.head.spans,
            "tail_spans": sentence.tail.spans,
            "label": mine.labels.get(sentence.text, ""),
        }
        for sentence in shown.bag.sentences
    ]
    return schemas.AnnotatedFact.model_validate(
        {
            **dict(shown.name),
            "head_id": shown.bag.head_id,
            "head_name": shown.head_name,
            "tail_id": shown.bag.tail_id,
            "tail_name": shown.tail_name,
            "definition": shown.relation.definition,
            "example": shown.relation.example,
            "is_label": shown.is_label,
            **vars(mine),
            "sentences": sentences,
            "scores": bench.scores(shown) if mine.is_submitted else [],
        }
    )


@api.post("/marks")
def mark(bench: Bench, who: Marker, given: schemas.MarksRequest) -> schemas.SavedState:
    """Mark sentences of a fact."""
    shown = bench.fact(given)
    labels = {shown.text(each.sentence): each.label for each in given.marks}
    with bench.database.writing() as connection:
        refuse_stale(connection, who, shown, given)
        hold(connection, who, shown.fact)
        keep_place(connection, who, shown.fact, given.marks[-1].sentence)
        return _saved(connection, who, shown, marking.mark, labels, given)


@api.put("/comment")
def comment(bench: Bench, who: Marker, given: schemas.CommentRequest) -> schemas.SavedState:
    """Comment on a fact."""
    shown = bench.fact(given)
    with bench.database.writing() as connection:
        refuse_stale(connection, who, shown, given)
        return _saved(connection, who, shown, marking.comment, given.text, given)


@api.put("/wrong")
def flag_wrong(bench: Bench, who: Marker, given: schemas.WrongRequest) -> schemas.SavedState:
    """Report a fact as wrong, or withdraw the report."""
    shown = bench.fact(given)
    with bench.database.writing() as connection:
        refuse_stale(connection, who, shown, given)
        return _saved(connection, who, shown, marking.flag_wrong, given.is_wrong, given)


@api.post("/submit")
def submit(bench: Bench, who: Marker, given: schemas.FactRequest) -> schemas.SavedState:
    """Submit a fact; every sentence must have a mark."""
    shown = bench.fact(given)
    with bench.database.writing() as connection:
        refuse_stale(connection, who, shown, given)
        state = _saved(connection, who, shown, marking.submit, shown.texts, given)
        is_done = shown.fact in pilot_facts(connection) and pilot_result(connection, who, bench.has_fact).is_done
        return state.model_copy(update={"is_pilot_done": is_done})


@api.post("/undo")
def undo(bench: Bench, who: Marker, given: schemas.UndoRequest) -> schemas.UndoneStep:
    """Undo your last step on the fact that is shown or, if it has none, on any fact of the part.

    A submitted fact that is shown is reopened. A finished pilot round cannot be changed.
    """
    on_page = bench.fact(given.fact) if given.fact else None
    asked = on_page.fact if on_page else None
    with bench.database.writing() as connection:
        if on_page:
            refuse_stale(connection, who, on_page, given)
        is_pilot_done = pilot_result(connection, who, bench.has_fact).is_done
        changes = marking.undo_last(connection, who, given.key, bench.has_fact, asked)
        fact = changes[0].fact if changes else None
        if is_pilot_done and fact in pilot_facts(connection):
            raise RequestError(HTTPStatus.BAD_REQUEST, _PILOT_DONE)
        shown = bench.fact_of(fact)
        if not shown:
            return schemas.UndoneStep(fact=None, marks=[], is_more=False)
        marks = [
            schemas.SentenceLabel.model_validate({"sentence": shown.places[each.sentence], "label": each.value})
            for each in changes
            if each.sentence in shown.places
        ]
        keep_place(connection, who, shown.fact, marks[0].sentence if marks else 0)
        version = version_of(connection, who.id, shown.fact, given.key)
        return schemas.UndoneStep(fact=shown.name, marks=marks, is_more=not marks, version=version)


@api.put("/place")
def move(bench: Bench, who: Marker, given: schemas.PlaceRequest) -> None:
    """Save the current position, to return to it later."""
    shown = bench.fact(given)
    shown.text(given.sentence)
    with bench.database.writing() as connection:
        keep_place(connection, who, shown.fact, given.sentence)


@api.post("/next")
def go_on(bench: Bench, who: Marker, after: FactName | None = None) -> schemas.NextFact:
    """Return the fact after this one, or the next fact in the queue if none is given."""
    fact = bench.fact(after).fact if after else None
    with bench.database.writing() as connection:
        queue = bench.queue(read_settings(connection))
        return _turn(bench, connection, who, next_fact(connection, who, queue, fact, bench.has_fact))


@api.post("/previous")
def go_back(bench: Bench, who: Marker, before: FactName) -> schemas.NextFact:
    """Return the fact before this one."""
    fact = bench.fact(before).fact
    with bench.database.writing() as connection:
        return _turn(bench, connection, who, neighbour(connection, who, fact, -1, bench.has_fact))


def _turn(bench: Workbench, connection: Connection, who: Annotator, found: Triple | None) -> schemas.NextFact:
    shown = bench.fact_of(found)
    if shown is None:
        return schemas.NextFact(fact=None)
    labels = marking.work_of(connection, who.id, shown.fact).labels
    first_open = next((place for place, text in enumerate(shown.texts) if text not in labels), 0)
    keep_place(connection, who, shown.fact, first_open)
    return schemas.NextFact(fact=shown.name)


def refuse_stale(
    connection: Connection, who: Annotator, shown: BagFact, given: schemas.FactRequest | schemas.UndoRequest
) -> None:
    """Refuse a request from a page that shows an earlier version of the annotator's own work on the fact."""
    marking.refuse_stale(connection, who, shown.fact, shown.texts, given.version, given.key)


def _saved(
    connection: Connection,
    who: Annotator,
    shown: BagFact,
    save: Callable[..., None],
    what: object,
    given: schemas.FactRequest,
) -> schemas.SavedState:
    """Save a change with this function of `marking`, and return the state of the annotator's work on the fact."""
    save(connection, who, shown.fact, what, given.key)
    mine = marking.work_of(connection, who.id, shown.fact)
    return schemas.SavedState(
        num_marked=len(mine.labels),
        num_sentences=len(shown.bag.sentences),
        is_submitted=mine.is_submitted,
        version=version_of(connection, who.id, shown.fact, given.key),
    )


def next_step(bench: Workbench, connection: Connection, who: Annotator) -> dict[str, Any]:
    """Return what `annotate/next.html` shows: the pilot round, the fact to continue with, and the own progress."""
    place = place_of(connection, who)
    is_open = place is not None and not marking.work_of(connection, who.id, place[0]).is_submitted
    mine = next((each for each in progress(connection) if each.annotator == who.name), None)
    return {
        "is_guideline_new": mine is not None and read_guideline(connection).time > mine.last_active,
        "pilot": pilot_result(connection, who, bench.has_fact),
        "here": bench.fact_of(place[0]) if place and is_open else None,
        "mine": mine,
    }


@pages.get("/annotate")
def home(render: Render, bench: Bench, sessions: Sessions, who: Who, done: str = "") -> Response:
    """Show everyone's progress, with the pilot scores for leads, and a link to continue."""
    with bench.database.reading() as connection:
        settings, people, step = read_settings(connection), progress(connection), next_step(bench, connection, who)
        queue = queue_progress(connection, bench.queue(settings))
    scores = {each.annotator: each.result for each in get_pilot_scores(bench, who)} if sessions.is_lead(who) else {}
    about = {"settings": settings, "queue": queue, "people": people, "scores": scores}
    return render("annotate/home.html", **about, **step, is_done=bool(done))


@pages.post("/annotate")
def start(bench: Bench, who: Marker) -> Response:
    """Redirect to the next fact in the queue, or to the start page if there is none."""
    turn = go_on(bench, who)
    to = f"/annotate/fact?{turn.fact.url_query}" if turn.fact else "/annotate?done=1"
    return RedirectResponse(to, HTTPStatus.SEE_OTHER)


@pages.get("/annotate/fact")
def fact_page(render: Render, bench: Bench, who: Marker, shown: ShownFact) -> Response:
    """Show one fact to mark: the relation with its definition, and all sentences of the bag."""
    with bench.database.reading() as connection:
        mine = marking.work_of(connection, who.id, shown.fact)
        place = place_of(connection, who)
        is_pilot = shown.fact in pilot_facts(connection)
        is_pilot_done = is_pilot and pilot_result(connection, who, bench.has_fact).is_done
        is_past_practice = not is_pilot and is_held(connection, who, shown.fact, as_practice=True)
        num_done = next((each.num_submitted for each in progress(connection) if each.annotator == who.name), 0)
    return render(
        "annotate/fact.html",
        shown=shown,
        mine=mine,
        scores=bench.scores(shown) if mine.is_submitted else [],
        place=place[1] if place and place[0] == shown.fact else 0,
        is_pilot=is_pilot,
        is_pilot_done=is_pilot_done,
        is_past_practice=is_past_practice,
        num_done=num_done,
        max_comment=schemas.MAX_COMMENT,
    )


@pages.get("/annotate/pilot")
def pilot_page(render: Render, bench: Bench, who: Who) -> Response:
    """Show how your marks in the pilot round compare with the known answers, once you have finished it."""
    with bench.database.reading() as connection:
        result = pilot_result(connection, who, bench.has_fact)
    differences = [
        (shown, sentence, mine, known)
        for fact, text, mine, known in result.differences
        if (shown := bench.fact_of(fact))
        for sentence in shown.bag.sentences
        if sentence.text == text
    ]
    return render("annotate/pilot.html", result=result, differences=differences)
