"""An explained fact as shown by templates: sentences as styled text, shaded words, scores as bars.

The input is `Explanation.to_dict` or an extracted fact, so stored and newly explained facts look the same. Pages have
no inline styles: a shade is a CSS class, and a bar is SVG.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sayso.facts.fact import ExtractedFact, Quote
from sayso.facts.html import StyledText, styled_sentence, styled_words

MAX_SHOWN = 200
"""The maximum number of sentences on a page."""


@dataclass(frozen=True, kw_only=True)
class ScoreBar:
    """A mechanism's score; `width` is relative to the largest in the bag, out of 100."""

    mechanism: str
    score: float
    width: float
    place: int


@dataclass(frozen=True, kw_only=True)
class SentenceView:
    """A sentence with all its scores; `place` is its rank by the selected mechanism."""

    text: str
    place: int
    rank: int
    mark: str
    is_in_smallest: bool
    read: list[StyledText]
    seen: list[StyledText]
    bars: list[ScoreBar]
    source: dict[str, Any] | None

    def bar(self, mechanism: str) -> ScoreBar:
        """Return the score of one mechanism."""
        return next(each for each in self.bars if each.mechanism == mechanism)


@dataclass(frozen=True, kw_only=True)
class FactView:
    """A fact's sentences, ranked by one mechanism; `num_hidden` more are left out."""

    by: str
    mechanisms: list[str]
    sentences: list[SentenceView]
    num_hidden: int


def view_fact(fact: dict[str, Any], by: str = "") -> FactView:
    """Return the fact for a template, ranked by a mechanism (default: the run's)."""
    evidence: list[dict[str, Any]] = fact["evidence"]
    mechanisms = list(evidence[0]["scores"])
    by = by if by in mechanisms else fact["ranked_by"]
    scores = {name: np.array([each["scores"][name] for each in evidence]) for name in mechanisms}
    # The inverse of the sort order; ties keep their order.
    places = {name: (np.argsort(np.argsort(-each, kind="stable")) + 1).tolist() for name, each in scores.items()}
    peaks = {name: float(abs(each).max()) or 1.0 for name, each in scores.items()}
    sentences = [
        SentenceView(
            text=each["text"],
            place=places[by][number],
            rank=each["rank"],
            mark=each["mark"] or "",
            is_in_smallest=each["is_in_smallest"],
            read=list(styled_sentence(each)),
            seen=list(styled_words(each["seen"], each["word_scores"])),
            bars=[_bar(name, score, peaks[name], places[name][number]) for name, score in each["scores"].items()],
            source=each["source"],
        )
        for number, each in enumerate(evidence)
    ]
    sentences.sort(key=lambda each: each.place)
    return FactView(
        by=by, mechanisms=mechanisms, sentences=sentences[:MAX_SHOWN], num_hidden=max(0, len(sentences) - MAX_SHOWN)
    )


def _bar(mechanism: str, score: float, peak: float, place: int) -> ScoreBar:
    return ScoreBar(mechanism=mechanism, score=score, width=round(100 * abs(score) / peak, 1), place=place)


def view_extracted(fact: ExtractedFact) -> FactView:
    """Return the fact's quotes in rank order; sentences that are not in the file count as hidden."""
    quotes = sorted(fact.quotes, key=lambda each: each.rank)
    peak = max((abs(each.score) for each in quotes), default=0.0) or 1.0
    return FactView(
        by=fact.mechanism,
        mechanisms=[fact.mechanism],
        sentences=[_sentence(fact, each, peak) for each in quotes],
        num_hidden=max(0, fact.num_sentences - len(quotes)),
    )


def _sentence(fact: ExtractedFact, quote: Quote, peak: float) -> SentenceView:
    pieces = ((quote.prefix, ""), (quote.exact, "exact"), (quote.suffix, ""))
    return SentenceView(
        text=quote.sentence,
        place=quote.rank,
        rank=quote.rank,
        mark=quote.mark,
        # The smallest set consists of the top-ranked sentences.
        is_in_smallest=quote.rank <= fact.support.num_smallest,
        read=[StyledText(text, kind, "") for text, kind in pieces if text],
        seen=[],
        bars=[_bar(fact.mechanism, quote.score, peak, quote.rank)],
        source=quote.place,
    )
