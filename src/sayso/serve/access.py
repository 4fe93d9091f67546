"""Sessions: who sent a request and what they may do, the tokens of their forms, and the pages to sign in and out.

People sign in by name on this machine or by link from another one, and return to the page they came from.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, Form, Query, Request
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from sayso.annotate import people
from sayso.annotate.people import Annotator
from sayso.serve.responses import RequestError, is_own_page, page
from sayso.serve.workbench import BagFact, FactName, Workbench

router = APIRouter(include_in_schema=False)

Action = Literal["mark", "decide", "settle"]

_COOKIE_SECONDS = 90 * 24 * 3600
_PAGE_SECONDS = 600
_MAX_TOKEN = 200
TOKEN_PREFIX = "/api/v1/"
"""Below this path, which only reads, the token of a link is accepted in place of a session."""
_ALLOWED: dict[Action, tuple[str, ...]] = {
    "mark": ("lead", "annotator"),
    "decide": ("lead", "annotator", "reviewer"),
    "settle": ("lead",),
}
_REFUSALS: dict[Action, str] = {
    "mark": "A {role} cannot mark sentences; a lead can give you another role.",
    "decide": "A {role} cannot decide on facts; a lead can give you another role.",
    "settle": "Only a lead can settle disagreements; add leads with `sayso serve --lead NAME`.",
}


def own_url(request: HTTPConnection, bench: Workbench) -> str:
    """Return the URL of the start page as the browser sees it, also behind a proxy with a path."""
    return f"{str(request.base_url).rstrip('/')}{bench.settings.root}/"


class Access:
    """The sessions of a workbench, stored in the database so that another process can end them."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        with bench.database.writing() as connection:
            self._secret = people.server_secret(connection)
            self._leads = {people.annotator_named(connection, name) for name in bench.settings.leads}
            for name in bench.settings.reviewers:
                people.set_role(connection, people.annotator_named(connection, name), "reviewer")
            for name in bench.settings.readers:
                people.set_role(connection, people.annotator_named(connection, name), "reader")

    @property
    def cookie(self) -> str:
        """The cookie's name; it contains the port, because browsers share cookies between ports."""
        return f"sayso-{self._bench.settings.port}"

    @property
    def leads(self) -> list[str]:
        """The names of the leads named on the command line."""
        return [lead.name for lead in self._leads]

    def secret(self, request: HTTPConnection) -> str:
        """Return the secret of the browser's session, empty without one."""
        return request.cookies.get(self.cookie, "")

    def annotator(self, request: HTTPConnection) -> Annotator | None:
        """Return the annotator who is signed in in this browser, or None."""
        if not hasattr(request.state, "annotator"):
            token, secret = self._sent_token(request), self.secret(request)
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

    def role(self, annotator: Annotator) -> Literal["lead"] | people.Role:
        """Return someone's role."""
        if self.is_lead(annotator):
            return "lead"
        with self._bench.database.reading() as connection:
            return people.role_of(connection, annotator)

    def may(self, annotator: Annotator | None, action: Action) -> bool:
        """Return whether someone may do this; without a lead, annotators settle disagreements."""
        if annotator is None:
            return False
        role = self.role(annotator)
        return role in _ALLOWED[action] or (action == "settle" and role == "annotator" and not self._leads)

    def form_token(self, request: HTTPConnection) -> str:
        """Return the token that the browser's forms must carry; it depends on the cookie and the server secret."""
        secret = self.secret(request)
        return self._token(secret) if secret else ""

    def is_form_token(self, request: HTTPConnection, token: str) -> bool:
        """Return whether a form's token belongs to the browser's cookie."""
        return bool(token) and hmac.compare_digest(self.form_token(request).encode(), token.encode())

    def sign_in(self, request: HTTPConnection, annotator: Annotator) -> Response:
        """Start a session, ending the browser's previous one, and redirect to the page that asked to sign in."""
        with self._bench.database.writing() as connection:
            people.close_session(connection, self.secret(request))
            secret = people.new_secret(connection, "session", annotator)
        before = unquote(request.cookies.get(self._page_cookie, ""))
        answer = RedirectResponse(before if is_own_page(before) else "/", HTTPStatus.SEE_OTHER)
        self._set_cookie(answer, self.cookie, secret)
        answer.delete_cookie(self._page_cookie)
        return answer

    def ask_to_sign_in(self, request: HTTPConnection) -> Response:
        """Redirect to the sign-in page, which redirects back."""
        answer = RedirectResponse("/sign-in", HTTPStatus.SEE_OTHER)
        self.remember_page(answer, f"{request.url.path}?{request.url.query}".rstrip("?"))
        return answer

    def remember_page(self, answer: Response, url: str) -> None:
        """Redirect to this page after the next sign-in in this browser, if it is one of ours.

        The URL is in a cookie, not in a parameter, so that no link from elsewhere can choose it.
        """
        if is_own_page(url):
            self._set_cookie(answer, self._page_cookie, quote(url, safe=""), _PAGE_SECONDS)

    @property
    def _page_cookie(self) -> str:
        return f"{self.cookie}-page"

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
        self._set_cookie(answer, self.cookie, secret)
        return answer

    @staticmethod
    def _set_cookie(answer: Response, name: str, value: str, seconds: int = _COOKIE_SECONDS) -> None:
        # Lax, not strict: a link in an e-mail must open with the user signed in.
        answer.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", path="/")

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


