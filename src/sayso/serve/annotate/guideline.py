"""The guideline for annotators with its versions, and the definitions of relations; pages and JSON API."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from sayso.annotate import guideline
from sayso.annotate.marking import StaleError
from sayso.serve.access import Bench, Lead, Who
from sayso.serve.annotate.schemas import StrictModel
from sayso.serve.responses import Render, download, not_found
from sayso.serve.workbench import Workbench

api = APIRouter(prefix="/api", tags=["project"])
pages = APIRouter(include_in_schema=False)


class GuidelineText(StrictModel):
    """The guideline for annotators; with `version`, refused (409) if it has changed since that version."""

    text: Annotated[str, Field(max_length=guideline.MAX_LENGTH)] = ""
    version: Annotated[int | None, Field(ge=0)] = None


class DefinitionRequest(StrictModel):
    """A relation's definition and example, which replace the store's; if both are empty, the store's apply again."""

    relation: Annotated[str, Field(max_length=500)]
    definition: Annotated[str, Field(max_length=guideline.MAX_DEFINITION)] = ""
    example: Annotated[str, Field(max_length=guideline.MAX_DEFINITION)] = ""


class DefinitionForm(BaseModel):
    """The form with a relation's definition and example."""

    relation: Annotated[str, Field(max_length=500)]
    definition: Annotated[str, Field(max_length=guideline.MAX_DEFINITION)] = ""
    example: Annotated[str, Field(max_length=guideline.MAX_DEFINITION)] = ""


class RelationResponse(BaseModel):
    """A relation with its definition and example, and everything that leads have entered, latest first."""

    name: str
    definition: str
    example: str
    versions: list[guideline.DefinitionVersion]


@api.get("/guideline")
def get_guideline(bench: Bench) -> GuidelineText:
    """Return the guideline and its version."""
    with bench.database.reading() as connection:
        current = guideline.read_guideline(connection)
    return GuidelineText(text=current.text, version=current.number)


@api.get("/guideline/versions")
def get_guideline_versions(bench: Bench) -> list[guideline.GuidelineVersion]:
    """Return every version of the guideline, latest first, with who changed it and when."""
    with bench.database.reading() as connection:
        return guideline.guideline_versions(connection)[::-1]


@api.put("/guideline")
def put_guideline(bench: Bench, who: Lead, given: GuidelineText) -> GuidelineText:
    """Change the guideline (leads only); an empty string restores the default. Earlier versions are kept."""
    with bench.database.writing() as connection:
        guideline.write_guideline(connection, who, given.text, given.version)
    return get_guideline(bench)


@api.get("/relations")
def get_relations(bench: Bench) -> list[RelationResponse]:
    """Return the relations of the store with their definitions."""
    with bench.database.reading() as connection:
        versions = guideline.definition_versions(connection)
    return [
        RelationResponse(
            name=each.name, definition=each.definition, example=each.example, versions=versions.get(each.name, [])
        )
        for each in bench.relations
    ]


@api.put("/relations")
def put_definition(bench: Bench, who: Lead, given: DefinitionRequest) -> None:
    """Define a relation (leads only)."""
    if given.relation not in bench.relation_numbers:
        raise not_found(f"The store has no relation {given.relation!r}.")
    with bench.database.writing() as connection:
        guideline.write_definition(connection, who, given.relation, given.definition, given.example)


@pages.get("/annotate/guideline")
def guideline_page(
    render: Render, bench: Bench, _: Who, version: Annotated[int | None, Query(ge=0, le=2**53)] = None
) -> Response:
    """Show the guideline or an earlier version of it, with the definitions of all relations."""
    with bench.database.reading() as connection:
        versions = guideline.guideline_versions(connection)
    shown = next((each for each in versions if each.number == version), None if version is not None else versions[-1])
    if shown is None:
        raise not_found(f"The guideline has no version {version}.")
    return _guideline_page(render, bench, versions, shown)


def _guideline_page(
    render: Render,
    bench: Workbench,
    versions: list[guideline.GuidelineVersion],
    shown: guideline.GuidelineVersion,
    draft: str | None = None,
) -> Response:
    """Return the page; `draft` is a text that was not saved, because someone else has changed the guideline."""
    paragraphs = [part for part in shown.text.split("\n\n") if part.strip()]
    about = {"shown": shown, "current": versions[-1], "versions": versions[::-1], "draft": draft}
    limits = {"max_length": guideline.MAX_LENGTH, "max_definition": guideline.MAX_DEFINITION}
    return render("annotate/guideline.html", paragraphs=paragraphs, relations=get_relations(bench), **about, **limits)


@pages.post("/annotate/guideline")
def save_guideline(
    render: Render,
    bench: Bench,
    who: Lead,
    text: Annotated[str, Form(max_length=guideline.MAX_LENGTH)] = "",
    version: Annotated[int | None, Form(ge=0)] = None,
) -> Response:
    """Change the guideline; if someone else has changed it meanwhile, show both texts instead."""
    try:
        put_guideline(bench, who, GuidelineText(text=text, version=version))
    except StaleError:
        with bench.database.reading() as connection:
            versions = guideline.guideline_versions(connection)
        return _guideline_page(render, bench, versions, versions[-1], draft=text)
    return RedirectResponse("/annotate/guideline", HTTPStatus.SEE_OTHER)


@pages.post("/annotate/definition")
def save_definition(bench: Bench, who: Lead, given: Annotated[DefinitionForm, Form()]) -> Response:
    """Define a relation."""
    put_definition(bench, who, DefinitionRequest(**given.model_dump()))
    return RedirectResponse("/annotate/guideline#relations", HTTPStatus.SEE_OTHER)


@pages.get("/annotate/relations.tsv")
def relations_file(bench: Bench, _: Who) -> Response:
    """Return the relations with their definitions as a file for `sayso prepare --relations`."""
    columns = ("name", "definition", "example", "functional")
    rows = [(each.name, each.definition, each.example, str(each.is_functional).lower()) for each in bench.relations]
    text = "".join("\t".join(" ".join(cell.split()) for cell in row) + "\n" for row in (columns, *rows))
    return download(bench.name, "relations.tsv", text, "text/tab-separated-values; charset=utf-8")
