"""The application: the open workbench, the checks on every request, the routers, and the page about the JSON API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from sayso import __version__
from sayso.serve import access, agreement, decisions
from sayso.serve.annotate import pages as annotate
from sayso.serve.annotate import queue
from sayso.serve.errors import HANDLERS, ErrorResponse
from sayso.serve.predictions import pages as predictions
from sayso.serve.render import STATIC, Render
from sayso.serve.review import pages as review
from sayso.serve.security import SafetyMiddleware, refuse_changed, refuse_csrf, require_session
from sayso.serve.settings import ServeSettings
from sayso.serve.try_it import pages as try_it
from sayso.serve.workbench import Workbench

api_pages = APIRouter(include_in_schema=False)

ROUTERS: tuple[APIRouter, ...] = (
    access.router,
    annotate.pages,
    queue.pages,
    agreement.pages,
    api_pages,
    predictions.pages,
    review.pages,
    try_it.pages,
    decisions.pages,
    annotate.api,
    queue.api,
    agreement.api,
    agreement.exports,
    predictions.api,
    review.api,
    try_it.api,
    decisions.api,
)


def make_app(settings: ServeSettings) -> FastAPI:
    """Return the application with an open workbench; raise `UserError` if something cannot be opened."""
    workbench = Workbench(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        workbench.close()

    app = FastAPI(
        title="sayso",
        version=__version__,
        summary="Facts, the sentences that predictions rest on, and annotators' marks and decisions.",
        dependencies=[Depends(require_session), Depends(refuse_csrf), Depends(refuse_changed)],
        responses={"default": {"model": ErrorResponse, "description": "The error."}},
        exception_handlers=HANDLERS,
        lifespan=lifespan,
        # FastAPI's own pages load scripts from other sites; ours are at /api.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.workbench = workbench
    app.state.access = access.Access(workbench)
    if settings.is_local:
        # A foreign host name that resolves to this machine would let a foreign page read ours (DNS rebinding).
        hosts = ["127.0.0.1", "localhost", "[::1]", settings.bracketed_host]
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    app.add_middleware(SafetyMiddleware, max_body=settings.max_body)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


@api_pages.get("/api")
def api_page(request: Request, render: Render) -> Response:
    """List every route with its parameters, request and response."""
    description = request.app.openapi()
    operations = [
        {"method": method.upper(), "path": path, **_shown(operation)}
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return render("api.html", operations=operations, schemas=description["components"]["schemas"])


@api_pages.get("/api/openapi.json")
def openapi(request: Request) -> dict[str, Any]:
    """Return the OpenAPI description."""
    description: dict[str, Any] = request.app.openapi()
    return description


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
