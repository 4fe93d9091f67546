"""Finds facts in bags, with their evidence: all bags are predicted together, then their facts are explained.

Bags are independent: the facts of a bag depend neither on other bags nor on their order.
Shapes: B bags, N their sentences, R relations, F facts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from sayso.explain import mechanisms_named
from sayso.explain.bag import support_of
from sayso.explain.facts import ExplainedFacts, encoded_facts, explain_facts
from sayso.explain.faithfulness import Encoded, sigmoid
from sayso.extract.gather import sentence_of
from sayso.extract.settings import ExtractSettings
from sayso.facts.fact import ExtractedFact
from sayso.facts.quote import Quote, quote_of
from sayso.features.batch import Part
from sayso.features.lexicon import TypesById
from sayso.features.user_input import InputBags, InputBuilder
from sayso.model.checkpoint import ModelParts
from sayso.model.ensemble import model_fingerprint
from sayso.model.predict import predict_logits
from sayso.readers.jsonl import CompactLines, parse_compact_lines
from sayso.records import Bag, Mention, Sentence
from sayso.store.block import Coded, SentenceBlock, coded
from sayso.store.columns import text_array
from sayso.store.rows import Rows, ranges, starts


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
        intake, sentences, pairs = InputBuilder(self.model.lexicon), list[Sentence](), list[tuple[Mention, Mention]]()
        for number, bag in enumerate(bags):
            readable = [each for each in bag.sentences if intake.add(_of_bag(each, number))]
            sentences += readable
            pairs += [(each.head, each.tail) for each in readable[:1]]
        return self._found(intake, sentences, pairs)

    def find_in_lines(self, pairs: Sequence[Sequence[str]]) -> FoundInBags:
        """Return the same as `find` for the compact lines of each pair, which are parsed together."""
        intake, lines = InputBuilder(self.model.lexicon), [line for each in pairs for line in each]
        found = parse_compact_lines(lines)
        block = _block_of(found, pairs) if found else None
        if found is None or block is None or not intake.add_block(block):
            return self.find([bag_of_lines(each) for each in pairs])
        first = np.cumsum([0, *map(len, pairs)])[:-1].tolist()
        named = zip(found.head_id, found.head_name, found.tail_id, found.tail_name, strict=True)
        entities = [(Mention(head_id, head, ()), Mention(tail_id, tail, ())) for head_id, head, tail_id, tail in named]
        return self._found(intake, found, [entities[row] for row in first])

    def _found(
        self, intake: InputBuilder, sentences: "_Sentences", pairs: Sequence[tuple[Mention, Mention]]
    ) -> FoundInBags:
        """Return the facts in the collected sentences; each bag is named as in its first sentence."""
        if not len(sentences):
            return FoundInBags([], num_too_far_apart=intake.num_too_far_apart)
        mentions = [mention for pair in pairs for mention in pair]
        ids, names = [each.entity_id for each in mentions], [each.name for each in mentions]
        entities = self.model.lexicon.recognise(ids, names, self.types)
        (taken,) = intake.portions(len(self.model.relations), entities)
        facts = list(self._facts(taken, sentences, pairs))
        num_cut = self.model.extractor.num_cut(taken.part.inputs)
        return FoundInBags(facts, taken.num_repeated, intake.num_too_far_apart, num_cut)

    def _facts(
        self, taken: InputBags, sentences: "_Sentences", pairs: Sequence[tuple[Mention, Mention]]
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
                columns = self._ranked(explained, alone_E, fact, taken.line_N[bag_rows])
                quotes = [quote_of(sentences[line], rank, score, alone=alone) for rank, score, alone, line in columns]
                yield self._fact(explained, fact, quotes, len(bag_rows), pairs[int(bag_N[bag_rows[0]])])

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

    def _ranked(
        self, explained: ExplainedFacts, alone_E: np.ndarray, fact: int, lines: np.ndarray
    ) -> list[tuple[int, float, float, int]]:
        """Return rank, score, probability alone and number of the sentences to quote."""
        rows = slice(*explained.sentences.start[fact : fact + 2].tolist())
        columns = (explained.rank_E[rows], explained.scores[self.settings.method][rows], alone_E[rows], lines)
        ranked = sorted(zip(*(column.tolist() for column in columns), strict=True), key=itemgetter(0))
        return ranked[: self.settings.max_evidence]

    def _fact(
        self,
        explained: ExplainedFacts,
        fact: int,
        quotes: Sequence[Quote],
        num_sentences: int,
        pair: tuple[Mention, Mention],
    ) -> ExtractedFact:
        head, tail = pair
        return ExtractedFact(
            head_id=head.entity_id,
            head_name=head.name,
            relation=self.model.relations[int(explained.relation_F[fact])].name,
            tail_id=tail.entity_id,
            tail_name=tail.name,
            probability=float(explained.probability_F[fact]),
            num_sentences=num_sentences,
            support=support_of(explained, fact),
            **self.origin._asdict(),
            variant=self.model.variant,
            mechanism=self.settings.method,
            quotes=tuple(quotes),
        )


class _Sentences(Protocol):
    """Sentences by number: records, or lines that become records only when they are quoted."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Sentence: ...


def bag_of_lines(lines: Sequence[str]) -> Bag:
    """Return the compact lines of a pair as a bag."""
    sentences = tuple(map(sentence_of, lines))
    return Bag(*sentences[0].pair, sentences)


def _block_of(lines: CompactLines, pairs: Sequence[Sequence[str]]) -> SentenceBlock | None:
    """Return the lines as a block, or None if one is damaged; entity ids are unique to each bag (see `_of_bag`)."""
    try:
        return _columns_of(lines, pairs)
    except (ValueError, TypeError, AttributeError, OverflowError):
        return None


def _columns_of(lines: CompactLines, pairs: Sequence[Sequence[str]]) -> SentenceBlock:
    bag_N = np.repeat(np.arange(len(pairs)), list(map(len, pairs)))
    ids = [f"{number}{role}" for number in range(len(pairs)) for role in "ht"]
    names = [name for pair in zip(lines.head_name, lines.tail_name, strict=True) for name in pair]
    num, nothing = len(bag_N), Coded(np.zeros(0, np.int32), [])
    return SentenceBlock(
        lines=b"",
        tokens=coded([word for text in lines.text for word in text.split(" ")]),
        start_N1=starts(np.array([text.count(" ") + 1 for text in lines.text], np.int64)),
        entity=Coded(np.stack([2 * bag_N, 2 * bag_N + 1], 1).ravel(), ids),
        names=text_array(names),
        head_spans=_span_rows(lines.head_spans),
        tail_spans=_span_rows(lines.tail_spans),
        relations=nothing,
        num_relations_N=np.zeros(num, np.int64),
        document=nothing,
        place_N2=np.zeros((num, 2), np.int64),
        glued=Rows.empty(num),
        curly=Rows.empty(num),
        expresses_N=np.full(num, np.nan),
    )


def _span_rows(spans: Sequence[Sequence[int]]) -> Rows:
    values = np.fromiter(chain.from_iterable(spans), np.int32)
    length_N = np.array(list(map(len, spans)), np.int64)
    if not length_N.all() or (length_N % 2).any():
        raise ValueError("a span without a start or a stop")
    return Rows.of_lengths(values, length_N)


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
