"""Responses: rendered pages, in which every value is escaped, downloads, and errors.

An error has the same message as JSON under `/api` and as a page elsewhere:
`{"error": {"status": 404, "code": "not_found", "message": "…", "details": […]}}`
"""

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from jinja2.ext import Extension
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from sayso.annotate.marking import StaleError
from sayso.annotate.people import now
from sayso.annotate.store import BusyError, DiskFullError
from sayso.errors import UserError
from sayso.facts.html import StyledText, make_environment, plain_text, styled_quote, styled_sentence, styled_words
from sayso.io.checksum import ChangedError
from sayso.records import SUPPORT_LABELS, Sentence, Triple
from sayso.serve.faults import fault_text, status_text, status_title

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

_MAX_PAGE = 2_000

_log = logging.getLogger(__name__)

_MOVED = {
    "/facts": "/predictions",
    "/found": "/review",
    "/curate": "/decisions",
    "/agree": "/agreement",
    "/annotations/remarks": "/annotations/comments",
}
"""Paths in version 0.1, with or without `/api`, and their new paths; bookmarks and queued decisions still use them."""


def spaced(name: str) -> str:
    """Return an entity's name with spaces instead of underscores.

    >>> spaced("el_paso")
    'el paso'
    """
    return name.replace("_", " ").strip() or name


def percent(share: float | None) -> str:
    """Format a fraction as a percentage.

    >>> percent(0.875), percent(None)
    ('88 %', '–')
    """
    return "–" if share is None else f"{share:.0%}".replace("%", " %")


def figure(value: float | None) -> str:
    """Format a value with two decimals.

    >>> figure(0.5), figure(None)
    ('0.50', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def with_mentions(sentence: Sentence) -> list[StyledText]:
    """Return the sentence as styled text, with its mentions marked."""
    spans = {"head_spans": sentence.head.spans, "tail_spans": sentence.tail.spans}
    source = sentence.source and sentence.source._asdict()
    names = {"head": sentence.head.name, "tail": sentence.tail.name}
    return list(styled_sentence({"tokens": sentence.tokens, **spans, "source": source, "names": names}))


def prediction_url(run: str, bag: int, relation: str, **more: object) -> str:
    """Return the URL of a fact in a run's predictions; empty values of `more` are left out."""
    values = {"bag": bag, "relation": relation, **{name: value for name, value in more.items() if value}}
    return f"/predictions/{quote(run, safe='')}/fact?{urlencode(values)}"


def review_url(facts: str, fact: Triple, within: str = "") -> str:
    """Return the URL of an extracted fact."""
    values = {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id}
    return f"/review/{quote(facts, safe='')}/fact?{urlencode(values | ({'within': within} if within else {}))}"


FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"


