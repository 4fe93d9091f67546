"""The knowledge base: which relations hold between which entities, and what was odd about it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sayso.errors import BadInputError
from sayso.readers.fact import read_triples
from sayso.readers.relation import read_inventory
from sayso.records import NA_NAMES, Relation, Triple

_NUM_SHOWN = 5


@dataclass
class Oddities:
    """How many facts are odd in each way, and the first few of each kind."""

    counts: dict[str, int] = field(default_factory=dict)
    shown: dict[str, list[str]] = field(default_factory=dict)

    def count(self, kind: str, fact: Triple) -> None:
        """Count a fact."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        shown = self.shown.setdefault(kind, [])
        if len(shown) < _NUM_SHOWN:
            shown.append(" ".join(fact))


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """Relations in the inventory's order, and those of each related (head, tail), in the same order."""

    relations: list[Relation]
    facts: dict[tuple[str, str], tuple[str, ...]]
    oddities: Oddities

    @property
    def num_facts(self) -> int:
        """Distinct facts."""
        return sum(map(len, self.facts.values()))


def read_knowledge(kb: Path, entity_ids: Collection[str], inventory: Path | None = None) -> Knowledge:
    """Return the facts of a file of triples, each once.

    Left out and counted are facts about nothing but one entity, with a relation that means "none", and with a
    relation that the inventory has not, where one is given; counted only are repeated facts and entities without name.
    """
    relations = read_inventory(inventory) if inventory else None
    known = None if relations is None else {relation.name for relation in relations}
    oddities = Oddities()
    facts = _facts(read_triples(kb), entity_ids, known, oddities)
    if not facts:
        raise BadInputError(f"{kb}: there is no usable fact in it{_why(oddities)}")
    if relations is None:
        relations = [Relation(name) for name in sorted({fact.relation for fact in facts})]
    place = {relation.name: number for number, relation in enumerate(relations)}
    by_pair: dict[tuple[str, str], list[str]] = {}
    for head_id, name, tail_id in facts:
        by_pair.setdefault((head_id, tail_id), []).append(name)
    ordered = {pair: tuple(sorted(names, key=place.__getitem__)) for pair, names in by_pair.items()}
    return Knowledge(relations=relations, facts=ordered, oddities=oddities)


def _facts(
    triples: Iterable[Triple], entity_ids: Collection[str], known: set[str] | None, oddities: Oddities
) -> dict[Triple, None]:
    facts: dict[Triple, None] = {}
    for triple in triples:
        fact = Triple(*(column.strip() for column in triple))
        if reason := _left_out(fact, known):
            oddities.count(reason, fact)
        elif fact in facts:
            oddities.count("repeated", fact)
        else:
            facts[fact] = None
            if fact.head_id not in entity_ids or fact.tail_id not in entity_ids:
                oddities.count("with an entity that has no name", fact)
    return facts


def _left_out(fact: Triple, known: set[str] | None) -> str:
    if fact.head_id == fact.tail_id:
        return "of an entity with itself, left out"
    if fact.relation in NA_NAMES:
        return "with a relation that means none, left out"
    if known is not None and fact.relation not in known:
        return "with a relation that the inventory has not, left out"
    return ""


def _why(oddities: Oddities) -> str:
    return "".join(f"; {count:,} are {kind}" for kind, count in oddities.counts.items())
