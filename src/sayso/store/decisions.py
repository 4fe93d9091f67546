"""Replace labels from the knowledge base by people's decisions; rejected facts become negative examples."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sayso.errors import BadInputError
from sayso.readers.fact import read_decisions
from sayso.records import Sentence
from sayso.store.table import BagTable

_Pair = tuple[str, str]


@dataclass
class FactDecisions:
    """Accepted and rejected relations by pair, and counts of what they change in a corpus."""

    accepted: dict[_Pair, set[str]] = field(default_factory=dict)
    rejected: dict[_Pair, set[str]] = field(default_factory=dict)
    seen: set[_Pair] = field(default_factory=set)
    num_sentences_changed: int = 0

    def applied(self, train: Iterable[Sentence], rest: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield training sentences, and sentences of `rest` whose pair has a decision, with the decided labels."""
        yield from map(self._apply, train)
        for sentence in rest:
            if sentence.pair in self.accepted or sentence.pair in self.rejected:
                yield self._apply(sentence)

    def without_counts(self) -> "FactDecisions":
        """Return the same decisions with all counts at zero."""
        return FactDecisions(self.accepted, self.rejected)

    def add_counts(self, other: "FactDecisions") -> None:
        """Add the counts from another process."""
        self.seen |= other.seen
        self.num_sentences_changed += other.num_sentences_changed

    def num_facts_of(self, table: BagTable, entities: Mapping[str, int]) -> int:
        """Return how many decided facts have a bag in the table."""
        bags = set(zip(table.head_B.tolist(), table.tail_B.tolist(), strict=True))
        return sum(
            len(relations)
            for facts in (self.accepted, self.rejected)
            for (head, tail), relations in facts.items()
            if (entities.get(head), entities.get(tail)) in bags
        )

    def report(self) -> dict[str, int]:
        """Return the number of decisions, of pairs without a sentence, and of changed sentences."""
        return {
            "num_accepted": sum(map(len, self.accepted.values())),
            "num_rejected": sum(map(len, self.rejected.values())),
            "num_pairs_without_sentence": len((self.accepted.keys() | self.rejected.keys()) - self.seen),
            "num_sentences_changed": self.num_sentences_changed,
        }

    def _apply(self, sentence: Sentence) -> Sentence:
        accepted, rejected = self.accepted.get(sentence.pair, set()), self.rejected.get(sentence.pair, set())
        if not accepted and not rejected:
            return sentence
        self.seen.add(sentence.pair)
        kept = [relation for relation in sentence.relations if relation not in rejected]
        relations = (*kept, *sorted(accepted.difference(kept)))
        self.num_sentences_changed += relations != sentence.relations
        return sentence._replace(relations=relations)


def decisions_of(paths: Sequence[Path], relations: Collection[str] | None) -> FactDecisions:
    """Read decisions from files; the last decision on a fact wins. Raise on a relation outside the inventory."""
    found = FactDecisions()
    for path in paths:
        for (head_id, relation, tail_id), decision, *_ in read_decisions(path):
            if relations is not None and relation not in relations:
                raise BadInputError(f"{path}: relation '{relation}' is not in the inventory")
            pair = head_id, tail_id
            to, off = (found.accepted, found.rejected)[:: 1 if decision == "accepted" else -1]
            to.setdefault(pair, set()).add(relation)
            off.get(pair, set()).discard(relation)
    return found
