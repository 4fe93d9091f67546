"""Sessions and sign-in: who sent a request, and the tokens that their forms must carry."""

import hashlib
import hmac
import secrets
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from sayso.annotate import people
from sayso.annotate.people import Annotator
from sayso.annotate.store import AnnotationDatabase
from sayso.serve.errors import RequestError
from sayso.serve.render import page
from sayso.serve.settings import ServeSettings
from sayso.serve.workbench import Workbench

_COOKIE_SECONDS = 90 * 24 * 3600


class Access:
    """The sessions of a workbench, stored in the database so that another process can end them."""

    def __init__(self, database: AnnotationDatabase, settings: ServeSettings) -> None:
        self._database = database
        self._settings = settings
        with database.writing() as connection:
            self._secret = people.server_secret(connection)
            self._leads = {people.annotator_named(connection, name) for name in settings.leads}

    @property
    def cookie(self) -> str:
        """The cookie's name; it contains the port, because browsers share cookies between ports."""
        return f"sayso-{self._settings.port}"

    def annotator(self, request: HTTPConnection) -> Annotator | None:
        """Return the annotator who is signed in in this browser, or None."""
        if not hasattr(request.state, "annotator"):
            secret = request.cookies.get(self.cookie, "")
            with self._database.reading() as connection:
                request.state.annotator = people.secret_annotator(connection, "session", secret)
        found: Annotator | None = request.state.annotator
        return found

    def is_lead(self, annotator: Annotator) -> bool:
        """Return whether someone may change settings for everyone: a lead, or the only user of this machine."""
        if self._leads or not self._settings.is_local:
            return annotator in self._leads
        with self._database.reading() as connection:
            return not people.has_other_sessions(connection, annotator)

    def form_token(self, request: HTTPConnection) -> str:
        """Return the token that the browser's forms must carry; it depends on the cookie and the server secret."""
        secret = request.cookies.get(self.cookie, "")
        return self._token(secret) if secret else ""

    def is_form_token(self, request: HTTPConnection, token: str) -> bool:
        """Return whether a form's token belongs to the browser's cookie."""
        return bool(token) and hmac.compare_digest(self.form_token(request).encode(), token.encode())

    def sign_in(self, request: HTTPConnection, annotator: Annotator, to: str) -> Response:
        """Start a session, ending the browser's previous one, and redirect to a page."""
        with self._database.writing() as connection:
            people.close_session(connection, request.cookies.get(self.cookie, ""))
            secret = people.new_secret(connection, "session", annotator)
        answer = RedirectResponse(to, HTTPStatus.SEE_OTHER)
        self._set_cookie(answer, secret)
        return answer

    def sign_out(self, request: HTTPConnection, to: str) -> Response:
        """End the session and redirect to a page."""
        secret = request.cookies.get(self.cookie, "")
        with self._database.writing() as connection:
            people.close_session(connection, secret)
        answer = RedirectResponse(to, HTTPStatus.SEE_OTHER)
        answer.delete_cookie(self.cookie)
        return answer

    def link_annotator(self, token: str) -> Annotator:
        """Return the annotator whose link has this token; raise if there is none."""
        with self._database.reading() as connection:
            found = people.secret_annotator(connection, "link", token)
        if found is None:
            raise RequestError(HTTPStatus.FORBIDDEN, "This link is invalid or has expired; ask for a new one.")
        return found

    def sign_in_form(self, request: Request, template: str, **context: Any) -> Response:
        """Show a sign-in page, whose form token needs a cookie; a new one has no session yet."""
        secret = request.cookies.get(self.cookie) or secrets.token_urlsafe(32)
        answer = page(request, template, form_token=self._token(secret), **context)
        self._set_cookie(answer, secret)
        return answer

    def _set_cookie(self, answer: Response, secret: str) -> None:
        # Lax, not strict: a link in an e-mail must open with the user signed in.
        answer.set_cookie(self.cookie, secret, max_age=_COOKIE_SECONDS, httponly=True, samesite="lax", path="/")

    def _token(self, secret: str) -> str:
        return hmac.new(self._secret, secret.encode(), hashlib.sha256).hexdigest()


def workbench(request: Request) -> Workbench:
    """Return the open workbench."""
    opened: Workbench = request.app.state.workbench
    return opened


def access(request: Request) -> Access:
    """Return the workbench's sessions."""
    opened: Access = request.app.state.access
    return opened


def maybe_annotator(request: Request) -> Annotator | None:
    """Return the signed-in annotator, or None."""
    return access(request).annotator(request)


def annotator(request: Request) -> Annotator:
    """Return the signed-in annotator; if there is none, a page redirects to the sign-in form."""
    found = maybe_annotator(request)
    if found is None:
        raise RequestError(HTTPStatus.UNAUTHORIZED, "Sign in with your name first.")
    return found


def lead(request: Request) -> Annotator:
    """Return the signed-in annotator if they may change settings for everyone; raise otherwise."""
    found = annotator(request)
    if not access(request).is_lead(found):
        raise RequestError(
            HTTPStatus.FORBIDDEN, "Only a lead can change this; add leads with `sayso serve --lead NAME`."
        )
    return found


Bench = Annotated[Workbench, Depends(workbench)]
Sessions = Annotated[Access, Depends(access)]
Who = Annotated[Annotator, Depends(annotator)]
Lead = Annotated[Annotator, Depends(lead)]
MaybeWho = Annotated[Annotator | None, Depends(maybe_annotator)]
