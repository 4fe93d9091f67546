"""The application: the open workbench, the routers, and the checks on every request.

The checks are about size, CSRF and session; every response gets security headers.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso import __version__
from sayso.serve import access, agreement, decisions, home, public
from sayso.serve.annotate import guideline, queue
from sayso.serve.annotate import pages as annotate
from sayso.serve.predictions import pages as predictions
from sayso.serve.responses import (
    HANDLERS,
    SAFETY_HEADERS,
    STATIC,
    STATIC_URL,
    ErrorResponse,
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
_COOKIE_PATH = re.compile(r"; Path=/(?=;|$)")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

TOKEN_HEADER, TOKEN_FIELD = "X-Form-Token", "form_token"

ROUTERS: tuple[APIRouter, ...] = (
    access.router,
    home.pages,
    annotate.pages,
    queue.pages,
    guideline.pages,
    agreement.pages,
    public.pages,
    predictions.pages,
    review.pages,
    try_it.pages,
    decisions.pages,
    public.v1,
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
    app.add_middleware(SafetyMiddleware, max_body=settings.max_body, public_url=settings.public_url)
    for router in ROUTERS:
        app.include_router(router)
    for url in (STATIC_URL, _STATIC):
        app.mount(url.rstrip("/"), StaticFiles(directory=STATIC))
    return app


class SafetyMiddleware:
    """Refuse requests that are too large or incomplete, and add security headers to all responses.

    Behind a proxy, the application sees paths without that of the public URL; redirects and cookies get it again.
    """

    def __init__(self, app: ASGIApp, max_body: int, public_url: str = "") -> None:
        self._app = app
        self._max_body = max_body
        public = urlsplit(public_url)
        self._scheme, self._host, self._root = public.scheme, public.netloc, public.path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = self._as_public(scope)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**SAFETY_HEADERS, **_caching(scope["path"])}.items():
                    headers.setdefault(name, value)
                if self._host:
                    self._make_public(headers)
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

    def _as_public(self, scope: Scope) -> Scope:
        """Return the request as it was sent to the public URL, whatever its proxy says; without the path of the URL."""
        if not self._host:
            return scope
        path = scope["path"]
        if path == self._root or path.startswith(f"{self._root}/"):
            path = path.removeprefix(self._root) or "/"
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        return {**scope, "path": path, "scheme": self._scheme, "headers": [(b"host", self._host.encode()), *others]}

    def _make_public(self, headers: MutableHeaders) -> None:
        """Complete a redirect, and restrict cookies to the path and to HTTPS if the public URL has it."""
        if location := headers.get("location", ""):
            path = location.removeprefix(f"{self._scheme}://{self._host}")
            if path.startswith("/") and not f"{path}/".startswith(f"{self._root}/"):
                headers["location"] = f"{self._root}{path}"
        cookies = headers.getlist("set-cookie")
        del headers["set-cookie"]
        for cookie in cookies:
            restricted = _COOKIE_PATH.sub(f"; Path={self._root or '/'}", cookie)
            headers.append("set-cookie", f"{restricted}{'; Secure' * (self._scheme == 'https')}")


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
