"""Error responses: JSON under `/api`, a page elsewhere, with the same message.

`{"error": {"status": 404, "code": "not_found", "message": "…", "details": […]}}`
"""

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from sayso.annotate.store import BusyError, DiskFullError
from sayso.errors import UserError
from sayso.io.checksum import ChangedError
from sayso.serve.render import page

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SAFETY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # `no-referrer` would remove the Origin header of forms, which we check.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


_log = logging.getLogger(__name__)

_MOVED = {
    "/facts": "/predictions",
    "/found": "/review",
    "/curate": "/decisions",
    "/agree": "/agreement",
    "/annotations/remarks": "/annotations/comments",
}
"""Paths in version 0.1, with or without `/api`, and their new paths; bookmarks and queued decisions still use them."""


class ErrorBody(BaseModel):
    """An error; `details` says where it is, if known."""

    status: HTTPStatus
    code: str
    message: str
    details: list[str]


class ErrorResponse(BaseModel):
    """The body of every error response under `/api`."""

    error: ErrorBody


class RequestError(Exception):
    """An error response: the HTTP status and one sentence that says what is wrong or what to do."""

    def __init__(self, status: HTTPStatus, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.body = ErrorBody(status=status, code=status.name.lower(), message=message, details=list(details))


def not_found(what: str) -> RequestError:
    """Return a 404 error."""
    return RequestError(HTTPStatus.NOT_FOUND, what)


def answer(request: Request, problem: RequestError) -> Response:
    """Return the error as JSON under `/api`, as a page elsewhere."""
    status = problem.body.status
    if request.url.path.startswith("/api/"):
        return JSONResponse(ErrorResponse(error=problem.body).model_dump(), status, SAFETY_HEADERS)
    if status is HTTPStatus.UNAUTHORIZED and request.method == "GET":
        return RedirectResponse("/sign-in", HTTPStatus.SEE_OTHER)
    shown = page(request, "error.html", status, problem=problem.body)
    # Internal errors are handled outside the middleware that adds these headers.
    shown.headers.update(SAFETY_HEADERS)
    return shown


def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND and (moved := _moved(request)):
        return RedirectResponse(moved, HTTPStatus.PERMANENT_REDIRECT)
    return answer(request, _problem(error))


def _moved(request: Request) -> str | None:
    """Return the new URL of a renamed path."""
    path = request.url.path.removeprefix("/api")
    for old, new in _MOVED.items():
        if path == old or path.startswith(f"{old}/"):
            return str(request.url.replace(path=request.url.path.replace(old, new, 1)))
    return None


HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(
    (RequestError, UserError, HTTPException, RequestValidationError, Exception), _answer
)


def _problem(error: Exception) -> RequestError:
    match error:
        case RequestError():
            return error
        case DiskFullError():
            return RequestError(HTTPStatus.INSUFFICIENT_STORAGE, str(error))
        case BusyError():
            return RequestError(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        case ChangedError():
            return RequestError(HTTPStatus.CONFLICT, f"{error}; restart the workbench.")
        case UserError():
            return RequestError(HTTPStatus.BAD_REQUEST, str(error))
        case HTTPException():
            status = HTTPStatus(error.status_code)
            return RequestError(status, "Page not found." if status is HTTPStatus.NOT_FOUND else str(error.detail))
        case RequestValidationError():
            details = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
            return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "The request is invalid.", details)
    _log.error("request failed", exc_info=error)
    return RequestError(
        HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error in sayso; see its terminal output for details."
    )
