"""The prediction pages: facts as a table, one fact, the same fact in two runs, the curve."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import decision_on, decisions_on
from sayso.records import Triple
from sayso.serve.access import Bench, MaybeWho
from sayso.serve.bag_fact import FactParam
from sayso.serve.errors import not_found
from sayso.serve.fact_view import FactView, SentenceView, view_fact
from sayso.serve.predictions.curve import facts_at
from sayso.serve.predictions.lookup import (
    WITHHELD,
    QueryParam,
    RunParam,
    WithinParam,
    find_fact,
    find_run,
    hide_withheld,
    visibility_of,
)
from sayso.serve.predictions.run import RunPredictions, evaluate_command, serve_command
from sayso.serve.predictions.table import PRESETS, PredictionRow
from sayso.serve.render import Render, prediction_url
from sayso.serve.workbench import Workbench


@dataclass(frozen=True, kw_only=True)
class Side:
    """One run's side of the comparison; `fact` is None if the run does not have it."""

    run: RunPredictions
    fact: dict[str, Any] | None
    shown: FactView | None


def compare(
    runs: Sequence[RunPredictions], bag: int, relation: str, by: str = "", with_marks: bool = True
) -> tuple[list[Side], list[list[SentenceView | None]]]:
    """Compare a fact in these runs, ranked by a mechanism: a side per run, and each sentence as every side shows it.

    The sentences are in the order of the first run that has the fact; there are none if no run has it.
    """
    sides = [_side(run, bag, relation, by, with_marks) for run in runs]
    by_text = [{each.text: each for each in side.shown.sentences} if side.shown else {} for side in sides]
    leading = next(filter(None, by_text), {})
    return sides, [[known.get(text) for known in by_text] for text in leading]


def _side(run: RunPredictions, bag: int, relation: str, by: str, with_marks: bool) -> Side:
    row = run.index.find(bag, relation)
    fact = None if row is None else run.explanation(row, with_marks).to_dict()
    return Side(run=run, fact=fact, shown=view_fact(fact, by) if fact else None)


router = APIRouter(include_in_schema=False)

MAX_LISTED = 200
"""The maximum number of facts listed for one point of the curve."""


@router.get("/predictions")
def first_run(render: Render, bench: Bench) -> Response:
    """Redirect to the first run, or explain how to open one."""
    if not bench.runs:
        store, part = bench.settings.data, bench.settings.part
        commands = [evaluate_command("RUN", store, part), serve_command("RUN", store, part)]
        return render("predictions/no_run.html", commands=commands)
    return RedirectResponse(f"/predictions/{quote(bench.runs[0].name, safe='')}", HTTPStatus.SEE_OTHER)


@router.get("/predictions/{run}")
def facts_page(render: Render, bench: Bench, who: MaybeWho, run: RunParam, query: QueryParam) -> Response:
    """Show one page of the table of predictions."""
    found = run.index.page(query)
    found = replace(found, rows=hide_withheld(bench, who, found.rows))
    return render(
        "predictions/list.html",
        run=run,
        query=query,
        found=found,
        decisions=_decisions(bench, found.rows),
        presets=PRESETS,
    )


@router.get("/predictions/{run}/fact")
def fact_page(
    render: Render,
    bench: Bench,
    who: MaybeWho,
    run: RunParam,
    asked: FactParam,
    query: WithinParam,
    by: Annotated[str, Query(max_length=100)] = "",
    view: Literal["read", "seen", "both"] = "both",
) -> Response:
    """Show one fact with its sentences, or a link to annotate it first."""
    row, visibility = find_fact(run, asked), visibility_of(bench, who, asked)
    fact = run.explanation(row, visibility.with_marks).to_dict()
    shown = view_fact(fact, by)
    shared: dict[str, Any] = {
        "run": run,
        "asked": asked,
        "fact": fact,
        "by": shown.by,
        "view": view,
        "relation": bench.store.relations[bench.relation_numbers[asked.relation]],
        "query": query,
        "position": run.index.position(row, query),
        "annotate_url": f"/annotate/fact?{asked.url_query}",
    }
    if visibility.is_withheld:
        return render("predictions/withheld.html", **shared, notice=WITHHELD)
    with bench.database.reading() as connection:
        triple = Triple(fact["head"]["entity_id"], asked.relation, fact["tail"]["entity_id"])
        decision = decision_on(connection, triple)
    return render(
        "predictions/fact.html",
        **shared,
        others=[name for name in bench.predictions if name != run.name],
        shown=shown,
        top_sentences=run.top_sentences(row),
        planted=run.planted(row),
        decision=decision,
        is_hiding_marks=not visibility.with_marks and run.has_marks(row),
    )


@router.get("/compare")
def compare_page(
    render: Render,
    bench: Bench,
    who: MaybeWho,
    asked: FactParam,
    left: Annotated[str, Query(max_length=300)],
    right: Annotated[str, Query(max_length=300)],
    by: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Show one fact in two runs, side by side."""
    runs = (find_run(left, bench), find_run(right, bench))
    mechanisms = [name for name in runs[0].predictions.mechanisms if name in runs[1].predictions.mechanisms]
    # Runs without a common mechanism are each ranked by their own.
    usual = runs[0].ranked_by if runs[0].ranked_by in mechanisms else next(iter(mechanisms), "")
    by = by if by in mechanisms else usual
    visibility = visibility_of(bench, who, asked)
    sides, sentences = compare(runs, asked.bag, asked.relation, by, visibility.with_marks)
    having = next((side.run.name for side in sides if side.fact), None)
    if having is None:
        raise not_found("Neither run has this fact.")
    if visibility.is_withheld:
        return RedirectResponse(prediction_url(having, asked.bag, asked.relation), HTTPStatus.SEE_OTHER)
    return render(
        "predictions/compare.html", asked=asked, sides=sides, sentences=sentences, by=by, mechanisms=mechanisms
    )


@router.get("/predictions/{run}/curve")
def curve_page(
    render: Render,
    bench: Bench,
    who: MaybeWho,
    run: RunParam,
    relation: Annotated[str, Query(max_length=500)] = "",
    point: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show precision over recall, and the facts of the selected point."""
    curve = run.curve(relation)
    chosen = curve.points[point] if point is not None and point < len(curve.points) else None
    rows = run.index.rows(facts_at(run.index, chosen, relation)[:MAX_LISTED]) if chosen else []
    rows = hide_withheld(bench, who, rows)
    return render(
        "predictions/curve.html",
        run=run,
        relation=relation,
        curve=curve,
        point=point if chosen else None,
        chosen=chosen,
        rows=rows,
        decisions=_decisions(bench, rows),
    )


def _decisions(bench: Workbench, rows: list[PredictionRow]) -> dict[Triple, str]:
    with bench.database.reading() as connection:
        return decisions_on(connection, [row.triple for row in rows if not row.is_withheld])
