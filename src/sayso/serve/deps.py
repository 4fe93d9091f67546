"""What a request can ask for: the opened workbench, and who is signed in."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request

from sayso.annotate.people import Annotator
from sayso.serve.access import Access
from sayso.serve.errors import RequestError
from sayso.serve.state import Workbench


def workbench(request: Request) -> Workbench:
    """Return what the application has open."""
    opened: Workbench = request.app.state.workbench
    return opened


def access(request: Request) -> Access:
    """Return the sessions."""
    opened: Access = request.app.state.access
    return opened


def perhaps_annotator(request: Request) -> Annotator | None:
    """Return who is signed in, if anybody is."""
    return access(request).annotator(request)


def annotator(request: Request) -> Annotator:
    """Return who is signed in; nobody is a problem that a page answers with the sign-in form."""
    found = perhaps_annotator(request)
    if found is None:
        raise RequestError(HTTPStatus.UNAUTHORIZED, "Sign in with your name first.")
    return found


def lead(request: Request) -> Annotator:
    """Return who is signed in, if they may change what is set for everybody; others are refused."""
    found = annotator(request)
    if not access(request).is_lead(found):
        raise RequestError(
            HTTPStatus.FORBIDDEN, "Only a lead can change this; `sayso serve --lead NAME` names the leads."
        )
    return found


Bench = Annotated[Workbench, Depends(workbench)]
Sessions = Annotated[Access, Depends(access)]
Who = Annotated[Annotator, Depends(annotator)]
Lead = Annotated[Annotator, Depends(lead)]
PerhapsWho = Annotated[Annotator | None, Depends(perhaps_annotator)]
