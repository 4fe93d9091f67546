"""The annotator's pages: progress, one fact at a time, and the result of the pilot round."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from sayso.annotate.assignment import is_held, place_of, progress
from sayso.annotate.marking import work_of
from sayso.annotate.pilot import pilot_facts, pilot_result
from sayso.annotate.queue import read_settings
from sayso.serve.access import Bench, Who
from sayso.serve.annotate.api import go_on
from sayso.serve.annotate.schemas import MAX_COMMENT
from sayso.serve.bag_fact import FactParam, bag_fact_of, find_bag_fact, run_scores, styled
from sayso.serve.render import Render

router = APIRouter(include_in_schema=False)


@router.get("/annotate")
def home(render: Render, bench: Bench, who: Who, done: str = "") -> Response:
    """Show everyone's progress, and a link to continue."""
    with bench.database.reading() as connection:
        settings, place = read_settings(connection), place_of(connection, who)
        pilot, people = pilot_result(connection, who, bench.has_fact), progress(connection)
        is_open = place is not None and not work_of(connection, who.id, place[0]).is_submitted
    here = bag_fact_of(bench, place[0]) if place and is_open else None
    return render(
        "annotate/home.html",
        settings=settings,
        num_facts=len(bench.queue(settings)),
        people=people,
        pilot=pilot,
        here=here,
        is_done=bool(done),
    )


@router.post("/annotate")
def start(bench: Bench, who: Who) -> Response:
    """Redirect to the next fact in the queue, or to the start page if there is none."""
    turn = go_on(bench, who)
    to = f"/annotate/fact?{turn.fact.url_query}" if turn.fact else "/annotate?done=1"
    return RedirectResponse(to, HTTPStatus.SEE_OTHER)


@router.get("/annotate/fact")
def fact(render: Render, bench: Bench, who: Who, asked: FactParam) -> Response:
    """Show one fact to mark: the relation with its definition, and all sentences of the bag."""
    shown = find_bag_fact(bench, asked)
    with bench.database.reading() as connection:
        mine = work_of(connection, who.id, shown.fact)
        place = place_of(connection, who)
        is_pilot = shown.fact in pilot_facts(connection)
        is_pilot_done = is_pilot and pilot_result(connection, who, bench.has_fact).is_done
        is_past_practice = not is_pilot and is_held(connection, who, shown.fact, as_practice=True)
        num_done = next((each.num_submitted for each in progress(connection) if each.annotator == who.name), 0)
    scores = run_scores(bench, shown) if mine.is_submitted else []
    sentences = [
        {
            "styled": styled(sentence),
            "label": mine.labels.get(sentence.text, ""),
            "scores": [(run, run.ranks[number], run.scores[number], run.shares[number]) for run in scores],
        }
        for number, sentence in enumerate(shown.bag.sentences)
    ]
    return render(
        "annotate/fact.html",
        shown=shown,
        mine=mine,
        sentences=sentences,
        num_marked=sum(bool(each["label"]) for each in sentences),
        place=place[1] if place and place[0] == shown.fact else 0,
        is_pilot=is_pilot,
        is_pilot_done=is_pilot_done,
        is_past_practice=is_past_practice,
        num_done=num_done,
        max_comment=MAX_COMMENT,
    )


@router.get("/annotate/pilot")
def pilot(render: Render, bench: Bench, who: Who) -> Response:
    """Show how your marks in the pilot round compare with the known answers, once you have finished it."""
    with bench.database.reading() as connection:
        result = pilot_result(connection, who, bench.has_fact)
    differences = [
        {"shown": shown, "sentence": sentence, "mine": mine, "known": known}
        for fact, text, mine, known in result.differences
        if (shown := bag_fact_of(bench, fact))
        for sentence in (styled(each) for each in shown.bag.sentences if each.text == text)
    ]
    return render("annotate/pilot.html", result=result, differences=differences)
