"""A fact as templates and the JSON API show it: an explained one or an extracted one, in the same form.

Templates get its sentences ranked by one mechanism, with scores as bars. Pages have no inline styles: a shade is a CSS
class, and a bar is SVG. JSON responses have the fields of `Explanation.to_dict` and of extracted facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from sayso.facts.explanation import support_sentence
from sayso.facts.fact import ExtractedFact
from sayso.facts.html import styled_quote
from sayso.facts.quote import Quote
from sayso.records import (
    NOT_PREDICTED,
    NOT_SENTENCES,
    ONE_SENTENCE,
    SENTENCES_TOGETHER,
    SEVERAL_SENTENCES,
    SUPPORT_LABELS,
)
from sayso.serve.predictions.run import RunPredictions

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

    A sentence has the fields of a piece of evidence or a quote, its `place` and, for each mechanism, its bar.
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
    names = {side: fact[side]["name"] for side in ("head", "tail") if side in fact}
    sentences = [
        {
            **each,
            "names": names,
            "place": bars[by][number].place,
            "bars": {name: bars[name][number] for name in mechanisms},
        }
        for number, each in enumerate(evidence)
    ]
    sentences.sort(key=lambda each: each["place"])
    return FactView(
        by=by, mechanisms=mechanisms, sentences=sentences[:MAX_SHOWN], num_hidden=max(0, len(sentences) - MAX_SHOWN)
    )


class Side(NamedTuple):
    """One run's side of the comparison; `fact` and its view are None if the run does not have it."""

    run: RunPredictions
    fact: dict[str, Any] | None
    shown: FactView | None


def compare(
    runs: Sequence[RunPredictions], bag: int, relation: str, by: str = "", with_marks: bool = True
) -> tuple[list[Side], list[list[dict[str, Any] | None]]]:
    """Return one side per run, and a row per sentence with its view on every side, ranked by the mechanism `by`.

    Rows are in the order of the first run that has the fact; there are none if no run has it.
    """
    sides = []
    for run in runs:
        row = run.index.find(bag, relation)
        fact = None if row is None else run.explanation(row, with_marks).to_dict()
        sides.append(Side(run, fact, view_fact(fact, by) if fact else None))
    by_text = [{each["text"]: each for each in side.shown.sentences} if side.shown else {} for side in sides]
    leading = next(filter(None, by_text), {})
    return sides, [[known.get(text) for known in by_text] for text in leading]


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
                "parts": styled_quote(quote, fact.head_name, fact.tail_name),
                "place": quote.rank,
                # The smallest set consists of the top-ranked sentences.
                "is_in_smallest": quote.rank <= fact.support.num_smallest,
                "bars": {fact.mechanism: bar._replace(place=quote.rank)},
            }
            for quote, bar in zip(quotes, bars, strict=True)
        ],
        num_hidden=max(0, fact.num_sentences - len(quotes)),
    )


@dataclass(frozen=True)
class RemainingSupport:
    """What a prediction rests on without the rejected quotes, as far as the extraction has measured it.

    `kind` is a key of SUPPORT_LABELS, or empty if it was not measured.
    """

    kind: str
    text: str


