"""People's decisions on facts, instead of the knowledge base's labels: rejected facts become negative examples."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sayso.errors import BadInputError
from sayso.readers.fact import read_decisions
from sayso.records import Sentence
from sayso.store.pair import combined
from sayso.store.table import BagTable

Pair = tuple[str, str]


@dataclass
class Overruled:
    """Facts that people accepted and rejected, by pair; the last decision on a fact counts. Counts what it changes."""

    accepted: dict[Pair, set[str]] = field(default_factory=dict)
    rejected: dict[Pair, set[str]] = field(default_factory=dict)
    seen: set[Pair] = field(default_factory=set)
    num_sentences_changed: int = 0

    def of_training(self, train: Iterable[Sentence], rest: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield the training sentences, and of the others those whose pair was decided on, with people's labels."""
        yield from map(self._overrule, train)
        for sentence in rest:
            if sentence.pair in self.accepted or sentence.pair in self.rejected:
                yield self._overrule(sentence)

    def add(self, other: "Overruled") -> None:
        """Take over what was counted elsewhere."""
        self.seen |= other.seen
        self.num_sentences_changed += other.num_sentences_changed

    def num_facts_of(self, table: BagTable, entities: Mapping[str, int]) -> int:
        """Return how many of the decided facts are of a pair that has a bag in the table."""
        pairs = list(self.accepted.keys() | self.rejected.keys())
        number_P2 = np.array([[entities.get(entity, -1) for entity in pair] for pair in pairs], np.int64).reshape(-1, 2)
        is_there_P = np.isin(combined(*number_P2.T), combined(table.head_B, table.tail_B))
        is_there_P &= (number_P2 >= 0).all(axis=1)
        there = [pair for pair, is_there in zip(pairs, is_there_P.tolist(), strict=True) if is_there]
        return sum(len(facts.get(pair, ())) for facts in (self.accepted, self.rejected) for pair in there)

    def report(self) -> dict[str, int]:
        """Return how many facts were decided on, how many of their pairs have a sentence, and what that changed."""
        return {
            "num_accepted": sum(map(len, self.accepted.values())),
            "num_rejected": sum(map(len, self.rejected.values())),
            "num_pairs_without_sentence": len((self.accepted.keys() | self.rejected.keys()) - self.seen),
            "num_sentences_changed": self.num_sentences_changed,
        }

    def _overrule(self, sentence: Sentence) -> Sentence:
        accepted, rejected = self.accepted.get(sentence.pair, set()), self.rejected.get(sentence.pair, set())
        if not accepted and not rejected:
            return sentence
        self.seen.add(sentence.pair)
        kept = [relation for relation in sentence.relations if relation not in rejected]
        relations = (*kept, *sorted(accepted.difference(kept)))
        self.num_sentences_changed += relations != sentence.relations
        return sentence._replace(relations=relations)


def read_overruled(paths: Sequence[Path], relations: Collection[str] | None) -> Overruled:
    """Return the decisions of the files; a relation outside the inventory, where there is one, is refused."""
    found = Overruled()
    for path in paths:
        for (head_id, relation, tail_id), decision, *_ in read_decisions(path):
            if relations is not None and relation not in relations:
                raise BadInputError(f"{path}: relation '{relation}' is not in the inventory")
            pair = head_id, tail_id
            to, off = (found.accepted, found.rejected)[:: 1 if decision == "accepted" else -1]
            to.setdefault(pair, set()).add(relation)
            off.get(pair, set()).discard(relation)
    return found
