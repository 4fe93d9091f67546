"""The application: the open workbench, the routers, the page about the JSON API, and the checks on every request.

The checks are about size, CSRF and session; every response gets security headers.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso import __version__
from sayso.serve import access, agreement, decisions, home
from sayso.serve.annotate import guideline, queue
from sayso.serve.annotate import pages as annotate
from sayso.serve.predictions import pages as predictions
from sayso.serve.responses import (
    HANDLERS,
    SAFETY_HEADERS,
    STATIC,
    STATIC_URL,
    ErrorResponse,
    Render,
    RequestError,
    answer,
)
from sayso.serve.review import pages as review
from sayso.serve.server import ServeSettings
from sayso.serve.try_it import pages as try_it
from sayso.serve.workbench import Workbench

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_STATIC = "/static/"
_SIGN_IN_PATHS = ("/enter", "/sign-in")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

TOKEN_HEADER, TOKEN_FIELD = "X-Form-Token", "form_token"

api_pages = APIRouter(include_in_schema=False)

ROUTERS: tuple[APIRouter, ...] = (
    access.router,
    home.pages,
    annotate.pages,
    queue.pages,
    guideline.pages,
    agreement.pages,
    api_pages,
    predictions.pages,
    review.pages,
    try_it.pages,
    decisions.pages,
    home.api,
    annotate.api,
    queue.api,
    guideline.api,
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
    for url in (STATIC_URL, _STATIC):
        app.mount(url.rstrip("/"), StaticFiles(directory=STATIC))
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


class SafetyMiddleware:
    """Refuse requests that are too large or incomplete, and add security headers to all responses."""

    def __init__(self, app: ASGIApp, max_body: int) -> None:
        self._app = app
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**SAFETY_HEADERS, **_caching(scope["path"])}.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            body = await _whole_body(scope, receive, self._max_body)
        except RequestError as problem:
            await answer(Request(scope), problem)(scope, receive, send_safely)
            return
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return unread.pop() if unread else await receive()

        await self._app(scope, receive_again, send_safely)


def _caching(path: str) -> dict[str, str]:
    """Return the header that says how long a browser keeps a static file."""
    if not path.startswith(_STATIC):
        return {}
    # Without a fingerprint, a file is revalidated each time and sent only if changed.
    return {"Cache-Control": "public, max-age=31536000, immutable" if path.startswith(STATIC_URL) else "no-cache"}


async def _whole_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Read the whole body, up to the limit, even if its Content-Length is wrong."""
    length = Headers(scope=scope).get("content-length", "0")
    if not length.isdecimal() or int(length) > limit:
        raise _too_large(limit)
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            # Half a form may look like a complete one.
            raise RequestError(HTTPStatus.REQUEST_TIMEOUT, "The request was incomplete.")
        body += message.get("body", b"")
        has_more = message.get("more_body", False)
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def _too_large(limit: int) -> RequestError:
    return RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The request is larger than {limit:,} bytes.")


async def refuse_csrf(request: Request) -> None:
    """Refuse a request that changes data unless one of our own pages sent it (CSRF)."""
    if request.method in _SAFE:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    is_ours = site in (None, "same-origin", "none") and origin in (None, str(request.base_url).rstrip("/"))
    token = request.headers.get(TOKEN_HEADER, "")
    if not token and request.headers.get("content-type", "").startswith(_FORMS):
        token = str((await request.form()).get(TOKEN_FIELD, ""))
    if not is_ours or not request.app.state.access.is_form_token(request, token):
        raise RequestError(
            HTTPStatus.FORBIDDEN, "This request did not come from a page of the workbench; reload the page."
        )


def refuse_changed(request: Request) -> None:
    """Refuse to show a store that has changed since it was opened; marks and decisions are still saved."""
    if request.method in _SAFE and request.url.path not in _SIGN_IN_PATHS:
        request.app.state.workbench.refuse_changed()


async def require_session(request: Request) -> None:
    """Require a session if other machines can connect; the sign-in pages are always open."""
    state = request.app.state
    if state.workbench.settings.is_local or request.url.path in _SIGN_IN_PATHS:
        return
    if state.access.annotator(request) is None:
        raise RequestError(HTTPStatus.UNAUTHORIZED, "Open the link you were given.")
