"""HTML pages rendered from templates: self-contained, with nothing loaded from the network and all text escaped."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sayso.documents.entity_graph import is_new_entity
from sayso.errors import UserError
from sayso.facts.quote import Quote, antecedent
from sayso.records import Source, as_written
from sayso.tokens import BRACKETS

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
    """Yield the sentence as written, with its mentions, and with antecedents in brackets if it has `names` by side.

    >>> spans = {"head_spans": [[4, 5]], "tail_spans": [[1, 2]]}
    >>> sentence = {"tokens": ["so", "el_paso", "is", "in", "texas"], **spans, "source": None}
    >>> [(each.text, each.kind) for each in styled_sentence(sentence)]
    [('so', ''), ('el_paso', 'tail'), ('is in', ''), ('texas', 'head')]
    >>> names = {"names": {"head": "texas", "tail": "el_paso"}}
    >>> plain_text(styled_sentence(sentence | names | {"tokens": ["so", "it", "is", "in", "texas"]}))
    'so it [el paso] is in texas'
    """
    kinds = [("", 0)] * len(evidence["tokens"])
    for side in ("head", "tail"):
        for start, stop in evidence[f"{side}_spans"]:
            # The start is part of the key, so that adjacent mentions stay separate.
            kinds[start:stop] = [(side, start)] * (stop - start)
    source = evidence["source"] and Source(**evidence["source"])
    written = zip(kinds, with_brackets(as_written(evidence["tokens"], source)), strict=True)
    added = _antecedents(evidence)
    for (kind, first), group in groupby(written, key=lambda pair: pair[0]):
        words = [word for _, word in group]
        text = "".join(gap + token for gap, token in words)
        yield StyledText(text.lstrip(" "), kind, words[0][0])
        if (kind, first) in added:
            yield StyledText(f"[{added[kind, first]}]")


def _antecedents(evidence: dict[str, Any]) -> dict[tuple[str, int], str]:
    """Return the names that follow a mention in brackets, by its side and the token it begins with."""
    found = {}
    for side, name in (evidence.get("names") or {}).items():
        spans = evidence[f"{side}_spans"]
        if added := antecedent([" ".join(evidence["tokens"][slice(*span)]) for span in spans], name):
            found[side, spans[0][0]] = added
    return found


def with_brackets(written: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield (preceding white space, token) pairs with brackets as documents write them, not as tokenizers do.

    >>> "".join(gap + token for gap, token in with_brackets([("", "el"), (" ", "-lrb-"), (" ", "so"), (" ", "-RRB-")]))
    'el (so)'
    """
    last = ""
    for gap, token in written:
        shown = BRACKETS.get(token.lower(), token)
        is_bracket = shown != token
        yield ("" if last or (is_bracket and shown in ")]}") else gap), shown
        last = shown if is_bracket and shown in "([{" else ""


def styled_quote(quote: Quote, head_name: str, tail_name: str) -> list[StyledText]:
    """Return a quoted sentence with its mentions; a quote without their spans is searched for the names.

    If a name is missing, the part that names both is marked. Antecedents of pronouns and short names are in brackets.

    >>> quote = Quote("In ", "El Paso , Texas", " .", 1, 0.5)
    >>> [(each.text, each.kind) for each in styled_quote(quote, "texas", "el_paso")]
    [('In', ''), ('El Paso', 'tail'), (',', ''), ('Texas', 'head'), ('.', '')]
    """
    if quote.head_spans or quote.tail_spans:
        texts = [quote.prefix, quote.exact, quote.suffix]
        stored = (("head", quote.head_spans), ("tail", quote.tail_spans))
        spans = sorted((*span, side) for side, found in stored for span in found)
    else:
        texts = [_bracketed(text) for text in (quote.prefix, quote.exact, quote.suffix)]
        spans = _named(texts, head_name, tail_name)
    whole, last, pieces = "".join(texts), 0, list[tuple[str, str]]()
    added = {stop: f" [{name}]" for stop, name in quote.antecedents(head_name, tail_name)}
    for start, stop, kind in spans:
        if not last <= start < stop <= len(whole):
            continue  # an edited file
        pieces += [(whole[last:start], ""), (whole[start:stop], kind), (added.get(stop, ""), "")]
        last = stop
    return _spaced_parts([StyledText(_bracketed(text), kind) for text, kind in [*pieces, (whole[last:], "")]])


