"""The open workbench: the store, the runs' predictions, extracted facts and the annotation database."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import pyarrow as pa
from pydantic import BaseModel, Field

from sayso.annotate.guideline import latest_definition, with_definitions
from sayso.annotate.queue import QueueSettings, find_candidates, in_order
from sayso.annotate.store import AnnotationDatabase
from sayso.documents.lookup import DocumentLookup, context_of
from sayso.facts.file import FACTS_FILE, facts_file
from sayso.facts.html import StyledText, stated
from sayso.facts.quote import Quote
from sayso.records import Bag, Relation, Triple
from sayso.serve.predictions.run import OpenRun, RunPredictions
from sayso.serve.responses import RequestError, not_found
from sayso.serve.review.file import ExtractedFile
from sayso.serve.server import ServeSettings
from sayso.serve.try_it.process import Worker
from sayso.store.predictions import Predictions
from sayso.store.store import Store
from sayso.store.table import BagTable

_NUM_BAGS_KEPT = 256


class FactName(BaseModel):
    """A fact: the bag's index in the part, and the relation."""

    bag: Annotated[int, Field(ge=0, le=2**53)]
    relation: Annotated[str, Field(max_length=500)]

    @property
    def url_query(self) -> str:
        """The fact as a URL query string."""
        return urlencode(dict(self))


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
    def statement(self) -> list[StyledText]:
        """The fact as a sentence."""
        return stated(self.head_name, self.relation.name, self.tail_name, self.relation.definition)

    @property
    def is_label(self) -> bool:
        """Whether the fact is in the knowledge base."""
        return self.relation.name in self.bag.relations

    @cached_property
    def texts(self) -> list[str]:
        """The sentences, in bag order."""
        return [sentence.text for sentence in self.bag.sentences]

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each sentence in the bag, by its text."""
        return {text: place for place, text in enumerate(self.texts)}

    def text(self, place: int) -> str:
        """Return the sentence with this index in the bag."""
        if not 0 <= place < len(self.bag.sentences):
            raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, f"The bag has no sentence {place}.")
        return self.bag.sentences[place].text

    @property
    def name(self) -> FactName:
        """The fact's bag and relation, as used in requests."""
        return FactName(bag=self.number, relation=self.relation.name)


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


