"""Checks on every request (size, CSRF, session) and security headers on every response."""

from http import HTTPStatus

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.serve.errors import SAFETY_HEADERS, RequestError, answer

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_STATIC = "/static/"
_SIGN_IN_PATHS = ("/enter", "/sign-in")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

TOKEN_HEADER, TOKEN_FIELD = "X-Form-Token", "form_token"


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
                if scope["path"].startswith(_STATIC):
                    headers["Cache-Control"] = "no-cache"  # revalidated each time, sent only if changed
                for name, value in SAFETY_HEADERS.items():
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
    """Refuse a request that changes something unless one of our own pages sent it (CSRF)."""
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
