"""Facts of an extraction as the JSON interface describes them."""

from typing import Annotated

from pydantic import BaseModel, Field

from sayso.facts.extracted import FoundFact
from sayso.records import Triple
from sayso.serve.decisions.decide import GivenDecision
from sayso.serve.predictions.answers import QuoteAnswer, SupportAnswer, quote_answer
from sayso.serve.review.deps import MAX_ID
from sayso.serve.review.file import FoundFile
from sayso.serve.review.shown import support_text

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


class FoundName(BaseModel):
    """A fact of an extraction, by its ids."""

    head: Annotated[str, Field(max_length=MAX_ID)]
    relation: Annotated[str, Field(max_length=500)]
    tail: Annotated[str, Field(max_length=MAX_ID)]

    @property
    def fact(self) -> Triple:
        """The fact."""
        return Triple(self.head, self.relation, self.tail)


class FoundDecision(FoundName, GivenDecision):
    """What is decided about a fact of an extraction; `withdrawn` leaves it undecided again."""


def found_file_answer(file: FoundFile) -> FoundFileAnswer:
    """Return what there is to know about a file of facts."""
    return FoundFileAnswer(name=file.name, num_facts=file.index.num_facts, num_decided=file.index.num_decided)


def found_answer(fact: FoundFact, threshold: float | None, decision: str) -> FoundAnswer:
    """Return a fact with everything that its file says, and what people have decided."""
    values = {name: getattr(fact, name) for name in FoundAnswer.model_fields if name not in _MADE}
    quotes = [quote_answer(each) for each in sorted(fact.quotes, key=lambda each: each.rank)]
    support = {**fact.support._asdict(), "text": support_text(fact, threshold)}
    return FoundAnswer.model_validate({**values, "quotes": quotes, "support": support, "decision": decision})
