"""A fact as annotators see it: a bag of the part, one relation, the sentences, and every run's scores."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends
from pydantic import BaseModel, Field

from sayso.facts.html import StyledText, styled_sentence
from sayso.records import Bag, Relation, Sentence, Triple
from sayso.serve.errors import RequestError, not_found
from sayso.serve.workbench import Workbench


class FactName(BaseModel):
    """A fact: the bag's index in the part, and the relation."""

    bag: Annotated[int, Field(ge=0, le=2**53)]
    relation: Annotated[str, Field(max_length=500)]

    @property
    def url_query(self) -> str:
        """The fact as a URL query string."""
        return urlencode(dict(self))


FactParam = Annotated[FactName, Depends()]


@dataclass(frozen=True, kw_only=True)
class BagFact:
    """A bag and one relation; `number` is the bag's index in the part."""

    number: int
    bag: Bag
    relation: Relation

    @property
    def fact(self) -> Triple:
        """The fact as a triple of ids."""
        return Triple(self.bag.head_id, self.relation.name, self.bag.tail_id)

    @property
    def head_name(self) -> str:
        """The name of the head."""
        return self.bag.sentences[0].head.name

    @property
    def tail_name(self) -> str:
        """The name of the tail."""
        return self.bag.sentences[0].tail.name

    @property
    def is_label(self) -> bool:
        """Whether the fact is in the knowledge base."""
        return self.relation.name in self.bag.relations

    @property
    def texts(self) -> list[str]:
        """The sentences, in bag order."""
        return [sentence.text for sentence in self.bag.sentences]

    def text(self, place: int) -> str:
        """Return the sentence with this index in the bag."""
        if not 0 <= place < len(self.bag.sentences):
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, f"The bag has no sentence {place}.")
        return self.bag.sentences[place].text

    @property
    def name(self) -> FactName:
        """The fact as requests name it."""
        return FactName(bag=self.number, relation=self.relation.name)


def find_bag_fact(bench: Workbench, asked: FactName) -> BagFact:
    """Return the fact with this bag and relation; not found (404) if there is none."""
    number = bench.relation_numbers.get(asked.relation)
    if number is None or asked.bag >= bench.table.num_bags:
        raise not_found("Fact not found in the store.")
    return BagFact(number=asked.bag, bag=bench.bag(asked.bag), relation=bench.store.relations[number])


def bag_fact_of(bench: Workbench, fact: Triple) -> BagFact | None:
    """Return the store's bag and relation for a fact; None if the store does not have the pair."""
    if not bench.has_fact(fact):
        return None
    bag = bench.bag_of_pair[fact.head_id, fact.tail_id]
    return find_bag_fact(bench, FactName(bag=bag, relation=fact.relation))


def styled(sentence: Sentence) -> list[StyledText]:
    """Return the sentence as styled text, with its mentions marked."""
    spans = {"head_spans": sentence.head.spans, "tail_spans": sentence.tail.spans}
    source = sentence.source and sentence.source._asdict()
    return list(styled_sentence({"tokens": sentence.tokens, **spans, "source": source}))


@dataclass(frozen=True, kw_only=True)
class RunScores:
    """One run's scores for the sentences, in bag order, by the mechanism that ranks them.

    `shares` are relative to the highest score, for drawing bars; 0 for a negative score.
    """

    run: str
    mechanism: str
    probability: float
    ranks: list[int]
    scores: list[float]
    shares: list[float]


def run_scores(bench: Workbench, shown: BagFact) -> list[RunScores]:
    """Return the scores of every run that has the fact."""
    found = []
    for run in bench.predictions.values():
        row = run.index.find(shown.number, shown.relation.name)
        if row is None:
            continue
        fact = run.fact(row)
        columns = {
            name: run.predictions.evidence[name].slice(fact["first_evidence"], fact["num_sentences"]).to_pylist()
            for name in ("sentence", "rank", f"score.{run.ranked_by}")
        }
        rows = sorted(zip(*columns.values(), strict=True))
        scores = [score for _, _, score in rows]
        peak = max(map(abs, scores)) or 1.0
        found.append(
            RunScores(
                run=run.name,
                mechanism=run.ranked_by,
                probability=fact["probability"],
                ranks=[rank for _, rank, _ in rows],
                scores=scores,
                shares=[max(0.0, score / peak) for score in scores],
            )
        )
    return found
