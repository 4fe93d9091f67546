"""Sign in by name on this machine or by link from another one, and sign out."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from sayso.annotate.people import annotator_named, annotators
from sayso.serve.access import Bench, Sessions, Who
from sayso.serve.errors import RequestError
from sayso.serve.workbench import Workbench

router = APIRouter(include_in_schema=False)

_MAX_TOKEN = 200


@router.get("/")
def first_page(bench: Bench, _: Who) -> Response:
    """Redirect to the start page."""
    return RedirectResponse(_first_page(bench), HTTPStatus.SEE_OTHER)


def _first_page(bench: Workbench) -> str:
    """Return the start page: review if only an extraction is open, annotation otherwise."""
    return "/review" if bench.extractions and not bench.runs else "/annotate"


@router.get("/sign-in")
def sign_in_page(request: Request, bench: Bench, sessions: Sessions) -> Response:
    """Show the sign-in form, or an explanation if a link is needed."""
    with bench.database.reading() as connection:
        names = [person.name for person in annotators(connection)] if bench.settings.is_local else []
    return sessions.sign_in_form(request, "sign_in.html", names=names)


@router.post("/sign-in")
def sign_in(request: Request, bench: Bench, sessions: Sessions, name: Annotated[str, Form()]) -> Response:
    """Start a session under a name; only on this machine, where the user could read the files anyway."""
    if not bench.settings.is_local:
        raise RequestError(HTTPStatus.FORBIDDEN, "Open the link you were given.")
    with bench.database.writing() as connection:
        annotator = annotator_named(connection, name)
    return sessions.sign_in(request, annotator, _first_page(bench))


@router.get("/enter")
def enter(
    request: Request, bench: Bench, sessions: Sessions, token: Annotated[str, Query(max_length=_MAX_TOKEN)]
) -> Response:
    """Sign in by link, immediately or after a click; the token is removed from the URL.

    Another site may have sent the browser here with someone else's link. No click is needed only if the browser reports
    that the user opened the link and nobody is signed in; over plain HTTP, browsers do not report this.
    """
    annotator, signed_in = sessions.link_annotator(token), sessions.annotator(request)
    if annotator == signed_in:
        return RedirectResponse(_first_page(bench), HTTPStatus.SEE_OTHER)
    if signed_in is None and request.headers.get("sec-fetch-site") == "none":
        return sessions.sign_in(request, annotator, _first_page(bench))
    return sessions.sign_in_form(request, "enter.html", name=annotator.name, token=token)


@router.post("/enter")
def enter_after_click(
    request: Request, bench: Bench, sessions: Sessions, token: Annotated[str, Form(max_length=_MAX_TOKEN)]
) -> Response:
    """Sign in by link after confirmation."""
    return sessions.sign_in(request, sessions.link_annotator(token), _first_page(bench))


@router.post("/sign-out")
def sign_out(request: Request, sessions: Sessions) -> Response:
    """End the session."""
    return sessions.sign_out(request, "/sign-in")
