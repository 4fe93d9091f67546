"""Comparison of extracted facts with a knowledge base: known, new or contradicting, and less probable by what it has.

The knowledge base may change from one extraction to the next, so facts are compared when they are read, not when they
are predicted. Shape: R relations.
"""

import io
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sayso.facts.fact import ExtractedFact
from sayso.records import Relation, Triple
from sayso.train.held_out import KbPrior

Related = Mapping[tuple[str, str], frozenset[str]]
"""The entities that a knowledge base has for an entity and a relation."""


@dataclass(frozen=True, kw_only=True)
class KnownFacts:
    """A knowledge base to compare facts with.

    `objects` are those of each (subject, relation), `subjects` those of each (object, relation). `weights` are the two
    weights of each relation in the `KbPrior`, and `thresholds` the minimum probability of its facts.
    """

    objects: Related
    subjects: Related = field(default_factory=dict)
    functional: frozenset[str] = frozenset()
    weights: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def compare(self, fact: ExtractedFact) -> ExtractedFact:
        """Return the fact with its status, the objects that it contradicts, and its probability given the others.

        Only facts of functional relations, which have one object per subject, can be contradicted. The probability of a
        known fact is that of the text alone.
        """
        objects = self.objects.get((fact.head_id, fact.relation), frozenset())
        if fact.tail_id in objects:
            return replace(fact, status="known")
        subjects = self.subjects.get((fact.tail_id, fact.relation), frozenset())
        another_object, another_subject = self.weights.get(fact.relation, (0.0, 0.0))
        shift = another_object * bool(objects) + another_subject * bool(subjects)
        if shift:
            probability = _shifted(fact.probability, shift)
            fact = replace(fact, probability=probability, text_probability=fact.probability)
        if objects and fact.relation in self.functional:
            return replace(fact, status="contradicts", contradicts=tuple(sorted(objects)))
        return replace(fact, status="new")

    def compare_all(self, facts: Iterable[ExtractedFact]) -> Iterator[ExtractedFact]:
        """Yield the compared facts that still reach their threshold, most probable first, as the given ones are."""
        if not self.weights:
            yield from map(self.compare, facts)
            return
        compared = (fact for fact in map(self.compare, facts) if self._reaches_threshold(fact))
        yield from _sorted_on_disk(compared)

    def _reaches_threshold(self, fact: ExtractedFact) -> bool:
        return fact.text_probability is None or fact.probability >= self.thresholds.get(fact.relation, 0.0)


def known_facts(
    triples: Iterable[Triple],
    relations: Sequence[Relation],
    prior: KbPrior | None = None,
    threshold_R: np.ndarray | None = None,
) -> KnownFacts:
    """Return the knowledge base's facts for these relations; others are ignored."""
    names = [relation.name for relation in relations]
    objects: dict[tuple[str, str], set[str]] = {}
    subjects: dict[tuple[str, str], set[str]] = {}
    for triple in triples:
        head_id, relation, tail_id = (column.removeprefix("\ufeff").strip() for column in triple)  # as `build` does
        if relation in names:
            objects.setdefault((head_id, relation), set()).add(tail_id)
            subjects.setdefault((tail_id, relation), set()).add(head_id)
    weights = zip(*(each.tolist() for each in prior), strict=True) if prior else ()
    return KnownFacts(
        objects={key: frozenset(found) for key, found in objects.items()},
        subjects={key: frozenset(found) for key, found in subjects.items()},
        functional=frozenset(relation.name for relation in relations if relation.is_functional),
        weights=dict(zip(names, weights, strict=bool(prior))),
        thresholds={} if threshold_R is None else dict(zip(names, threshold_R.tolist(), strict=True)),
    )


def _shifted(probability: float, shift: float) -> float:
    """Return the probability with its logit changed by `shift`, which is negative.

    >>> _shifted(1.0, -2.0), _shifted(0.5, 0.0)
    (1.0, 0.5)
    """
    odds = probability / (1.0 - probability) if probability < 1.0 else math.inf
    return 1.0 if math.isinf(odds) else odds * math.exp(shift) / (1.0 + odds * math.exp(shift))


def _sorted_on_disk(facts: Iterable[ExtractedFact]) -> Iterator[ExtractedFact]:
    """Yield the facts by descending probability; only two numbers per fact are held in memory."""
    probabilities, starts = list[float](), list[int]()
    with tempfile.TemporaryFile(prefix="sayso-") as file:
        for fact in facts:
            probabilities.append(fact.probability)
            starts.append(file.tell())
            file.write(fact.to_json().encode() + b"\n")
        for row in np.argsort(-np.array(probabilities), kind="stable").tolist():
            file.seek(starts[row], io.SEEK_SET)
            yield ExtractedFact.from_json(file.readline().decode())
