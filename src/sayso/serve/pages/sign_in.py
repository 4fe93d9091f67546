"""The door: signing in by name on this machine, by a link from elsewhere, and signing out."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from sayso.annotate.people import annotator_named, annotators
from sayso.serve.deps import Bench, Sessions
from sayso.serve.errors import RequestError
from sayso.serve.render import page

router = APIRouter(include_in_schema=False)


@router.get("/")
def first_page() -> Response:
    """Go on to the annotator's work."""
    return RedirectResponse("/annotate", HTTPStatus.SEE_OTHER)


@router.get("/sign-in")
def sign_in_page(request: Request, bench: Bench, sessions: Sessions) -> Response:
    """Show the form for a name, or what to do where names alone do not open the door."""
    with bench.database.reading() as connection:
        names = [person.name for person in annotators(connection)] if bench.settings.is_local else []
    secret, token = sessions.meet(request)
    answer = page(request, "sign_in.html", names=names, form_token=token)
    sessions.set_cookie(answer, secret)
    return answer


@router.post("/sign-in")
def sign_in(bench: Bench, sessions: Sessions, name: Annotated[str, Form()]) -> Response:
    """Start a session under a name; only on this machine, where whoever asks could read the files as well."""
    if not bench.settings.is_local:
        raise RequestError(HTTPStatus.FORBIDDEN, "Open the link that you were given.")
    with bench.database.writing() as connection:
        annotator = annotator_named(connection, name)
    return sessions.sign_in(annotator, "/annotate")


@router.get("/enter")
def enter(sessions: Sessions, token: Annotated[str, Query(max_length=200)]) -> Response:
    """Start a session by a link; the token does not stay in the address."""
    annotator = sessions.link_annotator(token)
    if annotator is None:
        raise RequestError(HTTPStatus.FORBIDDEN, "This link is not valid, or no longer; ask for a new one.")
    return sessions.sign_in(annotator, "/annotate")


@router.post("/sign-out")
def sign_out(request: Request, sessions: Sessions) -> Response:
    """End the session."""
    return sessions.sign_out(request, "/sign-in")
