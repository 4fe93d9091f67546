"""JSON responses about facts, with the fields of `Explanation.to_dict` and of extracted facts."""

from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel

from sayso.facts.explanation import support_sentence
from sayso.facts.fact import ExtractedFact, Quote
from sayso.serve.predictions.run import DistractorRank, RunPredictions, TopSentence


class RunResponse(BaseModel):
    """An open run and its predictions."""

    name: str
    variant: str
    part: str
    threshold: float
    mechanisms: list[str]
    ranked_by: str
    model_fingerprint: str
    data_fingerprint: str
    num_facts: int


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
    """A sentence quoted as evidence; prefix + exact + suffix is the sentence as written in the document."""

    prefix: str
    exact: str
    suffix: str
    rank: int
    score: float
    mark: str
    source: OffsetsResponse | None


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


class PredictionResponse(ExplanationResponse):
    """A fact in a run's predictions, with the checks on its explanation."""

    top_sentences: list[TopSentence]
    planted: list[DistractorRank]

    @classmethod
    def of(cls, run: RunPredictions, row: int, with_marks: bool) -> Self:
        """Return everything stored about a fact in a run's predictions, with annotators' marks if `with_marks`."""
        checks = {"top_sentences": run.top_sentences(row), "planted": run.planted(row)}
        return cls.model_validate(run.explanation(row, with_marks).to_dict() | checks)


class ComparedResponse(BaseModel):
    """A fact in one run; null if the run does not have it."""

    run: str
    fact: PredictionResponse | None


def quote_response(quote: Quote) -> QuoteResponse:
    """Return a quote with its offsets."""
    return QuoteResponse.model_validate({**quote._asdict(), "source": quote.place})


class ExtractionResponse(BaseModel):
    """An open file of facts: its name in URLs, and how many of its facts are decided."""

    name: str
    num_facts: int
    num_decided: int


@dataclass(frozen=True, kw_only=True)
class ExtractedFactResponse(ExtractedFact):
    """A fact with its quotes in rank order; `contradicts` are the tails in the knowledge base instead."""

    support: SupportResponse  # type: ignore[assignment]
    quotes: list[QuoteResponse]  # type: ignore[assignment]
    decision: str


def extracted_fact_response(fact: ExtractedFact, threshold: float | None, decision: str) -> ExtractedFactResponse:
    """Return everything the file contains about a fact, and the decision on it."""
    quotes = [quote_response(each) for each in sorted(fact.quotes, key=lambda each: each.rank)]
    made = {"quotes": quotes, "support": support_response(fact, threshold), "decision": decision}
    return ExtractedFactResponse(**{**vars(fact), **made})


def support_response(fact: ExtractedFact, threshold: float | None) -> SupportResponse:
    """Return what the prediction rests on; the threshold may be unknown."""
    text = support_sentence(fact.support, fact.probability, threshold, fact.num_sentences)
    return SupportResponse(**fact.support._asdict(), text=text)