def _fingerprint(folder: Path) -> str:
    """Return a hash of all files in a folder."""
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(folder.rglob("*.*")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


STATIC_URL = f"/static/{_fingerprint(STATIC)}/"
"""The URL of the static files; it changes with their content, so browsers keep them without asking again."""


class _FingerprintedLinks(Extension):
    """Rewrites the URLs of static files in templates; scripts import each other by relative URLs."""

    def preprocess(self, source: str, *_: object) -> str:
        """Return the template with the new URLs."""
        return source.replace('"/static/', f'"{STATIC_URL}')


_environment = make_environment(FOLDER / "templates")
_environment.add_extension(_FingerprintedLinks)
_FILTERS = (
    *(spaced, plain_text, percent, figure, status_title),
    *(styled_quote, styled_sentence, styled_words, with_mentions),
)
_environment.filters |= {each.__name__: each for each in _FILTERS}
_environment.globals |= {
    "support_labels": SUPPORT_LABELS,
    "prediction_url": prediction_url,
    "review_url": review_url,
}


_ROOTED = re.compile(r'(?<=\s)(href|src|action|formaction)="/(?!/)')
"""A link to a page of ours. All values are escaped, so a quotation mark in a page is one of its template."""


def page(request: Request, template: str, status: int = HTTPStatus.OK, **context: Any) -> HTMLResponse:
    """Render a template with `context`, the signed-in annotator and the open workbench.

    Links, like those in redirects and in JSON, begin with `/`; here they get the path of the public URL.
    """
    access, bench = request.app.state.access, request.app.state.workbench
    annotator = access.annotator(request)
    shared = {
        "annotator": annotator,
        "is_lead": lambda: access.is_lead(annotator),
        "may": lambda action: access.may(annotator, action),
        "form_token": access.form_token(request),
        "bench": bench,
        "section": template.partition("/")[0],
    }
    text, root = _environment.get_template(template).render(**(shared | context)), bench.settings.root
    return HTMLResponse(_ROOTED.sub(rf'\1="{root}/', text) if root else text, status_code=status)


def download(about: str, file: str, content: str | bytes, media_type: str) -> Response:
    """Return a file that the browser saves; its name says what it is about, what it contains and the date (UTC)."""
    kind, dot, suffix = file.partition(".")
    name = f"{about}-{kind}-{now()[:10]}{dot}{suffix}"
    plain = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII)
    headers = {"Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type=media_type, headers=headers)


def renderer(request: Request) -> Callable[..., HTMLResponse]:
    """Return `page` for this request."""
    return partial(page, request)


Render = Annotated[Callable[..., HTMLResponse], Depends(renderer)]


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


def nothing_to_export(reason: str) -> RequestError:
    """Return the error for an export without content."""
    return RequestError(HTTPStatus.NOT_FOUND, f"Nothing to export: {reason}.")


def answer(request: Request, problem: RequestError) -> Response:
    """Return the error as JSON under `/api`, as a page elsewhere."""
    status = problem.body.status
    if request.url.path.startswith("/api/"):
        return JSONResponse(ErrorResponse(error=problem.body).model_dump(), status, SAFETY_HEADERS)
    if status is HTTPStatus.UNAUTHORIZED and request.method == "GET":
        to_sign_in: Response = request.app.state.access.ask_to_sign_in(request)
        return to_sign_in
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
            url = request.url
            return f"{url.path.replace(old, new, 1)}{'?' * bool(url.query)}{url.query}"
    return None


HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(
    (RequestError, UserError, HTTPException, RequestValidationError, Exception), _answer
)


_STATUSES: dict[type[UserError], HTTPStatus] = {
    DiskFullError: HTTPStatus.INSUFFICIENT_STORAGE,
    BusyError: HTTPStatus.SERVICE_UNAVAILABLE,
    StaleError: HTTPStatus.CONFLICT,
}
"""The status of errors that the user can fix, if it is not 400."""


def _problem(error: Exception) -> RequestError:
    match error:
        case RequestError():
            return error
        case ChangedError():
            return RequestError(HTTPStatus.CONFLICT, f"{error}; restart the workbench.")
        case UserError():
            return RequestError(_STATUSES.get(type(error), HTTPStatus.BAD_REQUEST), str(error))
        case HTTPException():
            status = HTTPStatus(error.status_code)
            return RequestError(status, status_text(status))
        case RequestValidationError():
            details = list(map(fault_text, error.errors()))
            return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "The request is invalid.", details)
    _log.error("request failed", exc_info=error)
    return RequestError(
        HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error in sayso; see its terminal output for details."
    )


def is_own_page(url: str) -> bool:
    """Return whether a URL is a page of the workbench, to which a sign-in may redirect.

    >>> is_own_page("/agreement?relation=a"), is_own_page("//evil.example"), is_own_page("/sign-in")
    (True, False, False)
    """
    # Browsers read a backslash as a slash, and leave out tabs and newlines.
    is_path = url.startswith("/") and not url.startswith(("//", "/\\")) and url.isprintable()
    return is_path and len(url) <= _MAX_PAGE and urlsplit(url).path not in ("/sign-in", "/sign-out", "/enter")