def remaining_support(fact: ExtractedFact, threshold: float | None) -> RemainingSupport | None:
    """Return what the prediction rests on without the rejected quotes; None if none is rejected."""
    rejected = {each.rank for each in fact.quotes if each.is_rejected}
    if not rejected:
        return None
    reaches = 0.5 if threshold is None else threshold
    without = f"Without {_sentences(len(rejected), 'rejected')},"
    support, left = fact.support, [each for each in fact.quotes if not each.is_rejected]
    enough = [each for each in left if each.alone is not None and each.alone >= reaches]
    smallest = set(range(1, support.num_smallest + 1))
    if support.kind in (NOT_SENTENCES, NOT_PREDICTED):
        return RemainingSupport(support.kind, f"{without} as before: {SUPPORT_LABELS[support.kind]}.")
    if enough:
        ranks = ", ".join(str(each.rank) for each in enough)
        best = f"{max(each.alone or 0.0 for each in enough):.2f} alone"
        best += "" if fact.text_probability is None else ", without the knowledge base"
        which = f"sentence {ranks} is enough ({best})"
        several = f"sentences {ranks} are each enough (up to {best})"
        kind = SEVERAL_SENTENCES if len(enough) > 1 else ONE_SENTENCE
        return RemainingSupport(kind, f"{without} {several if len(enough) > 1 else which}.")
    if smallest and not smallest & rejected:
        kept = f"the smallest set keeps the prediction ({support.probability_with:.2f})"
        return RemainingSupport(support.kind, f"{without} {kept}.")
    if not left and len(fact.quotes) == fact.num_sentences:
        return RemainingSupport(NOT_PREDICTED, "All sentences are rejected; no evidence for this fact is left.")
    if rejected == smallest:
        is_kept = support.probability_without >= reaches
        kind = SENTENCES_TOGETHER if is_kept else NOT_PREDICTED
        outcome = "the others together reach" if is_kept else "the fact is not predicted: the others reach"
        return RemainingSupport(kind, f"{without} {outcome} {support.probability_without:.2f}.")
    return RemainingSupport("", f"{without} no sentence is enough alone; the others together were not measured.")


def _sentences(num: int, what: str) -> str:
    return f"the {what} sentence" if num == 1 else f"the {num} {what} sentences"


class EntityResponse(BaseModel):
    """An entity of the pair, with the type that the model uses."""

    entity_id: str
    name: str
    type: str


class SupportResponse(BaseModel):
    """What a prediction rests on: the smallest sufficient set of sentences, and the probability with and without it.

    `num_enough` is the number of sentences that are each enough to reach the threshold; null if not counted.
    """

    kind: str
    num_smallest: int
    probability_with: float
    probability_without: float
    probability_of_none: float
    num_enough: int | None = None
    text: str


class OffsetsResponse(BaseModel):
    """The character offsets of a sentence in its document."""

    document_id: str
    start: int
    stop: int


class SourceResponse(OffsetsResponse):
    """Character offsets, and how the document writes the tokens.

    `glued` are the indices of tokens without a space before them, `curly` of tokens with ’ instead of '.
    """

    glued: list[int]
    curly: list[int]


class QuoteResponse(BaseModel):
    """A sentence quoted as evidence; prefix + exact + suffix is the sentence as written in the document.

    Spans are characters of this sentence. `alone` is the probability from this sentence alone, null if unknown;
    `decision` and `reason` are a reviewer's, empty for none.
    """

    prefix: str
    exact: str
    suffix: str
    rank: int
    score: float
    mark: str
    source: OffsetsResponse | None
    head_spans: list[tuple[int, int]] = []
    tail_spans: list[tuple[int, int]] = []
    alone: float | None = None
    decision: str = ""
    reason: str = ""


class EvidenceResponse(BaseModel):
    """A sentence with its mentions as token spans, every mechanism's score, and the model's input.

    `word_scores` has a score per word of `seen`, or is empty if the sentence has no word scores.
    """

    rank: int
    text: str
    tokens: list[str]
    head_spans: list[tuple[int, int]]
    tail_spans: list[tuple[int, int]]
    source: SourceResponse | None
    scores: dict[str, float]
    is_in_smallest: bool
    mark: str | None
    seen: list[str]
    word_scores: list[float]


class ExplanationResponse(BaseModel):
    """A fact with its sentences in rank order."""

    head: EntityResponse
    tail: EntityResponse
    relation: str
    probability: float
    threshold: float
    is_label: bool | None
    variant: str
    ranked_by: str
    support: SupportResponse
    evidence: list[EvidenceResponse]


def quote_response(quote: Quote) -> QuoteResponse:
    """Return a quote with its offsets."""
    return QuoteResponse.model_validate({**quote._asdict(), "source": quote.place})


def support_response(fact: ExtractedFact, threshold: float | None) -> SupportResponse:
    """Return what the prediction rests on; the threshold may be unknown."""
    text = support_sentence(fact.support, fact.probability, threshold, fact.num_sentences)
    return SupportResponse(**fact.support._asdict(), text=text)
