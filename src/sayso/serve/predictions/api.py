"""Facts, curves and comparisons as JSON."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query

from sayso.serve.access import Bench, PerhapsWho
from sayso.serve.errors import not_found
from sayso.serve.fact_schemas import FactAnswer, RunAnswer, SideAnswer, fact_answer, run_answer
from sayso.serve.predictions.curve import Curve, facts_at
from sayso.serve.predictions.lookup import Asked, AskedRun, Wanted, find_fact, find_run, full_sight, veiled
from sayso.serve.predictions.table import FactPage, FactRow

router = APIRouter(prefix="/api", tags=["facts"])

RelationName = Annotated[str, Query(max_length=500)]
RunName = Annotated[str, Query(max_length=300)]


@router.get("/runs")
def get_runs(bench: Bench) -> list[RunAnswer]:
    """Return the runs that are open."""
    return [run_answer(run) for run in bench.explored.values()]


@router.get("/predictions/{run}")
def get_facts(bench: Bench, who: PerhapsWho, run: AskedRun, query: Wanted) -> FactPage:
    """Return one page of the facts that are asked for, sorted and filtered."""
    found = run.index.page(query)
    return replace(found, rows=veiled(bench, who, found.rows))


@router.get("/predictions/{run}/fact")
def get_fact(bench: Bench, who: PerhapsWho, run: AskedRun, asked: Asked) -> FactAnswer:
    """Return one fact with all its sentences and scores; refused to somebody who is still to annotate it.

    Whoever is signed in sees people's marks on it once they have submitted it.
    """
    row = find_fact(run, asked)
    return fact_answer(run, row, full_sight(bench, who, asked))


@router.get("/predictions/{run}/curve")
def get_curve(run: AskedRun, relation: RelationName = "") -> Curve:
    """Return precision over recall, of all relations together or of one."""
    return run.curve(relation)


@router.get("/predictions/{run}/curve/{point}")
def get_curve_facts(
    bench: Bench, who: PerhapsWho, run: AskedRun, point: int, relation: RelationName = ""
) -> list[FactRow]:
    """Return the facts that come in with a point of the curve."""
    points = run.curve(relation).points
    if not 0 <= point < len(points):
        raise not_found(f"The curve has no point {point}.")
    return veiled(bench, who, run.index.rows(facts_at(run.index, points[point], relation)))


@router.get("/compare")
def get_comparison(bench: Bench, who: PerhapsWho, asked: Asked, left: RunName, right: RunName) -> list[SideAnswer]:
    """Return one fact as two runs see it; refused to somebody who is still to annotate it."""
    runs = [find_run(name, bench) for name in (left, right)]
    rows = [run.index.find(*asked) for run in runs]
    if rows == [None, None]:
        raise not_found("Neither run has this fact.")
    with_marks = full_sight(bench, who, asked)
    return [
        SideAnswer(run=run.name, fact=None if row is None else fact_answer(run, row, with_marks))
        for run, row in zip(runs, rows, strict=True)
    ]
