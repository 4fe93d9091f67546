"""Read the knowledge base: the names of its entities, and the relations between them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sayso.errors import BadInputError
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.fact import read_triples
from sayso.readers.files import parse_lines
from sayso.readers.json_line import json_object, string, strings
from sayso.readers.relation import read_inventory
from sayso.records import NA_NAMES, Relation, Triple

Names = dict[str, tuple[str, ...]]
"""Entity id to names, the display name first."""

_NUM_SHOWN = 5


def read_names(path: Path) -> Names:
    """Read the names of each entity from tab-separated or JSON lines: id, name, other names.

    Names on several lines for one entity are merged. A bad line raises `BadInputError`.
    """
    names: dict[str, dict[str, None]] = {}
    for _, (entity_id, found) in parse_lines(path, "names", _names):
        names.setdefault(entity_id, {}).update(dict.fromkeys(found))
    return {entity_id: tuple(found) for entity_id, found in names.items()}


def _names(text: str) -> tuple[str, list[str]]:
    if text.lstrip().startswith("{"):
        record = json_object(text)
        others = strings(record, "aliases") if "aliases" in record else []
        entity_id, *names = string(record, "id"), string(record, "name"), *others
    else:
        entity_id, *names = text.split("\t")
    entity_id, cleaned = checked_id(entity_id.strip()), [" ".join(name.split()) for name in names]
    refuse_control(*cleaned)
    if not any(cleaned):
        raise BadLineError(f"entity {entity_id!r} has no name; expected id, name, other names")
    return entity_id, [name for name in cleaned if name]


def checked_id(entity_id: str) -> str:
    """Return the id; raise `BadLineError` if it is empty or contains a control character."""
    if not entity_id:
        raise BadLineError("the entity id is empty")
    refuse_control(entity_id)
    return entity_id


@dataclass
class Oddities:
    """Unusual facts or names: the count of each kind, and the first few examples."""

    counts: dict[str, int] = field(default_factory=dict)
    shown: dict[str, list[str]] = field(default_factory=dict)

    def count(self, kind: str, example: str) -> None:
        """Count a fact or a name."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        shown = self.shown.setdefault(kind, [])
        if len(shown) < _NUM_SHOWN:
            shown.append(example)


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The relations in inventory order, and the relations of each (head, tail) pair in the same order."""

    relations: list[Relation]
    facts: dict[tuple[str, str], tuple[str, ...]]
    oddities: Oddities

    @property
    def num_facts(self) -> int:
        """Number of distinct facts."""
        return sum(map(len, self.facts.values()))


def read_knowledge(kb: Path, entity_ids: Collection[str], inventory: Path | None = None) -> Knowledge:
    """Read the distinct facts in a file of triples.

    Facts between an entity and itself, facts with an NA relation, and facts with a relation missing from the inventory
    are counted and left out; repeated facts and facts about unnamed entities are only counted.
    """
    relations = read_inventory(inventory) if inventory else None
    known = None if relations is None else {relation.name for relation in relations}
    oddities = Oddities()
    facts = _facts(read_triples(kb), entity_ids, known, oddities)
    if not facts:
        why = "".join(f"; {count:,} are {kind}" for kind, count in oddities.counts.items())
        raise BadInputError(f"{kb}: no usable facts{why}")
    if relations is None:
        relations = [Relation(name) for name in sorted({fact.relation for fact in facts})]
    rank = {relation.name: number for number, relation in enumerate(relations)}
    by_pair: dict[tuple[str, str], list[str]] = {}
    for head_id, name, tail_id in facts:
        by_pair.setdefault((head_id, tail_id), []).append(name)
    ordered = {pair: tuple(sorted(names, key=rank.__getitem__)) for pair, names in by_pair.items()}
    return Knowledge(relations=relations, facts=ordered, oddities=oddities)


def _facts(
    triples: Iterable[Triple], entity_ids: Collection[str], known: set[str] | None, oddities: Oddities
) -> dict[Triple, None]:
    facts: dict[Triple, None] = {}
    for triple in triples:
        fact = Triple(*(column.strip() for column in triple))
        if reason := _left_out(fact, known):
            oddities.count(reason, " ".join(fact))
        elif fact in facts:
            oddities.count("repeated", " ".join(fact))
        else:
            facts[fact] = None
            if fact.head_id not in entity_ids or fact.tail_id not in entity_ids:
                oddities.count("with an entity that has no name", " ".join(fact))
    return facts


def _left_out(fact: Triple, known: set[str] | None) -> str:
    if fact.head_id == fact.tail_id:
        return "between an entity and itself, left out"
    if fact.relation in NA_NAMES:
        return "with an NA relation, left out"
    if known is not None and fact.relation not in known:
        return "with a relation that is not in the inventory, left out"
    return ""
