"""An explained fact as shown by templates: sentences as styled text, shaded words, scores as bars.

The input is `Explanation.to_dict` or an extracted fact, so stored and newly explained facts look the same. Pages have
no inline styles: a shade is a CSS class, and a bar is SVG.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sayso.facts.explanation import support_sentence
from sayso.facts.fact import ExtractedFact, Quote
from sayso.records import Source, as_written

NUM_SHADES = 5
MAX_SHOWN = 200
"""The maximum number of sentences on a page."""


@dataclass(frozen=True, kw_only=True)
class StyledText:
    """Consecutive words with one style: plain, a `head` or `tail` mention, or `for` or `against` with a shade.

    `gap` is the space before them.
    """

    text: str
    kind: str = ""
    shade: int = 0
    score: float | None = None
    gap: str = " "


@dataclass(frozen=True, kw_only=True)
class ScoreBar:
    """A mechanism's score, relative to the largest in the bag."""

    mechanism: str
    score: float
    share: float
    place: int

    @property
    def width(self) -> float:
        """The width of the bar, out of 100."""
        return round(100 * self.share, 1)


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
    places = {name: _places([each["scores"][name] for each in evidence]) for name in mechanisms}
    peaks = {name: max(abs(each["scores"][name]) for each in evidence) or 1.0 for name in mechanisms}
    sentences = [
        SentenceView(
            text=each["text"],
            place=places[by][number],
            rank=each["rank"],
            mark=each["mark"] or "",
            is_in_smallest=each["is_in_smallest"],
            read=list(styled_sentence(each)),
            seen=list(styled_input(each["seen"], each["word_scores"])),
            bars=[
                ScoreBar(mechanism=name, score=score, share=abs(score) / peaks[name], place=places[name][number])
                for name, score in each["scores"].items()
            ],
            source=each["source"],
        )
        for number, each in enumerate(evidence)
    ]
    sentences.sort(key=lambda each: each.place)
    return FactView(
        by=by, mechanisms=mechanisms, sentences=sentences[:MAX_SHOWN], num_hidden=max(0, len(sentences) - MAX_SHOWN)
    )


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
        yield StyledText(text=text.lstrip(" "), kind=kind, gap=words[0][0])


def styled_input(words: Sequence[str], scores: Sequence[float]) -> Iterator[StyledText]:
    """Yield the model's input, each word shaded by its contribution if that is known."""
    if not scores:
        yield StyledText(text=" ".join(words))
        return
    peak = max(map(abs, scores)) or 1.0
    for word, score in zip(words, scores, strict=True):
        shade = round(NUM_SHADES * abs(score) / peak)
        kind = "" if not shade else "for" if score > 0 else "against"
        yield StyledText(text=word, kind=kind, shade=shade, score=score)


def _places(scores: Sequence[float]) -> list[int]:
    """Return the rank of each score, highest first; ties keep their order.

    >>> _places([0.5, 2.0, 0.5])
    [2, 1, 3]
    """
    order = sorted(range(len(scores)), key=lambda number: -scores[number])
    places = [0] * len(scores)
    for place, number in enumerate(order, 1):
        places[number] = place
    return places


def support_text(fact: ExtractedFact, threshold: float | None) -> str:
    """Describe what the prediction rests on in one sentence; the threshold may be unknown."""
    return support_sentence(fact.support, fact.probability, threshold, fact.num_sentences)


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
    bar = ScoreBar(mechanism=fact.mechanism, score=quote.score, share=abs(quote.score) / peak, place=quote.rank)
    return SentenceView(
        text=quote.sentence,
        place=quote.rank,
        rank=quote.rank,
        mark=quote.mark,
        # The smallest set consists of the top-ranked sentences.
        is_in_smallest=quote.rank <= fact.support.num_smallest,
        read=[StyledText(text=text, kind=kind, gap="") for text, kind in pieces if text],
        seen=[],
        bars=[bar],
        source=quote.place,
    )
