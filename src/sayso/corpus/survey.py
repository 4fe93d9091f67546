"""What is in a corpus: counts from one pass, in 32 bytes a sentence."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sayso.records import Sentence, sentence_key


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The counts of a corpus.

    `duplicate_sentences` repeat a sentence of their own pair, under the same or another relation; a bag keeps each
    sentence once. `distinct_sentences` counts a sentence once however many pairs it serves and however names in it
    are joined. Lengths are tokens per sentence; bag sizes are distinct sentences per pair.
    """

    sentences: int
    distinct_sentences: int
    duplicate_sentences: int
    na_sentences: int
    pairs: int
    positive_pairs: int
    facts: int
    relations: int
    entities: int
    untyped_entities: int | None
    mentions_repeated: int
    length_median: int
    length_max: int
    bag_size_mean: float
    bag_size_max: int
    bags_of_one: int


class Surveyor:
    """Collects what a `Survey` is made from, sentence by sentence."""

    def __init__(self) -> None:
        self.pair = array("q")
        self.line = array("q")
        self.key = array("q")
        self.fact_pair = array("q")
        self.fact_relation = array("q")
        self.lengths: Counter[int] = Counter()
        self.relations: Counter[str] = Counter()
        self.entities: set[str] = set()
        self.num_na = 0
        self.num_repeated = 0

    def add(self, sentence: Sentence) -> None:
        """Count one sentence."""
        tokens, head, tail, relations = sentence[:4]
        pair = hash((head.entity_id, tail.entity_id))
        self.pair.append(pair)
        self.line.append(hash((pair, tokens)))
        self.key.append(hash(sentence_key(" ".join(tokens))))
        self.lengths[len(tokens)] += 1
        self.entities.add(head.entity_id)
        self.entities.add(tail.entity_id)
        self.num_repeated += len(head.spans) > 1 or len(tail.spans) > 1
        self.num_na += not relations
        for relation in relations:
            self.relations[relation] += 1
            self.fact_pair.append(pair)
            self.fact_relation.append(hash((pair, relation)))


def summarise(surveyors: Sequence[Surveyor], typed: Iterable[str] | None = None) -> Survey:
    """Return the counts of one or several files taken as one corpus.

    `typed` are the ids of entities that have a type; None where no types are given.
    """
    pair, line = (_joined(surveyors, name) for name in ("pair", "line"))
    entities = set().union(*(surveyor.entities for surveyor in surveyors))
    lengths: Counter[int] = sum((surveyor.lengths for surveyor in surveyors), Counter())
    distinct_line, first = np.unique(line, return_index=True)
    bag_sizes = np.unique(pair[first], return_counts=True)[1]
    return Survey(
        sentences=len(line),
        distinct_sentences=_num_distinct(surveyors, "key"),
        duplicate_sentences=len(line) - len(distinct_line),
        na_sentences=sum(surveyor.num_na for surveyor in surveyors),
        pairs=len(bag_sizes),
        positive_pairs=_num_distinct(surveyors, "fact_pair"),
        facts=_num_distinct(surveyors, "fact_relation"),
        relations=len({relation for surveyor in surveyors for relation in surveyor.relations}),
        entities=len(entities),
        untyped_entities=None if typed is None else len(entities.difference(typed)),
        mentions_repeated=sum(surveyor.num_repeated for surveyor in surveyors),
        length_median=_median(lengths),
        length_max=max(lengths, default=0),
        bag_size_mean=float(bag_sizes.mean()) if len(bag_sizes) else 0.0,
        bag_size_max=int(bag_sizes.max(initial=0)),
        bags_of_one=int((bag_sizes == 1).sum()),
    )


def _joined(surveyors: Sequence[Surveyor], name: str) -> np.ndarray:
    return np.concatenate([np.frombuffer(getattr(surveyor, name), np.int64) for surveyor in surveyors])


def _num_distinct(surveyors: Sequence[Surveyor], name: str) -> int:
    return len(np.unique(_joined(surveyors, name)))


def _median(counts: Counter[int]) -> int:
    """Return the (lower) median of values given with how often each occurs."""
    half, seen = sum(counts.values()) / 2, 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= half:
            return value
    return 0