def _with_permission(action: Action) -> Callable[[Request], Annotator]:
    """Return a dependency: the signed-in person, if they may do this; raise otherwise."""

    def check(request: Request) -> Annotator:
        found = annotator(request)
        if not access(request).may(found, action):
            refusal = _REFUSALS[action].format(role=access(request).role(found))
            raise RequestError(HTTPStatus.FORBIDDEN, refusal)
        return found

    return check


Bench = Annotated[Workbench, Depends(workbench)]
Sessions = Annotated[Access, Depends(access)]
Who = Annotated[Annotator, Depends(annotator)]
Lead = Annotated[Annotator, Depends(lead)]
Marker = Annotated[Annotator, Depends(_with_permission("mark"))]
Decider = Annotated[Annotator, Depends(_with_permission("decide"))]
Settler = Annotated[Annotator, Depends(_with_permission("settle"))]
MaybeWho = Annotated[Annotator | None, Depends(maybe_annotator)]
FactParam = Annotated[FactName, Depends()]


def shown_fact(bench: Bench, asked: FactParam) -> BagFact:
    """Return the fact that the request names."""
    return bench.fact(asked)


ShownFact = Annotated[BagFact, Depends(shown_fact)]


@router.get("/sign-in")
def sign_in_page(request: Request, bench: Bench, sessions: Sessions, is_return: bool = False) -> Response:
    """Show the sign-in form, or an explanation if a link is needed; then return to the page with the link here."""
    with bench.database.reading() as connection:
        names = [person.name for person in people.annotators(connection)] if bench.settings.is_local else []
    answer = sessions.sign_in_form(request, "sign_in.html", names=names)
    referrer, ours = request.headers.get("referer", ""), own_url(request, bench)
    if is_return and referrer.startswith(ours):
        sessions.remember_page(answer, f"/{referrer.removeprefix(ours)}")
    return answer


@router.post("/sign-in")
def sign_in(request: Request, bench: Bench, sessions: Sessions, name: Annotated[str, Form()]) -> Response:
    """Start a session under a name; only on this machine, where the user could read the files anyway."""
    if not bench.settings.is_local:
        raise RequestError(HTTPStatus.FORBIDDEN, "Open the link you were given.")
    with bench.database.writing() as connection:
        named = people.annotator_named(connection, name)
    return sessions.sign_in(request, named)


@router.get("/enter")
def enter(request: Request, sessions: Sessions, token: Annotated[str, Query(max_length=_MAX_TOKEN)]) -> Response:
    """Sign in by link, immediately or after a click; the token is removed from the URL.

    Another site may have sent the browser here with someone else's link. The click is skipped only if the browser
    reports that the user opened the link and nobody is signed in; over plain HTTP, browsers do not report this.
    """
    annotator, signed_in = sessions.link_annotator(token), sessions.annotator(request)
    if annotator == signed_in:
        return RedirectResponse("/", HTTPStatus.SEE_OTHER)
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
