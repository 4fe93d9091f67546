"""JSON API for runs, predictions, curves and comparisons."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query

from sayso.serve.access import Bench, MaybeWho
from sayso.serve.bag_fact import FactParam
from sayso.serve.errors import not_found
from sayso.serve.fact_schemas import (
    ComparedResponse,
    PredictionResponse,
    RunResponse,
    prediction_response,
    run_response,
)
from sayso.serve.fact_table import TablePage
from sayso.serve.predictions.curve import Curve, facts_at
from sayso.serve.predictions.lookup import (
    QueryParam,
    RunParam,
    find_fact,
    find_run,
    hide_withheld,
    marks_visible,
)
from sayso.serve.predictions.table import PredictionRow

router = APIRouter(prefix="/api", tags=["facts"])

RelationName = Annotated[str, Query(max_length=500)]
RunName = Annotated[str, Query(max_length=300)]


@router.get("/runs")
def get_runs(bench: Bench) -> list[RunResponse]:
    """Return the open runs."""
    return [run_response(run) for run in bench.predictions.values()]


@router.get("/predictions/{run}")
def get_facts(bench: Bench, who: MaybeWho, run: RunParam, query: QueryParam) -> TablePage[PredictionRow]:
    """Return one page of the table of predictions."""
    found = run.index.page(query)
    return replace(found, rows=hide_withheld(bench, who, found.rows))


@router.get("/predictions/{run}/fact")
def get_fact(bench: Bench, who: MaybeWho, run: RunParam, asked: FactParam) -> PredictionResponse:
    """Return one fact with all its sentences and scores; refused if you have yet to annotate it.

    Annotators' marks are included once you have submitted the fact.
    """
    row = find_fact(run, asked)
    return prediction_response(run, row, marks_visible(bench, who, asked))


@router.get("/predictions/{run}/curve")
def get_curve(run: RunParam, relation: RelationName = "") -> Curve:
    """Return the precision-recall curve of all relations or of one."""
    return run.curve(relation)


@router.get("/predictions/{run}/curve/{point}")
def get_curve_facts(
    bench: Bench, who: MaybeWho, run: RunParam, point: int, relation: RelationName = ""
) -> list[PredictionRow]:
    """Return the facts that a point of the curve adds."""
    points = run.curve(relation).points
    if not 0 <= point < len(points):
        raise not_found(f"The curve has no point {point}.")
    return hide_withheld(bench, who, run.index.rows(facts_at(run.index, points[point], relation)))


@router.get("/compare")
def get_comparison(
    bench: Bench, who: MaybeWho, asked: FactParam, left: RunName, right: RunName
) -> list[ComparedResponse]:
    """Return one fact in two runs; refused if you have yet to annotate it."""
    runs = [find_run(name, bench) for name in (left, right)]
    rows = [run.index.find(asked.bag, asked.relation) for run in runs]
    if rows == [None, None]:
        raise not_found("Neither run has this fact.")
    with_marks = marks_visible(bench, who, asked)
    return [
        ComparedResponse(run=run.name, fact=None if row is None else prediction_response(run, row, with_marks))
        for run, row in zip(runs, rows, strict=True)
    ]
