"""JSON responses about facts: the fields of `Explanation.to_dict` and of extracted facts."""

from pydantic import BaseModel

from sayso.facts.fact import ExtractedFact, Quote
from sayso.serve.fact_view import support_text
from sayso.serve.predictions.run import ExploredRun, Planted, TopSentence
from sayso.serve.review.file import FoundFile


class RunAnswer(BaseModel):
    """A run that is open, and what its predictions are about."""

    name: str
    variant: str
    part: str
    threshold: float
    mechanisms: list[str]
    ranked_by: str
    model_fingerprint: str
    data_fingerprint: str
    num_facts: int


class EntityAnswer(BaseModel):
    """One of the pair, and the type that the model holds it for."""

    entity_id: str
    name: str
    type: str


class SupportAnswer(BaseModel):
    """What a prediction rests on: the smallest set of sentences that keeps it, and the probability with and without.

    `num_enough` sentences alone reach the threshold; null where they were not counted.
    """

    kind: str
    num_smallest: int
    probability_with: float
    probability_without: float
    probability_of_none: float
    num_enough: int | None = None
    text: str


class PlaceAnswer(BaseModel):
    """Where a sentence stands in its document, in characters."""

    document_id: str
    start: int
    stop: int


class SourceAnswer(PlaceAnswer):
    """A place, and how the document writes the tokens that stand there.

    `glued` are the numbers of those that follow the one before without white space, `curly` of those with ’ for '.
    """

    glued: list[int]
    curly: list[int]


class QuoteAnswer(BaseModel):
    """A sentence as evidence; prefix, exact and suffix together are the sentence as its document writes it."""

    prefix: str
    exact: str
    suffix: str
    rank: int
    score: float
    mark: str
    source: PlaceAnswer | None


class EvidenceAnswer(BaseModel):
    """A sentence with the mentions as spans of tokens, every mechanism's score, and what the model saw of it.

    `word_scores` has a score for each word of `seen`, or is empty where nobody looked.
    """

    rank: int
    text: str
    tokens: list[str]
    head_spans: list[tuple[int, int]]
    tail_spans: list[tuple[int, int]]
    source: SourceAnswer | None
    scores: dict[str, float]
    is_in_smallest: bool
    mark: str | None
    seen: list[str]
    word_scores: list[float]


class ExplanationAnswer(BaseModel):
    """A fact with its sentences, the first in rank first."""

    head: EntityAnswer
    tail: EntityAnswer
    relation: str
    probability: float
    threshold: float
    is_label: bool | None
    variant: str
    ranked_by: str
    support: SupportAnswer
    evidence: list[EvidenceAnswer]


class FactAnswer(ExplanationAnswer):
    """A fact of a run, and the checks on the explanations."""

    top_sentences: list[TopSentence]
    planted: list[Planted]


class SideAnswer(BaseModel):
    """What one run says about a fact; nothing where it has not written it down."""

    run: str
    fact: FactAnswer | None


def run_answer(run: ExploredRun) -> RunAnswer:
    """Return what there is to know about a run."""
    manifest = run.predictions.manifest
    names = ("variant", "part", "threshold", "mechanisms", "ranked_by", "model_fingerprint", "data_fingerprint")
    return RunAnswer(name=run.name, num_facts=run.index.num_facts, **{name: manifest[name] for name in names})


def fact_answer(run: ExploredRun, row: int, with_marks: bool = True) -> FactAnswer:
    """Return a fact of a run with everything that was written down about it, people's marks if they are wanted."""
    return FactAnswer.model_validate(
        {
            **run.explanation(row, with_marks).to_dict(),
            "top_sentences": run.top_sentences(row),
            "planted": run.planted(row),
        }
    )


def quote_answer(quote: Quote) -> QuoteAnswer:
    """Return a quote with its place."""
    return QuoteAnswer.model_validate({**quote._asdict(), "source": quote.place})


_MADE = ("quotes", "support", "decision")
"""Fields of an answer that are not simply those of the fact."""


class FoundFileAnswer(BaseModel):
    """A file of facts that is open: its name in addresses, and how far people have come with it."""

    name: str
    num_facts: int
    num_decided: int


class FoundAnswer(BaseModel):
    """A fact with its quotes, the first in rank first; `contradicts` are ids of what the knowledge base has instead."""

    head_id: str
    head_name: str
    relation: str
    tail_id: str
    tail_name: str
    probability: float
    status: str
    contradicts: list[str]
    num_sentences: int
    support: SupportAnswer
    quotes: list[QuoteAnswer]
    mechanism: str
    run: str
    variant: str
    model_fingerprint: str
    data_fingerprint: str
    decision: str


def found_file_answer(file: FoundFile) -> FoundFileAnswer:
    """Return what there is to know about a file of facts."""
    return FoundFileAnswer(name=file.name, num_facts=file.index.num_facts, num_decided=file.index.num_decided)


def found_answer(fact: ExtractedFact, threshold: float | None, decision: str) -> FoundAnswer:
    """Return a fact with everything that its file says, and what people have decided."""
    values = {name: getattr(fact, name) for name in FoundAnswer.model_fields if name not in _MADE}
    quotes = [quote_answer(each) for each in sorted(fact.quotes, key=lambda each: each.rank)]
    support = {**fact.support._asdict(), "text": support_text(fact, threshold)}
    return FoundAnswer.model_validate({**values, "quotes": quotes, "support": support, "decision": decision})
