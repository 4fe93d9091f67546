"""The public JSON API under `/api/v1`, which only reads and keeps its form, and the page that documents the whole API.

Scripts on other machines send the token of an annotator's link as `Authorization: Bearer TOKEN`.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from sayso.annotate.agreement import closed_facts
from sayso.annotate.marks import each_mark, settled_marks
from sayso.serve.access import TOKEN_PREFIX, Bench, MaybeWho
from sayso.serve.decisions import get_decisions, get_file
from sayso.serve.fact_table import TablePage
from sayso.serve.predictions.lookup import RunParam
from sayso.serve.predictions.pages import get_fact, get_facts, get_runs
from sayso.serve.predictions.table import PredictionQuery, PredictionRow
from sayso.serve.responses import Render
from sayso.serve.review.pages import FileParam, get_extracted_fact, get_extracted_facts, get_extractions
from sayso.serve.review.table import DecisionFilterName, ReviewQuery, ReviewRow, ReviewSort
from sayso.serve.workbench import Workbench

v1 = APIRouter(prefix=TOKEN_PREFIX.rstrip("/"), tags=["public"])
pages = APIRouter(include_in_schema=False)


class FactsQuery(ReviewQuery):
    """The filters of extracted facts; unlike on the page, facts with a decision are listed, too."""

    model_config = ConfigDict(extra="forbid")

    decision: DecisionFilterName = "any"
    sort: ReviewSort = "probability"


class PredictionsQuery(PredictionQuery):
    """The filters of predictions."""

    model_config = ConfigDict(extra="forbid")


class MarkResponse(BaseModel):
    """A mark; `by` is its annotator, empty for the settled or majority label."""

    head: str
    tail: str
    relation: str
    sentence: str
    label: str
    by: str


def get_facts_page(file: FileParam, query: Annotated[FactsQuery, Query()]) -> TablePage[ReviewRow]:
    """Return one page of the extracted facts that match the filters; the most probable first, by default."""
    return get_extracted_facts(file, query)


def get_predictions_page(
    bench: Bench, who: MaybeWho, run: RunParam, query: Annotated[PredictionsQuery, Query()]
) -> TablePage[PredictionRow]:
    """Return one page of the predictions of a run that match the filters; the most probable first, by default."""
    return get_facts(bench, who, run, query)


def get_marks(
    bench: Bench,
    each: Annotated[bool, Query(description="Every annotator's marks instead of one per sentence.")] = False,
) -> list[MarkResponse]:
    """Return the marks on closed facts: one per sentence (settled or by majority), or every annotator's own."""
    with bench.database.reading() as connection:
        found = list((each_mark if each else settled_marks)(connection, closed_facts(connection)))
    return [
        MarkResponse(
            head=mark.head_id,
            tail=mark.tail_id,
            relation=mark.relation,
            sentence=mark.sentence,
            label=mark.label,
            by=mark.annotator,
        )
        for mark in found
    ]


_ROUTES: dict[str, Callable[..., Any]] = {
    "/facts": get_extractions,
    "/facts/{facts}": get_facts_page,
    "/facts/{facts}/fact": get_extracted_fact,
    "/runs": get_runs,
    "/predictions/{run}": get_predictions_page,
    "/predictions/{run}/fact": get_fact,
    "/decisions": get_decisions,
    "/marks": get_marks,
}
for _path, _endpoint in _ROUTES.items():
    v1.add_api_route(_path, _endpoint, methods=["GET"])
v1.add_api_route("/decisions/files/{form}", get_file, methods=["GET"], response_class=Response)


@pages.get("/api")
def api_page(request: Request, render: Render, bench: Bench) -> Response:
    """List every route with its parameters, request and response, the public ones first, with examples."""
    description = request.app.openapi()
    operations = [
        {"method": method.upper(), "path": path, **_shown(operation)}
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return render(
        "api.html",
        public=[each for each in operations if each["path"].startswith(TOKEN_PREFIX)],
        internal=[each for each in operations if not each["path"].startswith(TOKEN_PREFIX)],
        schemas=description["components"]["schemas"],
        examples=list(_examples(bench)),
    )


@pages.get("/api/openapi.json")
def openapi(request: Request) -> dict[str, Any]:
    """Return the OpenAPI description."""
    description: dict[str, Any] = request.app.openapi()
    return description


def _examples(bench: Workbench) -> Iterator[tuple[str, str]]:
    """Yield what a request asks for, and the command that sends it, for the data that is open."""
    sent = "curl -s" if bench.settings.is_local else 'curl -s -H "Authorization: Bearer $TOKEN"'

    def command(path: str, **query: object) -> str:
        return f"{sent} '{bench.settings.url}{TOKEN_PREFIX}{path}{'?' * bool(query)}{urlencode(query)}'"

    for name, file in list(bench.extractions.items())[:1]:
        facts = f"facts/{quote(name, safe='')}"
        yield "New facts, 50 per page, the most probable first", command(facts, status="new", page=1)
        row = file.index.page(FactsQuery()).rows[0]
        yield (
            "One fact with its evidence",
            command(f"{facts}/fact", head=row.head_id, relation=row.relation, tail=row.tail_id),
        )
    for run in list(bench.predictions)[:1]:
        yield "Predictions of a run", command(f"predictions/{quote(run, safe='')}", min_probability=0.5)
    yield "Decisions, the latest first", command("decisions", num=10)
    yield "All decided facts as a table", command("decisions/files/csv")
    yield "One mark per sentence", command("marks")
    yield "Every annotator's marks", command("marks", each="true")


def _shown(operation: dict[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {})
    answers = [
        name
        for status, answer in operation["responses"].items()
        if status.startswith("2")
        for content in answer.get("content", {}).values()
        for name in [_schema_name(content.get("schema", {}))]
    ]
    return {
        "about": operation.get("description", ""),
        "parameters": operation.get("parameters", []),
        "takes": [_schema_name(content["schema"]) for content in body.values()],
        "gives": answers,
    }


def _schema_name(schema: dict[str, Any]) -> str:
    """Return the name of a schema, or its type if it has none."""
    for part in (schema, schema.get("items", {}), *schema.get("anyOf", [])):
        if "$ref" in part:
            name = str(part["$ref"]).rsplit("/", 1)[1]
            return f"list of {name}" if part is schema.get("items") else name
    return str(schema.get("type", ""))