class Workbench:
    """The open store, runs, extractions and database; after startup, only the database changes."""

    def __init__(self, settings: ServeSettings) -> None:
        # In memory, not mapped: a truncated file must not kill the server.
        self.store = Store(settings.data, in_memory=True)
        self.settings = settings = replace(settings, part=settings.part or self.store.default_part)
        self.table: BagTable = self.store.part(settings.part)
        names = _distinct(folder.resolve().name for folder in settings.runs)
        self.runs = tuple(
            OpenRun(name, folder, self.store, settings.part, self.table)
            for name, folder in zip(names, settings.runs, strict=True)
        )
        self.extractions = _open_extractions(settings.facts)
        self.documents = DocumentLookup(settings.documents) if settings.documents else None
        self.database = AnnotationDatabase(settings.database)
        # Consecutive requests, even from different users, are often about the same bag.
        self.bag = lru_cache(maxsize=_NUM_BAGS_KEPT)(partial(self.store.bag, self.table))
        self._defined = (0, self.store.relations)
        self._queue = lru_cache(maxsize=1)(self._find_queue)

    @property
    def relations(self) -> list[Relation]:
        """The relations of the store, with the definitions that leads have entered."""
        with self.database.reading() as connection:
            if (latest := latest_definition(connection)) != self._defined[0]:
                self._defined = (latest, with_definitions(self.store.relations, connection))
        return self._defined[1]

    @cached_property
    def relation_numbers(self) -> dict[str, int]:
        """The index of each relation by name."""
        return {relation.name: number for number, relation in enumerate(self.store.relations)}

    @property
    def name(self) -> str:
        """The name of the store for file names; its parent folder's if it is just called `store`."""
        folder = self.store.folder.resolve()
        return folder.parent.name if folder.name == "store" else folder.name

    def statement(self, head_name: str, relation: str, tail_name: str) -> list[StyledText]:
        """Return a fact as a sentence, by the definition of its relation if the store has one."""
        number = self.relation_numbers.get(relation)
        definition = "" if number is None else self.relations[number].definition
        return stated(head_name, relation, tail_name, definition)

    @cached_property
    def bag_of_pair(self) -> dict[tuple[str, str], int]:
        """The index of each bag of the part by its pair of entity ids."""
        ids = self.store.entities["id"].to_pylist()
        return {(ids[head], ids[tail]): bag for bag, (head, tail) in enumerate(self.table.pairs)}

    def context(self, quote: Quote) -> tuple[str, str]:
        """Return the sentences before and after a quote in its document; empty if unknown."""
        text = self.documents and quote.source and self.documents.text(quote.source.document_id)
        return context_of(text, quote.source.start, quote.source.stop) if text and quote.source else ("", "")

    def has_fact(self, fact: Triple) -> bool:
        """Return whether the part has a bag for the fact; the database may have facts of other parts and stores."""
        return (fact.head_id, fact.tail_id) in self.bag_of_pair and fact.relation in self.relation_numbers

    def fact(self, asked: FactName) -> BagFact:
        """Return the fact with this bag and relation; not found (404) if there is none."""
        number = self.relation_numbers.get(asked.relation)
        if number is None or asked.bag >= self.table.num_bags:
            raise not_found("Fact not found in the store.")
        return BagFact(number=asked.bag, bag=self.bag(asked.bag), relation=self.relations[number])

    def fact_of(self, fact: Triple | None) -> BagFact | None:
        """Return the store's bag and relation for a fact; None if the store does not have the pair."""
        if fact is None or not self.has_fact(fact):
            return None
        return self.fact(FactName(bag=self.bag_of_pair[fact.head_id, fact.tail_id], relation=fact.relation))

    def scores(self, shown: BagFact) -> list[RunScores]:
        """Return the scores of every run that has the fact."""
        rows = ((run, run.index.find(shown.number, shown.relation.name)) for run in self.predictions.values())
        return [_scores(run, row) for run, row in rows if row is not None]

    def queue(self, settings: QueueSettings) -> list[Triple]:
        """Return the facts to annotate, in order."""
        first = next(iter(self.predictions.values()), None)
        return self._queue(settings, first.predictions if first else None)

    def _find_queue(self, settings: QueueSettings, predictions: Predictions | None) -> list[Triple]:
        facts = find_candidates(self.table, predictions, self.relation_numbers)
        order = in_order(facts, settings, self.relation_numbers)
        bags, relations = facts.bag_F[order], facts.relation_F[order]
        heads, tails = (
            self.store.entities["id"].take(pa.array(column[bags], pa.int64())).to_pylist()
            for column in (self.table.head_B, self.table.tail_B)
        )
        names = [self.store.relations[number].name for number in relations.tolist()]
        return [Triple(*each) for each in zip(heads, names, tails, strict=True)]

    @property
    def predictions(self) -> dict[str, RunPredictions]:
        """The runs whose predictions can be shown, by name."""
        return {run.name: run.current for run in self.runs if run.problem is None}

    @cached_property
    def workers(self) -> dict[str, Worker]:
        """The model processes by run name; each is started on its first request."""
        return {run.name: Worker.of_run(run.folder) for run in self.runs}

    def run(self, name: str) -> OpenRun | None:
        """Return the run with this name, or None."""
        return next((run for run in self.runs if run.name == name), None)

    def refuse_changed(self) -> None:
        """Raise `ChangedError` if a file of the store has changed; reread replaced predictions."""
        self.store.files.refuse_changed()
        for run in self.runs:
            run.follow()

    def close(self) -> None:
        """Stop the models' processes and close the database."""
        for worker in self.workers.values():
            worker.close()
        if self.documents:
            self.documents.close()
        self.database.close()


def _scores(run: RunPredictions, row: int) -> RunScores:
    fact = run.fact(row)
    columns = (
        run.predictions.evidence[name].slice(fact["first_evidence"], fact["num_sentences"]).to_pylist()
        for name in ("sentence", "rank", f"score.{run.ranked_by}")
    )
    _, ranks, scores = zip(*sorted(zip(*columns, strict=True)), strict=True)
    peak = max(map(abs, scores)) or 1.0
    return RunScores(
        run=run.name,
        mechanism=run.ranked_by,
        probability=fact["probability"],
        ranks=list(ranks),
        scores=list(scores),
        shares=[max(0.0, score / peak) for score in scores],
    )


def _open_extractions(paths: tuple[Path, ...]) -> dict[str, ExtractedFile]:
    """Open extractions, named after their folder or, if the file is not called facts.jsonl, after the file."""
    files = [facts_file(path).resolve() for path in paths]
    names = _distinct(file.parent.name if file.name == FACTS_FILE else file.stem for file in files)
    return {name: ExtractedFile(name, file) for name, file in zip(names, files, strict=True)}


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the names, with a number appended to repeated ones.

    >>> _distinct(["one", "two", "one"])
    ['one', 'two', 'one-2']
    """
    num_named: Counter[str] = Counter()
    distinct = []
    for name in names:
        num_named[name] += 1
        distinct.append(name if num_named[name] == 1 else f"{name}-{num_named[name]}")
    return distinct
