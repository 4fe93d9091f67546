"""Predictions: facts as a table, one fact, two runs compared, the curve; pages and JSON API."""

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Literal, Self
from urllib.parse import quote

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from sayso.annotate.decisions import decision_on, decisions_on
from sayso.records import Triple
from sayso.serve.access import Bench, FactParam, MaybeWho
from sayso.serve.fact_table import TablePage
from sayso.serve.fact_view import ExplanationResponse, compare, view_fact
from sayso.serve.predictions import lookup
from sayso.serve.predictions.lookup import QueryParam, RunParam, WithinParam, find_fact, find_run
from sayso.serve.predictions.run import (
    DistractorRank,
    RunPredictions,
    TopSentence,
    differences,
    evaluate_command,
    serve_command,
)
from sayso.serve.predictions.table import (
    PLOT,
    POINT_GAP,
    PRESETS,
    Curve,
    DifferenceQuery,
    DifferenceRow,
    PredictionRow,
    facts_at,
)
from sayso.serve.responses import Render, not_found, prediction_url
from sayso.serve.workbench import Workbench

api = APIRouter(prefix="/api", tags=["facts"])
pages = APIRouter(include_in_schema=False)

MAX_LISTED = 200
"""The maximum number of facts that the page lists for one point of the curve."""
RelationName = Annotated[str, Query(max_length=500)]
RunName = Annotated[str, Query(max_length=300)]
MechanismName = Annotated[str, Query(max_length=100)]
DifferenceParam = Annotated[DifferenceQuery, Query()]


class RunResponse(BaseModel):
    """An open run and its predictions."""

    name: str
    variant: str
    part: str
    threshold: float
    mechanisms: list[str]
    ranked_by: str
    model_fingerprint: str
    data_fingerprint: str
    num_facts: int


class PredictionResponse(ExplanationResponse):
    """A fact in a run's predictions, with the checks on its explanation."""

    top_sentences: list[TopSentence]
    planted: list[DistractorRank]

    @classmethod
    def of(cls, run: RunPredictions, row: int, with_marks: bool) -> Self:
        """Return everything stored about a fact in a run's predictions, with annotators' marks if `with_marks`."""
        checks = {"top_sentences": run.top_sentences(row), "planted": run.planted(row)}
        return cls.model_validate(run.explanation(row, with_marks).to_dict() | checks)


class ComparedResponse(BaseModel):
    """A fact in one run; null if the run does not have it."""

    run: str
    fact: PredictionResponse | None


@api.get("/runs")
def get_runs(bench: Bench) -> list[RunResponse]:
    """Return the open runs."""
    return [
        RunResponse.model_validate({**run.predictions.manifest, "name": run.name, "num_facts": run.index.num_facts})
        for run in bench.predictions.values()
    ]


@api.get("/predictions/{run}")
def get_facts(bench: Bench, who: MaybeWho, run: RunParam, query: QueryParam) -> TablePage[PredictionRow]:
    """Return one page of the table of predictions."""
    found = run.index.page(query)
    return replace(found, rows=lookup.hide_withheld(bench, who, found.rows))


@api.get("/predictions/{run}/fact")
def get_fact(bench: Bench, who: MaybeWho, run: RunParam, asked: FactParam) -> PredictionResponse:
    """Return one fact with all its sentences and scores; refused if you have yet to annotate it.

    Annotators' marks are included once you have submitted the fact.
    """
    return PredictionResponse.of(run, find_fact(run, asked), lookup.marks_visible(bench, who, asked))


@api.get("/predictions/{run}/curve")
def get_curve(run: RunParam, relation: RelationName = "") -> Curve:
    """Return the precision-recall curve of all relations or of one."""
    return run.curve(relation)


@api.get("/predictions/{run}/curve/{point}")
def get_curve_facts(
    bench: Bench, who: MaybeWho, run: RunParam, point: int, relation: RelationName = ""
) -> list[PredictionRow]:
    """Return the facts that a point of the curve adds."""
    points = run.curve(relation).points
    if not 0 <= point < len(points):
        raise not_found(f"The curve has no point {point}.")
    return lookup.hide_withheld(bench, who, run.index.rows(facts_at(run.index, points[point], relation)))


@api.get("/compare")
def get_comparison(
    bench: Bench, who: MaybeWho, asked: FactParam, left: RunName, right: RunName
) -> list[ComparedResponse]:
    """Return one fact in two runs; refused if you have yet to annotate it."""
    runs = [find_run(name, bench) for name in (left, right)]
    rows = [run.index.find(asked.bag, asked.relation) for run in runs]
    if rows == [None, None]:
        raise not_found("Neither run has this fact.")
    with_marks = lookup.marks_visible(bench, who, asked)
    return [
        ComparedResponse(run=run.name, fact=None if row is None else PredictionResponse.of(run, row, with_marks))
        for run, row in zip(runs, rows, strict=True)
    ]


@api.get("/compare/facts")
def get_differences(bench: Bench, who: MaybeWho, query: DifferenceParam) -> TablePage[DifferenceRow]:
    """Return one page of the facts that only one of two runs predicts; those you have yet to annotate are left out."""
    runs = (find_run(query.left, bench), find_run(query.right, bench))
    return differences(*runs).page(query, lookup.withheld_from(bench, who))