def _named(texts: Sequence[str], head_name: str, tail_name: str) -> list[tuple[int, int, str]]:
    """Return the spans of the names in the texts of a quote, or that of the second text if a name is missing."""
    sides = {_key(head_name): "head", _key(tail_name): "tail"}
    names = sorted(filter(None, sides), key=len, reverse=True)
    wanted = "|".join(re.escape(name).replace("\\ ", r"[\s_]+") for name in names) or r"(?!)"
    found = list(re.finditer(rf"(?<!\w)(?:{wanted})(?!\w)", "".join(texts), re.IGNORECASE))
    spans = [(each.start(), each.end(), sides[_key(each[0])]) for each in found]
    if len({side for _, _, side in spans}) == 2:
        return spans
    return [(len(texts[0]), len(texts[0]) + len(texts[1]), "exact")] if texts[1] else []


def _key(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def _bracketed(text: str) -> str:
    """Return a text of tokens separated by spaces with its brackets as documents write them."""
    tokens = ((" " if number else "", token) for number, token in enumerate(text.split(" ")))
    return "".join(gap + token for gap, token in with_brackets(tokens))


def _spaced_parts(parts: Sequence[StyledText]) -> list[StyledText]:
    """Return the parts with the spaces at their ends moved to their gaps; empty ones are left out."""
    befores = ["", *(each.text for each in parts)]
    return [
        each._replace(text=each.text.strip(), gap=" " if before.endswith(" ") or each.text.startswith(" ") else "")
        for before, each in zip(befores, parts, strict=False)
        if each.text.strip()
    ]


_ITEM = r"(?:(?!\b(?:head|tail)\b)[^,.;()])+"
_SIDE = re.compile(
    r"\b[Tt]he (?P<side>head|tail)\b"
    # What kind of entity it is: ", a country," or ", a country, team or person,".
    rf"(?:, an? {_ITEM}(?:(?:, {_ITEM})* or {_ITEM})?(?:,|(?=[.;]|$)))?"
)
_LONGEST_DEFINITION = 160


def stated(head_name: str, relation: str, tail_name: str, definition: str = "") -> list[StyledText]:
    """Return a fact as a sentence made from the relation's definition, or as head — relation → tail without one.

    The first sentence of the definition must name the head and the tail once each.

    >>> capital = "The tail, a city, is the capital of the head, a country or a state."
    >>> plain_text(stated("Alabama", "/location/state/capital", "Montgomery", capital))
    'Montgomery is the capital of Alabama'
    >>> plain_text(stated("Montgomery", "capital_of", "Alabama"))
    'Montgomery — capital_of → Alabama'
    """
    names = {"head": head_name, "tail": tail_name}
    first, *_ = re.split(r"(?<=[.!?])\s", definition.strip())
    sides = list(_SIDE.finditer(first))
    if {side["side"] for side in sides} != {"head", "tail"} or len(sides) > 2 or len(first) > _LONGEST_DEFINITION:
        name = relation.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1] or relation
        return [StyledText(head_name, "head"), StyledText(f"— {name} →"), StyledText(tail_name, "tail")]
    parts, end = list[StyledText](), 0
    for side in sides:
        parts += [StyledText(first[end : side.start()]), StyledText(names[side["side"]], side["side"])]
        end = side.end()
    parts.append(StyledText(first[end:].rstrip(".!; ")))
    return _spaced_parts([each for each in parts if each.text])


def plain_text(parts: Iterable[StyledText]) -> str:
    """Return styled text without its styles, and names with spaces."""
    return "".join(each.gap + (each.text.replace("_", " ") if each.kind else each.text) for each in parts).strip()


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
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["new_entity"] = is_new_entity
    return environment


@cache
def _environment() -> "Environment":
    environment = make_environment(*(Path(__file__).parents[1] / package / "templates" for package in _PACKAGES))
    environment.filters |= {"styled_sentence": styled_sentence, "styled_words": styled_words}
    return environment
