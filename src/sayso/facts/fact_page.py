"""An explained fact as HTML: sentences with their mentions, marks and scores, and what the model saw of them.

All text comes from the corpus and is escaped. The page needs nothing from elsewhere.
"""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from sayso.records import Source, as_written

_WEAKEST_SHADE = 0.08
"""Words below this share of the sentence's strongest stay unshaded."""


def page_html(title: str, body: str, script: str = "") -> str:
    """Return a whole page with its style in it."""
    style = asset("report.css")
    tail = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline';"
        " script-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n{tail}\n"
        "</body>\n</html>\n"
    )


def asset(name: str) -> str:
    """Return a file that is part of every page."""
    return (files("sayso.evaluate") / "page" / name).read_text(encoding="utf-8")


def fact_html(fact: dict[str, Any]) -> str:
    """Return one explained fact (`Explanation.to_dict`) as an article with a heading."""
    return f'<article class="fact"><h2>{fact_title(fact)}</h2>{fact_body(fact)}</article>'


def fact_title(fact: dict[str, Any]) -> str:
    """Return head, relation and tail in a line."""
    head, tail = (escape(fact[side]["name"].replace("_", " ")) for side in ("head", "tail"))
    return (
        f'<span class="head">{head}</span> <span class="relation">{escape(fact["relation"])}</span>'
        f' <span class="tail">{tail}</span>'
    )


def fact_body(fact: dict[str, Any]) -> str:
    """Return probability, support and sentences."""
    known = {True: "in the knowledge base", False: "not in the knowledge base", None: ""}[fact["is_label"]]
    about = [
        f"probability <b>{fact['probability']:.3f}</b>",
        known,
        f"head {escape(fact['head']['type'])}",
        f"tail {escape(fact['tail']['type'])}",
    ]
    sentences = "".join(_sentence_item(each) for each in fact["evidence"])
    return (
        f'<p class="about">{" · ".join(part for part in about if part)}</p>'
        f'<p class="support {escape(fact["support"]["kind"])}">{escape(fact["support"]["text"])}</p>'
        f'<ol class="sentences">{sentences}</ol>'
    )


def _sentence_item(evidence: dict[str, Any]) -> str:
    badges = ""
    if evidence["mark"]:
        badges += f'<span class="badge {escape(evidence["mark"])}">{escape(evidence["mark"])}</span>'
    if evidence["is_in_smallest"]:
        badges += '<span class="badge smallest">smallest set</span>'
    scores = "".join(
        f'<span class="score" data-name="{escape(name)}" data-score="{score!r}">'
        f"{escape(name.replace('_', ' '))} <b>{score:.3g}</b></span>"
        for name, score in evidence["scores"].items()
    )
    return (
        f'<li class="{escape(evidence["mark"] or "unmarked")}"><p class="text">{sentence_html(evidence)} {badges}</p>'
        f'<p class="scores">{scores}</p>{_seen_html(evidence)}</li>'
    )


def sentence_html(evidence: dict[str, Any]) -> str:
    """Return a sentence with its mentions highlighted."""
    opening: dict[int, str] = {}
    closing: dict[int, str] = {}
    for side in ("head", "tail"):
        for start, stop in evidence[f"{side}_spans"]:
            opening[start] = f'<mark class="{side}">'
            closing[stop - 1] = "</mark>"
    source = evidence["source"] and Source(**evidence["source"])
    return "".join(
        f"{gap}{opening.get(place, '')}{escape(token)}{closing.get(place, '')}"
        for place, (gap, token) in enumerate(as_written(evidence["tokens"], source))
    )


def _seen_html(evidence: dict[str, Any]) -> str:
    if not evidence["word_scores"]:
        return ""
    words = words_html(evidence["seen"], evidence["word_scores"])
    summary = "<summary>what the model saw, and the words that counted</summary>"
    return f'<details class="seen">{summary}<p>{words}</p></details>'


def words_html(words: Sequence[str], scores: Sequence[float]) -> str:
    """Return words shaded by their score: those that speak for the fact in one colour, those against it in another."""
    peak = max((abs(score) for score in scores), default=0.0) or 1.0
    shown = []
    for word, score in zip(words, scores, strict=True):
        strength = abs(score) / peak
        text = escape(word)
        if strength >= _WEAKEST_SHADE:
            side = "for" if score > 0 else "against"
            text = f'<span class="word {side}" style="--strength:{strength:.2f}" title="{score:+.3f}">{text}</span>'
        shown.append(text)
    return " ".join(shown)
