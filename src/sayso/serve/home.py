"""The start page with everyone's next step, and the page on which leads give people roles and links."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate import agreement, people
from sayso.annotate.assignment import queue_progress
from sayso.annotate.people import Annotator, Person, Role
from sayso.annotate.queue import read_settings
from sayso.annotate.store import Connection
from sayso.errors import UserError
from sayso.serve.access import Bench, Lead, Sessions, Who, own_url
from sayso.serve.annotate.pages import next_step
from sayso.serve.annotate.schemas import StrictModel
from sayso.serve.responses import Render, RequestError, not_found
from sayso.serve.workbench import BagFact, Workbench

api = APIRouter(prefix="/api/people", tags=["people"])
pages = APIRouter(include_in_schema=False)

PersonName = Annotated[str, Field(min_length=1, max_length=people.MAX_NAME)]


class PersonRequest(StrictModel):
    """Someone's name."""

    name: PersonName


class RoleRequest(PersonRequest):
    """Someone's name and role; a new name is added."""

    role: Role


class RoleForm(BaseModel):
    """The form with someone's name and role."""

    name: PersonName
    role: Role


@dataclass(frozen=True, kw_only=True)
class PersonResponse(Person):
    """Someone with their role; leads are named when the workbench starts."""

    role: Role | Literal["lead"]  # type: ignore[assignment]


class LinkResponse(BaseModel):
    """A new link to sign in; it is not stored and cannot be shown again."""

    name: str
    link: str


class ReviewProgress(NamedTuple):
    """An extraction, with the number of its facts and how many are decided; None if the file cannot be read."""

    name: str
    num_facts: int | None
    num_decided: int | None


@pages.get("/")
def home(render: Render, bench: Bench, sessions: Sessions, who: Who) -> Response:
    """Show the next step and the progress of the signed-in person, by what they may do."""
    may_mark, may_settle = sessions.may(who, "mark"), sessions.may(who, "settle")
    is_lead = sessions.is_lead(who)
    with bench.database.reading() as connection:
        disputed = _open_disputes(bench, connection) if may_settle else []
        step = next_step(bench, connection, who) if may_mark else {}
        queue = queue_progress(connection, bench.queue(read_settings(connection))) if is_lead else None
    return render(
        "home.html",
        **step,
        role=sessions.role(who),
        roles=people.ROLES,
        is_review_first=bool(bench.extractions) and not bench.runs,
        extractions=_review_progress(bench),
        disputed=disputed,
        queue=queue,
        num_undefined=sum(not each.definition for each in bench.relations),
    )


def _open_disputes(bench: Workbench, connection: Connection) -> list[BagFact]:
    """Return the facts with disagreements that nobody has settled."""
    found = agreement.disagreements(connection)
    open_ones = (fact for fact, sentences in found.items() if not all(each.settled for each in sentences))
    return [shown for fact in open_ones if (shown := bench.fact_of(fact))]


def _review_progress(bench: Workbench) -> list[ReviewProgress]:
    found = []
    for name, file in bench.extractions.items():
        try:
            with bench.database.reading() as connection:
                file.index.follow(connection)
            found.append(ReviewProgress(name, file.index.num_facts, file.index.num_decided))
        except UserError:  # its own page says what is wrong
            found.append(ReviewProgress(name, None, None))
    return found


@api.get("")
def get_people(bench: Bench, sessions: Sessions, _: Lead) -> list[PersonResponse]:
    """Return everyone with their role (leads only)."""
    with bench.database.reading() as connection:
        found = people.everyone(connection)
    leads = {name.casefold() for name in sessions.leads}
    return [
        PersonResponse(
            name=each.name,
            role="lead" if each.name.casefold() in leads else each.role,
            link_created=each.link_created,
        )
        for each in found
    ]


@api.put("")
def put_role(bench: Bench, _: Lead, given: RoleRequest) -> None:
    """Add someone, or change their role (leads only); `--lead` on the command line names leads."""
    with bench.database.writing() as connection:
        people.set_role(connection, people.annotator_named(connection, given.name), given.role)


@api.post("/link")
def post_link(request: Request, bench: Bench, sessions: Sessions, _: Lead, given: PersonRequest) -> LinkResponse:
    """Replace someone's link, ending their link and sessions until now (leads only)."""
    if bench.settings.is_local:
        raise RequestError(
            HTTPStatus.BAD_REQUEST, "Links are for other machines, which cannot reach this workbench; see --host."
        )
    with bench.database.writing() as connection:
        person = _known(people.annotators(connection), given.name)
        people.end_links(connection, person, kept=sessions.secret(request))
        secret = people.new_secret(connection, "link", person)
    return LinkResponse(name=person.name, link=f"{own_url(request, bench)}enter?token={secret}")


@api.post("/revoke")
def post_revocation(request: Request, bench: Bench, sessions: Sessions, _: Lead, given: PersonRequest) -> None:
    """End someone's link and sessions (leads only), except the session that asks."""
    with bench.database.writing() as connection:
        person = _known(people.annotators(connection), given.name)
        people.end_links(connection, person, kept=sessions.secret(request))


def _known(found: Sequence[Annotator], name: str) -> Annotator:
    for each in found:
        if each.name.casefold() == " ".join(name.split()).casefold():
            return each
    raise not_found(f"Nobody is called {name!r}.")


@pages.get("/people")
def people_page(render: Render, bench: Bench, sessions: Sessions, who: Lead) -> Response:
    """Show everyone with their role and link (leads only)."""
    return _people_page(render, bench, sessions, who)


def _people_page(
    render: Render, bench: Workbench, sessions: Sessions, who: Annotator, new: LinkResponse | None = None
) -> Response:
    found = get_people(bench, sessions, who)
    return render("people.html", people=found, roles=people.ROLES, new=new, max_name=people.MAX_NAME)


@pages.post("/people")
def save_role(
    request: Request,
    render: Render,
    bench: Bench,
    sessions: Sessions,
    who: Lead,
    given: Annotated[RoleForm, Form()],
) -> Response:
    """Add someone, whose link is then shown, or change their role."""
    with bench.database.reading() as connection:
        is_new = given.name.casefold() not in {each.name.casefold() for each in people.annotators(connection)}
    put_role(bench, who, RoleRequest(name=given.name, role=given.role))
    if is_new and not bench.settings.is_local:
        return replace_link(request, render, bench, sessions, who, given.name)
    return RedirectResponse("/people", HTTPStatus.SEE_OTHER)


@pages.post("/people/link")
def replace_link(
    request: Request,
    render: Render,
    bench: Bench,
    sessions: Sessions,
    who: Lead,
    name: Annotated[str, Form(max_length=people.MAX_NAME)],
) -> Response:
    """Replace someone's link and show the new one, once."""
    new = post_link(request, bench, sessions, who, PersonRequest(name=name))
    return _people_page(render, bench, sessions, who, new)


@pages.post("/people/revoke")
def revoke_link(
    request: Request,
    bench: Bench,
    sessions: Sessions,
    who: Lead,
    name: Annotated[str, Form(max_length=people.MAX_NAME)],
) -> Response:
    """End someone's link and sessions."""
    post_revocation(request, bench, sessions, who, PersonRequest(name=name))
    return RedirectResponse("/people", HTTPStatus.SEE_OTHER)
