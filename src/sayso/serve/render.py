"""Page rendering: every value is escaped, and every page shows who is signed in."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sayso.facts.html import StyledText, make_environment, styled_sentence, styled_words
from sayso.records import SUPPORT_LABELS, Sentence, Triple


def spaced(name: str) -> str:
    """Return an entity's name with spaces instead of underscores.

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
    """Format a fraction as a percentage.

    >>> percent(0.875), percent(None)
    ('88 %', '–')
    """
    return "–" if share is None else f"{share:.0%}".replace("%", " %")


def figure(value: float | None) -> str:
    """Format a value with two decimals.

    >>> figure(0.5), figure(None)
    ('0.50', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def with_mentions(sentence: Sentence) -> list[StyledText]:
    """Return the sentence as styled text, with its mentions marked."""
    spans = {"head_spans": sentence.head.spans, "tail_spans": sentence.tail.spans}
    source = sentence.source and sentence.source._asdict()
    return list(styled_sentence({"tokens": sentence.tokens, **spans, "source": source}))


def prediction_url(run: str, bag: int, relation: str, **more: object) -> str:
    """Return the URL of a fact in a run's predictions; empty values of `more` are left out."""
    values = {"bag": bag, "relation": relation, **{name: value for name, value in more.items() if value}}
    return f"/predictions/{quote(run, safe='')}/fact?{urlencode(values)}"


def review_url(facts: str, fact: Triple, within: str = "") -> str:
    """Return the URL of an extracted fact."""
    values = {"head": fact.head_id, "relation": fact.relation, "tail": fact.tail_id}
    return f"/review/{quote(facts, safe='')}/fact?{urlencode(values | ({'within': within} if within else {}))}"


FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"

_environment = make_environment(FOLDER / "templates")
_FILTERS = (spaced, readable, percent, figure, styled_sentence, styled_words, with_mentions)
_environment.filters |= {each.__name__: each for each in _FILTERS}
_environment.globals |= {
    "support_labels": SUPPORT_LABELS,
    "prediction_url": prediction_url,
    "review_url": review_url,
}


def page(request: Request, template: str, status: int = HTTPStatus.OK, **context: Any) -> HTMLResponse:
    """Render a template with `context`, the signed-in annotator and the open workbench."""
    access, bench = request.app.state.access, request.app.state.workbench
    annotator = access.annotator(request)
    shared = {
        "annotator": annotator,
        "is_lead": lambda: access.is_lead(annotator),
        "form_token": access.form_token(request),
        "bench": bench,
        "section": template.partition("/")[0],
    }
    return HTMLResponse(_environment.get_template(template).render(**(shared | context)), status_code=status)


def download(name: str, content: str | bytes, media_type: str) -> Response:
    """Return a file that the browser saves."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def renderer(request: Request) -> Callable[..., HTMLResponse]:
    """Return `page` for this request."""
    return partial(page, request)


Render = Annotated[Callable[..., HTMLResponse], Depends(renderer)]
