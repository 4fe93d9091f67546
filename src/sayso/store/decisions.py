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
    """For each pair, its decided relations and whether each was accepted; and counts of the changes to a corpus."""

    by_pair: dict[_Pair, dict[str, bool]] = field(default_factory=dict)
    seen: set[_Pair] = field(default_factory=set)
    num_sentences_changed: int = 0

    def applied(self, train: Iterable[Sentence], rest: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield training sentences, and sentences of `rest` whose pair has a decision, with the decided labels."""
        yield from map(self._apply, train)
        yield from (self._apply(sentence) for sentence in rest if sentence.pair in self.by_pair)

    def without_counts(self) -> "FactDecisions":
        """Return the same decisions with all counts at zero."""
        return FactDecisions(self.by_pair)

    def add_counts(self, other: "FactDecisions") -> None:
        """Add the counts from another process."""
        self.seen |= other.seen
        self.num_sentences_changed += other.num_sentences_changed

    def num_facts_of(self, table: BagTable, entities: Mapping[str, int]) -> int:
        """Return how many decided facts have a bag in the table."""
        bags = set(zip(table.head_B.tolist(), table.tail_B.tolist(), strict=True))
        return sum(
            len(decided)
            for (head, tail), decided in self.by_pair.items()
            if (entities.get(head), entities.get(tail)) in bags
        )

    def report(self) -> dict[str, int]:
        """Return the number of decisions, of pairs without a sentence, and of changed sentences."""
        is_accepted = [decision for decided in self.by_pair.values() for decision in decided.values()]
        return {
            "num_accepted": sum(is_accepted),
            "num_rejected": len(is_accepted) - sum(is_accepted),
            "num_pairs_without_sentence": len(self.by_pair.keys() - self.seen),
            "num_sentences_changed": self.num_sentences_changed,
        }

    def _apply(self, sentence: Sentence) -> Sentence:
        decided = self.by_pair.get(sentence.pair)
        if not decided:
            return sentence
        self.seen.add(sentence.pair)
        kept = [relation for relation in sentence.relations if decided.get(relation, True)]
        added = sorted(relation for relation, is_accepted in decided.items() if is_accepted and relation not in kept)
        relations = (*kept, *added)
        self.num_sentences_changed += relations != sentence.relations
        return sentence._replace(relations=relations)


def decisions_of(paths: Sequence[Path], relations: Collection[str] | None) -> FactDecisions:
    """Read decisions from files; the last decision on a fact wins. Raise on a relation outside the inventory."""
    found = FactDecisions()
    for path in paths:
        for (head_id, relation, tail_id), decision, *_ in read_decisions(path):
            if relations is not None and relation not in relations:
                raise BadInputError(f"{path}: relation '{relation}' is not in the inventory")
            found.by_pair.setdefault((head_id, tail_id), {})[relation] = decision == "accepted"
    return found
