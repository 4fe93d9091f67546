"""Finds facts in bags, with their evidence: all bags are predicted together, then their facts are explained.

Bags are independent: the facts of a bag depend neither on other bags nor on their order.
Shapes: B bags, N their sentences, R relations, F facts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sayso.explain import mechanisms_named
from sayso.explain.bag import support_of
from sayso.explain.facts import ExplainedFacts, encoded_facts, explain_facts
from sayso.explain.faithfulness import Encoded, sigmoid
from sayso.extract.settings import ExtractSettings
from sayso.facts.fact import ExtractedFact
from sayso.facts.quote import quote_of
from sayso.features.batch import Part
from sayso.features.lexicon import TypesById
from sayso.features.user_input import InputBags, InputBuilder
from sayso.model.checkpoint import ModelParts
from sayso.model.ensemble import model_fingerprint
from sayso.model.predict import predict_logits
from sayso.records import Bag, Sentence
from sayso.store.rows import Rows, ranges


class Origin(NamedTuple):
    """The run, model and data that a fact comes from."""

    run: str
    model_fingerprint: str
    data_fingerprint: str


def origin_of(run: Path, model: ModelParts) -> Origin:
    """Return the origin of facts found by this run's model."""
    data = str(model.training.get("data_fingerprint", ""))
    return Origin(run.resolve().name, model_fingerprint(run), data)


class FoundInBags(NamedTuple):
    """Facts found in bags, and how many sentences were repeated, had mentions too far apart, or were cut."""

    facts: list[ExtractedFact]
    num_repeated: int = 0
    num_too_far_apart: int = 0
    num_cut: int = 0


@dataclass(frozen=True, kw_only=True)
class FactPredictor:
    """Finds facts in bags with a model; `types` take precedence over the model's own entity types."""

    model: ModelParts
    settings: ExtractSettings
    origin: Origin
    types: TypesById

    def find(self, bags: Sequence[Bag]) -> FoundInBags:
        """Return the facts whose probability reaches the threshold; bags without a readable sentence have none."""
        intake, sentences, pairs = InputBuilder(self.model.lexicon), list[Sentence](), list[Sentence]()
        for number, bag in enumerate(bags):
            readable = [each for each in bag.sentences if intake.add(_of_bag(each, number))]
            sentences += readable
            pairs += readable[:1]
        if not sentences:
            return FoundInBags([], num_too_far_apart=intake.num_too_far_apart)
        # The head and tail of each bag in turn, named as in the bag's first sentence.
        mentions = [mention for sentence in pairs for mention in (sentence.head, sentence.tail)]
        ids, names = [each.entity_id for each in mentions], [each.name for each in mentions]
        entities = self.model.lexicon.recognise(ids, names, self.types)
        (taken,) = intake.portions(len(self.model.relations), entities)
        kept = [sentences[line] for line in taken.line_N.tolist()]
        facts = list(self._facts(taken, kept, pairs))
        num_cut = self.model.extractor.num_cut(taken.part.inputs)
        return FoundInBags(facts, taken.num_repeated, intake.num_too_far_apart, num_cut)

    def _facts(
        self, taken: InputBags, sentences: Sequence[Sentence], pairs: Sequence[Sentence]
    ) -> Iterator[ExtractedFact]:
        probability_BR = sigmoid(predict_logits(self.model.extractor, taken.part))
        threshold_R = self.settings.threshold_of(self.model.relations)
        facts_F2 = np.argwhere(probability_BR >= threshold_R)
        bags, bag_F = np.unique(facts_F2[:, 0], return_inverse=True)
        part, row_N = _take_bags(taken.part, bags)
        asked_F2 = np.stack([bag_F.reshape(-1), facts_F2[:, 1]], axis=1)
        mechanisms, bag_N = mechanisms_named([self.settings.method]), taken.part.table.bag_N
        for encoded, part_row, logit_F in encoded_facts(self.model.extractor, part, asked_F2):
            explained = explain_facts(encoded, logit_F, mechanisms, threshold_R[encoded.relation_F])
            alone_E = self._alone(encoded, explained)
            for fact in range(len(logit_F)):
                bag_rows = row_N[part_row[explained.sentences.row(fact)]]
                evidence = [sentences[row] for row in bag_rows.tolist()]
                yield self._fact(explained, alone_E, fact, evidence, pairs[int(bag_N[bag_rows[0]])])

    def _alone(self, encoded: Encoded, explained: ExplainedFacts) -> np.ndarray:
        """Return each fact's probability from each quoted sentence alone; NaN for sentences that are not quoted."""
        fact_E = np.repeat(np.arange(len(explained.sentences)), explained.sentences.length)
        # In rank order, which does not depend on the order of the corpus.
        order = np.lexsort((explained.rank_E, fact_E))
        quoted = order[explained.rank_E[order] <= self.settings.max_evidence]
        alone = Rows.of_lengths(explained.sentences.value[quoted], np.ones(len(quoted), np.int64))
        alone_E = np.full(len(fact_E), np.nan)
        alone_E[quoted] = encoded.probability(alone, fact_E[quoted])
        return alone_E

    def _fact(
        self,
        explained: ExplainedFacts,
        alone_E: np.ndarray,
        fact: int,
        sentences: Sequence[Sentence],
        named: Sentence,
    ) -> ExtractedFact:
        settings = self.settings
        rows = slice(*explained.sentences.start[fact : fact + 2].tolist())
        columns = (explained.rank_E[rows], explained.scores[settings.method][rows], alone_E[rows])
        ranked = sorted(zip(*(column.tolist() for column in columns), sentences, strict=True), key=itemgetter(0))
        return ExtractedFact(
            head_id=named.head.entity_id,
            head_name=named.head.name,
            relation=self.model.relations[int(explained.relation_F[fact])].name,
            tail_id=named.tail.entity_id,
            tail_name=named.tail.name,
            probability=float(explained.probability_F[fact]),
            num_sentences=len(sentences),
            support=support_of(explained, fact),
            **self.origin._asdict(),
            variant=self.model.variant,
            mechanism=settings.method,
            quotes=tuple(
                quote_of(sentence, rank, score, alone=alone)
                for rank, score, alone, sentence in ranked[: settings.max_evidence]
            ),
        )


def _of_bag(sentence: Sentence, number: int) -> Sentence:
    """Return the sentence with entity ids that are unique to this bag.

    An entity with an unknown id is recognised by its name, which can differ between bags. With unique ids, a bag's
    facts do not depend on other bags.
    """
    head = sentence.head._replace(entity_id=f"{number}h")
    return sentence._replace(head=head, tail=sentence.tail._replace(entity_id=f"{number}t"))


def _take_bags(part: Part, bags: np.ndarray) -> tuple[Part, np.ndarray]:
    """Return a part with only these bags, and the original row of each of its sentences."""
    row_N = ranges(part.table.first_B1[:-1][bags], part.table.size_B[bags])
    table, inputs = part.table.take_bags(bags), part.inputs.take(row_N)
    return Part(table=table, inputs=inputs, num_relations=part.num_relations), row_N
