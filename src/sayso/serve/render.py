"""Pages from templates: every value is escaped, and every page knows who is signed in."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from sayso.records import SUPPORT_LABELS
from sayso.serve.wording import FILTERS

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
    """Return a template as an answer; it sees `context`, who is signed in, and what is open."""
    access, workbench = request.app.state.access, request.app.state.workbench
    shared = {
        "annotator": access.annotator(request),
        "form_token": access.form_token(request),
        "is_local": workbench.settings.is_local,
        "has_found": bool(workbench.found),
        "section": "",
    }
    return HTMLResponse(_environment.get_template(template).render(**(shared | context)), status_code=status)
