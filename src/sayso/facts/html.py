"""HTML pages rendered from templates: self-contained, with nothing loaded from the network and all text escaped."""

import importlib.util
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from sayso.errors import UserError
from sayso.records import Source, as_written

if TYPE_CHECKING:
    from jinja2 import Environment

NEEDS_JINJA = "HTML pages need jinja2: pip install jinja2"

_PACKAGES = ("facts", "evaluate", "reproduce")
_WEAKEST_SHADE = 0.08
"""Words below this share of the sentence's strongest score are not shaded."""


class TokenPiece(NamedTuple):
    """A token with the gap before it; `opens` names the mention that starts with it, `closes` says whether one ends."""

    gap: str
    token: str
    opens: str
    closes: bool


class ShadedWord(NamedTuple):
    """A word that the model read; `side` is `for` or `against` the fact, or empty if the score is weak."""

    text: str
    side: str
    strength: float
    score: float


def can_render() -> bool:
    """Return whether jinja2 is installed."""
    return importlib.util.find_spec("jinja2") is not None


def render(template: str, **values: Any) -> str:
    """Render a template to an HTML page.

    Raises:
        UserError: jinja2 is not installed.
    """
    return _environment().get_template(template).render(**values)


def explanation_page(facts: Sequence[dict[str, Any]]) -> str:
    """Return a page of explained facts of one pair, each as returned by `Explanation.to_dict`."""
    title = f"{facts[0]['head']['name']} – {facts[0]['tail']['name']}"
    return render("explanation.html", title=title, facts=facts)


@cache
def _environment() -> "Environment":
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise UserError(NEEDS_JINJA) from None
    folders = [str(files("sayso") / package / "templates") for package in _PACKAGES]
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"pieces": lambda each: list(_pieces(each)), "shades": lambda each: list(_shades(each))}
    return environment


def _pieces(evidence: dict[str, Any]) -> Iterator[TokenPiece]:
    sides = [(side, span) for side in ("head", "tail") for span in evidence[f"{side}_spans"]]
    opening = {start: side for side, (start, _) in sides}
    closing = {stop - 1 for _, (_, stop) in sides}
    source = evidence["source"] and Source(**evidence["source"])
    for place, (gap, token) in enumerate(as_written(evidence["tokens"], source)):
        yield TokenPiece(gap, token, opening.get(place, ""), place in closing)


def _shades(evidence: dict[str, Any]) -> Iterator[ShadedWord]:
    peak = max(map(abs, evidence["word_scores"]), default=0.0) or 1.0
    for word, score in zip(evidence["seen"], evidence["word_scores"], strict=True):
        strength = abs(score) / peak
        side = "" if strength < _WEAKEST_SHADE else "for" if score > 0 else "against"
        yield ShadedWord(word, side, strength, score)
