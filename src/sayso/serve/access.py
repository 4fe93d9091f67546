"""Sessions: who sent a request, the tokens that their forms must carry, and the pages to sign in and out.

Annotators sign in by name on this machine or by link from another one.
"""

import hashlib
import hmac
import secrets
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from sayso.annotate import people
from sayso.annotate.people import Annotator
from sayso.serve.responses import RequestError, page
from sayso.serve.workbench import BagFact, FactName, Workbench

router = APIRouter(include_in_schema=False)

_COOKIE_SECONDS = 90 * 24 * 3600
_MAX_TOKEN = 200
TOKEN_PREFIX = "/api/v1/"
"""Below this path, which only reads, the token of a link is accepted in place of a session."""


class Access:
    """The sessions of a workbench, stored in the database so that another process can end them."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        with bench.database.writing() as connection:
            self._secret = people.server_secret(connection)
            self._leads = {people.annotator_named(connection, name) for name in bench.settings.leads}

    @property
    def cookie(self) -> str:
        """The cookie's name; it contains the port, because browsers share cookies between ports."""
        return f"sayso-{self._bench.settings.port}"

    def annotator(self, request: HTTPConnection) -> Annotator | None:
        """Return the annotator who is signed in in this browser, or None."""
        if not hasattr(request.state, "annotator"):
            token, secret = self._sent_token(request), request.cookies.get(self.cookie, "")
            with self._bench.database.reading() as connection:
                request.state.annotator = people.secret_annotator(
                    connection, "link" if token else "session", token or secret
                )
        found: Annotator | None = request.state.annotator
        return found

    @staticmethod
    def _sent_token(request: HTTPConnection) -> str:
        """Return the token of a link that a script sends instead of a cookie; empty if there is none."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        is_for_scripts = request.url.path.startswith(TOKEN_PREFIX) and kind.lower() == "bearer"
        return token.strip()[:_MAX_TOKEN] if is_for_scripts else ""

    def is_lead(self, annotator: Annotator) -> bool:
        """Return whether someone may change settings for everyone: a lead, or the only user of this machine."""
        if self._leads or not self._bench.settings.is_local:
            return annotator in self._leads
        with self._bench.database.reading() as connection:
            return not people.has_other_sessions(connection, annotator)

    def form_token(self, request: HTTPConnection) -> str:
        """Return the token that the browser's forms must carry; it depends on the cookie and the server secret."""
        secret = request.cookies.get(self.cookie, "")
        return self._token(secret) if secret else ""

    def is_form_token(self, request: HTTPConnection, token: str) -> bool:
        """Return whether a form's token belongs to the browser's cookie."""
        return bool(token) and hmac.compare_digest(self.form_token(request).encode(), token.encode())

    def sign_in(self, request: HTTPConnection, annotator: Annotator) -> Response:
        """Start a session, ending the browser's previous one, and redirect to the start page."""
        with self._bench.database.writing() as connection:
            people.close_session(connection, request.cookies.get(self.cookie, ""))
            secret = people.new_secret(connection, "session", annotator)
        answer = self._bench.to_first_page()
        self._set_cookie(answer, secret)
        return answer

    def link_annotator(self, token: str) -> Annotator:
        """Return the annotator whose link has this token; raise if there is none."""
        with self._bench.database.reading() as connection:
            found = people.secret_annotator(connection, "link", token)
        if found is None:
            raise RequestError(HTTPStatus.FORBIDDEN, "This link is invalid or has expired; ask for a new one.")
        return found

    def sign_in_form(self, request: Request, template: str, **context: Any) -> Response:
        """Show a sign-in page, and set the cookie that its form token needs, without a session."""
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
FactParam = Annotated[FactName, Depends()]


def shown_fact(bench: Bench, asked: FactParam) -> BagFact:
    """Return the fact that the request names."""
    return bench.fact(asked)


ShownFact = Annotated[BagFact, Depends(shown_fact)]


@router.get("/")
def first_page(bench: Bench, _: Who) -> Response:
    """Redirect to the start page."""
    return bench.to_first_page()


@router.get("/sign-in")
def sign_in_page(request: Request, bench: Bench, sessions: Sessions) -> Response:
    """Show the sign-in form, or an explanation if a link is needed."""
    with bench.database.reading() as connection:
        names = [person.name for person in people.annotators(connection)] if bench.settings.is_local else []
    return sessions.sign_in_form(request, "sign_in.html", names=names)


@router.post("/sign-in")
def sign_in(request: Request, bench: Bench, sessions: Sessions, name: Annotated[str, Form()]) -> Response:
    """Start a session under a name; only on this machine, where the user could read the files anyway."""
    if not bench.settings.is_local:
        raise RequestError(HTTPStatus.FORBIDDEN, "Open the link you were given.")
    with bench.database.writing() as connection:
        named = people.annotator_named(connection, name)
    return sessions.sign_in(request, named)


@router.get("/enter")
def enter(
    request: Request, bench: Bench, sessions: Sessions, token: Annotated[str, Query(max_length=_MAX_TOKEN)]
) -> Response:
    """Sign in by link, immediately or after a click; the token is removed from the URL.

    Another site may have sent the browser here with someone else's link. The click is skipped only if the browser
    reports that the user opened the link and nobody is signed in; over plain HTTP, browsers do not report this.
    """
    annotator, signed_in = sessions.link_annotator(token), sessions.annotator(request)
    if annotator == signed_in:
        return bench.to_first_page()
    if signed_in is None and request.headers.get("sec-fetch-site") == "none":
        return sessions.sign_in(request, annotator)
    return sessions.sign_in_form(request, "enter.html", name=annotator.name, token=token)


@router.post("/enter")
def enter_after_click(
    request: Request, sessions: Sessions, token: Annotated[str, Form(max_length=_MAX_TOKEN)]
) -> Response:
    """Sign in by link after confirmation."""
    return sessions.sign_in(request, sessions.link_annotator(token))


@router.post("/sign-out")
def sign_out(request: Request, bench: Bench, sessions: Sessions) -> Response:
    """End the session."""
    with bench.database.writing() as connection:
        people.close_session(connection, request.cookies.get(sessions.cookie, ""))
    answer = RedirectResponse("/sign-in", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(sessions.cookie)
    return answer
