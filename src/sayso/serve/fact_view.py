"""An explained fact as shown by templates: its sentences ranked by one mechanism, with scores as bars.

The input is `Explanation.to_dict` or an extracted fact, so stored and newly explained facts look the same. Pages have
no inline styles: a shade is a CSS class, and a bar is SVG.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sayso.facts.fact import ExtractedFact

MAX_SHOWN = 200
"""The maximum number of sentences on a page."""


class ScoreBar(NamedTuple):
    """A mechanism's score; `width` is relative to the largest in the bag, out of 100, and `place` is the rank."""

    score: float
    width: float
    place: int


@dataclass(frozen=True, kw_only=True)
class FactView:
    """A fact's sentences, ranked by the mechanism `by`; `num_hidden` more are left out.

    A sentence has the values of an evidence or a quote, its `place` and, for each mechanism, its bar.
    """

    by: str
    mechanisms: list[str]
    sentences: list[dict[str, Any]]
    num_hidden: int


def view_fact(fact: dict[str, Any], by: str = "") -> FactView:
    """Return the fact for a template, its sentences ranked by this mechanism or else by the run's."""
    evidence: list[dict[str, Any]] = fact["evidence"]
    mechanisms = list(evidence[0]["scores"])
    by = by if by in mechanisms else fact["ranked_by"]
    bars = {name: _bars([each["scores"][name] for each in evidence]) for name in mechanisms}
    sentences = [
        {**each, "place": bars[by][number].place, "bars": {name: bars[name][number] for name in mechanisms}}
        for number, each in enumerate(evidence)
    ]
    sentences.sort(key=lambda each: each["place"])
    return FactView(
        by=by, mechanisms=mechanisms, sentences=sentences[:MAX_SHOWN], num_hidden=max(0, len(sentences) - MAX_SHOWN)
    )


def _bars(scores: list[float]) -> list[ScoreBar]:
    peak = max(map(abs, scores), default=0.0) or 1.0
    # The inverse of the sort order; ties keep their order.
    places = (np.argsort(np.argsort(-np.array(scores), kind="stable")) + 1).tolist()
    return [
        ScoreBar(score, round(100 * abs(score) / peak, 1), place) for score, place in zip(scores, places, strict=True)
    ]


def view_extracted(fact: ExtractedFact) -> FactView:
    """Return the fact's quotes in rank order; sentences that are not in the file count as hidden."""
    quotes = sorted(fact.quotes, key=lambda each: each.rank)
    bars = _bars([each.score for each in quotes])
    return FactView(
        by=fact.mechanism,
        mechanisms=[fact.mechanism],
        sentences=[
            {
                **quote._asdict(),
                "place": quote.rank,
                # The smallest set consists of the top-ranked sentences.
                "is_in_smallest": quote.rank <= fact.support.num_smallest,
                "bars": {fact.mechanism: bar._replace(place=quote.rank)},
            }
            for quote, bar in zip(quotes, bars, strict=True)
        ],
        num_hidden=max(0, fact.num_sentences - len(quotes)),
    )
