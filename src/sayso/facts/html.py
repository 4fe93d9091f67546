"""HTML pages rendered from templates: self-contained, with nothing loaded from the network and all text escaped."""

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sayso.errors import UserError
from sayso.records import Source, as_written

if TYPE_CHECKING:
    from jinja2 import Environment

_NEEDS_JINJA = "HTML pages need jinja2: pip install jinja2"

_log = logging.getLogger(__name__)

_PACKAGES = ("facts", "evaluate", "reproduce")
_WEAKEST = 0.1
"""Words up to this fraction of the sentence's strongest score are not shaded."""


class StyledText(NamedTuple):
    """Consecutive words with one style: plain, a `head` or `tail` mention, or `for` or `against` the fact.

    `strength` is relative to the strongest word's score; `gap` is the space before the words.
    """

    text: str
    kind: str = ""
    gap: str = " "
    strength: float = 0.0
    score: float = 0.0


def can_render(page: Path) -> bool:
    """Return whether jinja2 is installed; without it, log a warning that the page is not written."""
    if not (is_installed := find_spec("jinja2") is not None):
        _log.warning("%s is not written: %s", page, _NEEDS_JINJA)
    return is_installed


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


def styled_sentence(evidence: dict[str, Any]) -> Iterator[StyledText]:
    """Yield the sentence as written, with its mentions.

    >>> spans = {"head_spans": [[4, 5]], "tail_spans": [[1, 2]]}
    >>> sentence = {"tokens": ["so", "el_paso", "is", "in", "texas"], **spans, "source": None}
    >>> [(each.text, each.kind) for each in styled_sentence(sentence)]
    [('so', ''), ('el_paso', 'tail'), ('is in', ''), ('texas', 'head')]
    """
    kinds = [("", 0)] * len(evidence["tokens"])
    for side in ("head", "tail"):
        for start, stop in evidence[f"{side}_spans"]:
            # The start is part of the key, so that adjacent mentions stay separate.
            kinds[start:stop] = [(side, start)] * (stop - start)
    source = evidence["source"] and Source(**evidence["source"])
    written = zip(kinds, as_written(evidence["tokens"], source), strict=True)
    for (kind, _), group in groupby(written, key=lambda pair: pair[0]):
        words = [word for _, word in group]
        text = "".join(gap + token for gap, token in words)
        yield StyledText(text.lstrip(" "), kind, words[0][0])


def styled_words(words: Sequence[str], scores: Sequence[float]) -> Iterator[StyledText]:
    """Yield the model's input, each word styled by its contribution if that is known and not weak."""
    if not scores:
        yield StyledText(" ".join(words))
        return
    peak = max(map(abs, scores)) or 1.0
    for word, score in zip(words, scores, strict=True):
        strength = abs(score) / peak
        kind = "" if strength <= _WEAKEST else "for" if score > 0 else "against"
        yield StyledText(word, kind, strength=strength, score=score)


def make_environment(*folders: Path) -> "Environment":
    """Return a template environment that escapes all values and raises on undefined ones."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise UserError(_NEEDS_JINJA) from None
    loader = FileSystemLoader(folders)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _environment() -> "Environment":
    environment = make_environment(*(Path(__file__).parents[1] / package / "templates" for package in _PACKAGES))
    environment.filters |= {"styled_sentence": styled_sentence, "styled_words": styled_words}
    return environment
