"""Pages from templates: every value is escaped, and every page shows who is signed in."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from sayso.records import SUPPORT_LABELS


def spaced(name: str) -> str:
    """Return an entity's name with spaces.

    >>> spaced("el_paso")
    'el paso'
    """
    return name.replace("_", " ").strip() or name


def readable(relation: str) -> str:
    """Return the last part of a relation's name as words.

    >>> readable("/location/country/capital"), readable("per:place_of_birth")
    ('capital', 'place of birth')
    """
    return spaced(relation.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]) or relation


def percent(share: float | None) -> str:
    """Return a share as a percentage.

    >>> percent(0.875), percent(None)
    ('88 %', '–')
    """
    return "–" if share is None else f"{share:.0%}".replace("%", " %")


def figure(value: float | None) -> str:
    """Return a figure with two decimals.

    >>> figure(0.5), figure(None)
    ('0.50', '–')
    """
    return "–" if value is None else f"{value:.2f}"


FILTERS = {"spaced": spaced, "readable": readable, "percent": percent, "figure": figure}
"""What templates call them."""


FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"

_environment = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters.update(FILTERS)
_environment.globals["support_labels"] = SUPPORT_LABELS


def page(request: Request, template: str, status: int = HTTPStatus.OK, **context: Any) -> HTMLResponse:
    """Return a rendered template; it gets `context`, the signed-in annotator and the open workbench."""
    access, workbench = request.app.state.access, request.app.state.workbench
    shared = {
        "annotator": access.annotator(request),
        "form_token": access.form_token(request),
        "is_local": workbench.settings.is_local,
        "has_extractions": bool(workbench.found),
        "section": "",
    }
    return HTMLResponse(_environment.get_template(template).render(**(shared | context)), status_code=status)