@pages.get("/predictions")
def first_run(render: Render, bench: Bench) -> Response:
    """Redirect to the first run, or explain how to open one."""
    if not bench.runs:
        store, part = bench.settings.data, bench.settings.part
        commands = [evaluate_command("RUN", store, part), serve_command("RUN", store, part)]
        return render("predictions/no_run.html", commands=commands)
    return RedirectResponse(f"/predictions/{quote(bench.runs[0].name, safe='')}", HTTPStatus.SEE_OTHER)


@pages.get("/predictions/{run}")
def list_page(render: Render, bench: Bench, who: MaybeWho, run: RunParam, query: QueryParam) -> Response:
    """Show one page of the table of predictions."""
    found = get_facts(bench, who, run, query)
    decisions = _decisions(bench, found.rows)
    return render("predictions/list.html", run=run, query=query, found=found, decisions=decisions, presets=PRESETS)


@pages.get("/predictions/{run}/fact")
def fact_page(
    render: Render,
    bench: Bench,
    who: MaybeWho,
    run: RunParam,
    asked: FactParam,
    query: WithinParam,
    by: MechanismName = "",
    view: Literal["read", "seen", "both"] = "both",
) -> Response:
    """Show one fact with its sentences, or a link to annotate it first."""
    row, visibility = find_fact(run, asked), lookup.visibility_of(bench, who, asked)
    explanation = run.explanation(row, visibility.with_marks)
    fact = explanation.to_dict()
    shown = view_fact(fact, by)
    with bench.database.reading() as connection:
        decision = decision_on(connection, explanation.triple)
    return render(
        f"predictions/{'withheld' if visibility.is_withheld else 'fact'}.html",
        run=run,
        asked=asked,
        fact=fact,
        shown=shown,
        by=shown.by,
        view=view,
        relation=bench.relations[bench.relation_numbers[asked.relation]],
        query=query,
        position=run.index.position(row, query),
        notice=lookup.WITHHELD,
        others=[name for name in bench.predictions if name != run.name],
        top_sentences=run.top_sentences(row),
        planted=run.planted(row),
        decision=decision,
        is_hiding_marks=not visibility.with_marks and run.has_marks(row),
    )


@pages.get("/compare")
def compare_page(
    render: Render,
    bench: Bench,
    who: MaybeWho,
    asked: FactParam,
    left: RunName,
    right: RunName,
    by: MechanismName = "",
) -> Response:
    """Show one fact in two runs, side by side."""
    runs = (find_run(left, bench), find_run(right, bench))
    mechanisms = [name for name in runs[0].predictions.mechanisms if name in runs[1].predictions.mechanisms]
    # Runs without a common mechanism are each ranked by their own.
    by = next((name for name in (by, runs[0].ranked_by, *mechanisms) if name in mechanisms), "")
    visibility = lookup.visibility_of(bench, who, asked)
    sides, sentences = compare(runs, asked.bag, asked.relation, by, visibility.with_marks)
    having = next((side.run.name for side in sides if side.fact), None)
    if having is None:
        raise not_found("Neither run has this fact.")
    if visibility.is_withheld:
        return RedirectResponse(prediction_url(having, asked.bag, asked.relation), HTTPStatus.SEE_OTHER)
    return render(
        "predictions/compare.html", asked=asked, sides=sides, sentences=sentences, by=by, mechanisms=mechanisms
    )


@pages.get("/compare/facts")
def differences_page(render: Render, bench: Bench, who: MaybeWho, query: DifferenceParam) -> Response:
    """Show the facts that only one of two runs predicts, largest difference first."""
    names = list(bench.predictions)
    if len(names) < 2:
        raise not_found("Two runs are needed to compare; open them with `sayso serve --run ONE --run OTHER`.")
    left = query.left or names[0]
    right = query.right or next(name for name in names if name != left)
    query = query.model_copy(update={"left": left, "right": right})
    runs = {"left": find_run(left, bench), "right": find_run(right, bench)}
    table, withheld = differences(*runs.values()), lookup.withheld_from(bench, who)
    found = table.page(query, withheld)
    num_withheld = table.page(query).num_found - found.num_found
    about = {"runs": runs, "query": query, "table": table, "found": found, "num_withheld": num_withheld}
    return render("predictions/differences.html", **about, decisions=_decisions(bench, found.rows))


@pages.get("/predictions/{run}/curve")
def curve_page(
    render: Render,
    bench: Bench,
    who: MaybeWho,
    run: RunParam,
    relation: RelationName = "",
    point: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show precision over recall, and the facts of the selected point."""
    curve = run.curve(relation)
    chosen = curve.points[point] if point is not None and point < len(curve.points) else None
    rows = run.index.rows(facts_at(run.index, chosen, relation)[:MAX_LISTED]) if chosen else []
    rows = lookup.hide_withheld(bench, who, rows)
    return render(
        "predictions/curve.html",
        run=run,
        relation=relation,
        curve=curve,
        point=point if chosen else None,
        chosen=chosen,
        rows=rows,
        plot=PLOT,
        radius=POINT_GAP / 2,
        decisions=_decisions(bench, rows),
    )


def _decisions(bench: Workbench, rows: Sequence[PredictionRow | DifferenceRow]) -> dict[Triple, str]:
    shown = [row.triple for row in rows if not (isinstance(row, PredictionRow) and row.is_withheld)]
    with bench.database.reading() as connection:
        return decisions_on(connection, shown)
