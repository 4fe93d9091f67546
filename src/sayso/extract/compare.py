"""What a knowledge base says about facts that were found: it has them, it has not, or it says otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sayso.facts.fact import ExtractedFact
from sayso.records import Relation, Triple


@dataclass(frozen=True)
class Known:
    """The objects that a knowledge base has for each (subject, relation)."""

    tails: Mapping[tuple[str, str], frozenset[str]]
    functional: frozenset[str]

    def compare(self, fact: ExtractedFact) -> ExtractedFact:
        """Return the fact with its status, and with the objects that it contradicts.

        Only a relation that is declared functional, one object for each subject, can be contradicted.
        """
        tails = self.tails.get((fact.head_id, fact.relation), frozenset())
        if fact.tail_id in tails:
            return replace(fact, status="known")
        if tails and fact.relation in self.functional:
            return replace(fact, status="contradicts", contradicts=tuple(sorted(tails)))
        return replace(fact, status="new")


def known_facts(triples: Iterable[Triple], relations: Sequence[Relation]) -> Known:
    """Return the knowledge base's facts of these relations; others are passed over."""
    names = {relation.name for relation in relations}
    tails: dict[tuple[str, str], set[str]] = {}
    for triple in triples:
        head_id, relation, tail_id = (column.removeprefix("\ufeff").strip() for column in triple)  # as `build` does
        if relation in names:
            tails.setdefault((head_id, relation), set()).add(tail_id)
    functional = frozenset(relation.name for relation in relations if relation.is_functional)
    return Known({key: frozenset(found) for key, found in tails.items()}, functional)
