"""The knowledge base: entity names, relations between entities, and the relations of the pairs in a sentence."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from sayso.documents.entity_graph import NEW_ENTITY, is_new_entity
from sayso.errors import BadInputError, option
from sayso.readers.base import BadLineError, refuse_control
from sayso.readers.files import parse_lines
from sayso.readers.json_line import json_object, string, strings
from sayso.readers.tables import read_inventory, read_triples
from sayso.records import NA_NAMES, Relation, Triple
from sayso.seeding import pair_number

Names = dict[str, tuple[str, ...]]
"""Entity id to names, the display name first."""

_NUM_SHOWN = 5
_CODE = re.compile(r"(?:[A-Za-z]{0,3}[./:_-])?[A-Za-z]{0,4}\d\w*|/?[a-z]/\w+|\w+://.*|m\.\w+")
"""Ids such as Q42, m.0abc, /m/0abc, w.00230 and URLs."""


def read_names(path: Path) -> Names:
    """Read the names of each entity from tab-separated or JSON lines: id, name, other names.

    Names on several lines for one entity are merged. A bad line raises `BadInputError`.
    """
    names: dict[str, dict[str, None]] = {}
    for _, (entity_id, found) in parse_lines(path, "names", _names):
        names.setdefault(entity_id, {}).update(dict.fromkeys(found))
    return {entity_id: tuple(found) for entity_id, found in names.items()}


def names_of_ids(entity_ids: Iterable[str], source: Path) -> Names:
    """Return the ids as names, for a knowledge base whose ids are names, perhaps with `_` for spaces.

    Raises:
        BadInputError: most ids are codes; the file `source` has them.

    >>> names_of_ids(["Albert_Einstein", "Ulm"], Path("kb.tsv"))
    {'Albert_Einstein': ('Albert Einstein',), 'Ulm': ('Ulm',)}
    """
    ids = list(dict.fromkeys(entity_id.strip() for entity_id in entity_ids))
    codes = [entity_id for entity_id in ids if _CODE.fullmatch(entity_id)]
    if 2 * len(codes) > len(ids):
        raise BadInputError(
            f"{source}: {len(codes):,} of {len(ids):,} entity ids, such as {codes[0]!r}, are not names: give the names"
            f" of the entities with {option('names')}"
        )
    return {entity_id: (" ".join(entity_id.replace("_", " ").split()) or entity_id,) for entity_id in ids}


def _names(text: str) -> tuple[str, list[str]]:
    if text.lstrip().startswith("{"):
        record = json_object(text)
        others = strings(record, "aliases") if "aliases" in record else []
        entity_id, *names = string(record, "id"), string(record, "name"), *others
    else:
        entity_id, *names = text.split("\t")
    entity_id, cleaned = checked_id(entity_id.strip()), [" ".join(name.split()) for name in names]
    refuse_control(*cleaned)
    if is_new_entity(entity_id):
        raise BadLineError(f"entity id {entity_id!r} begins with {NEW_ENTITY!r}, which marks entities without a KB id")
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
    _count_several_objects(facts, relations, oddities)
    by_pair: dict[tuple[str, str], list[str]] = {}
    for head_id, name, tail_id in facts:
        by_pair.setdefault((head_id, tail_id), []).append(name)
    ordered = {pair: tuple(sorted(names, key=rank.__getitem__)) for pair, names in by_pair.items()}
    return Knowledge(relations=relations, facts=ordered, oddities=oddities)


def _count_several_objects(facts: Iterable[Triple], relations: Sequence[Relation], oddities: Oddities) -> None:
    """Count the subjects that have several objects in a functional relation; they stay."""
    functional = {relation.name for relation in relations if relation.is_functional}
    tails: dict[tuple[str, str], list[str]] = {}
    for head_id, name, tail_id in facts:
        if name in functional:
            tails.setdefault((head_id, name), []).append(tail_id)
    for (head_id, name), found in tails.items():
        if len(found) > 1:
            oddities.count("with several objects in a functional relation", f"{head_id} {name}: {', '.join(found)}")


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
    if is_new_entity(fact.head_id) or is_new_entity(fact.tail_id):
        return f"with an id that begins with {NEW_ENTITY!r}, left out"
    if fact.relation in NA_NAMES:
        return "with an NA relation, left out"
    if known is not None and fact.relation not in known:
        return "with a relation that is not in the inventory, left out"
    return ""


class AlignedPair(NamedTuple):
    """Two entities in a sentence, their relations in the knowledge base, and whether the pair is used for training."""

    head_id: str
    tail_id: str
    relations: tuple[str, ...]
    is_for_training: bool


class Aligner:
    """Pairs the entities in a sentence.

    All related pairs and a fraction of the others are used for training. The choice depends only on the pair and the
    seed, so it is the same in every shard, including shards that are appended later.
    """

    def __init__(
        self, facts: Mapping[tuple[str, str], tuple[str, ...]], na_share: float, seed: int, max_pairs: int
    ) -> None:
        self._facts, self._seed, self._max_pairs = facts, seed, max_pairs
        self._bound = round(na_share * 2**64)

    def align(self, entity_ids: Sequence[str], first: frozenset[str] = frozenset()) -> tuple[list[AlignedPair], int]:
        """Return the ordered pairs of distinct entities, and the number left out beyond `max_pairs`.

        If `first` are the entities of the first of two sentences, a pair has one of these and one of the others.
        Related pairs are kept first, then those without a new entity, then those with the lowest `pair_number`.
        """
        chosen = permutations(entity_ids, 2)
        pairs = [self._pair(*pair) for pair in chosen if not first or (pair[0] in first) != (pair[1] in first)]
        if len(pairs) <= self._max_pairs:
            return pairs, 0
        kept = set(sorted(pairs, key=self._rank)[: self._max_pairs])
        return [pair for pair in pairs if pair in kept], len(pairs) - len(kept)

    def _pair(self, head_id: str, tail_id: str) -> AlignedPair:
        relations = self._facts.get((head_id, tail_id), ())
        # The knowledge base says nothing about new entities, so their pairs are not examples of NA.
        is_for_training = bool(relations) or (
            not _has_new(head_id, tail_id) and pair_number(head_id, tail_id, self._seed) < self._bound
        )
        return AlignedPair(head_id, tail_id, relations, is_for_training)

    def _rank(self, pair: AlignedPair) -> tuple[bool, bool, int]:
        pair_ids = pair.head_id, pair.tail_id
        return not pair.relations, _has_new(*pair_ids), pair_number(*pair_ids, self._seed)


def _has_new(head_id: str, tail_id: str) -> bool:
    return is_new_entity(head_id) or is_new_entity(tail_id)


class Exceptions:
    """Entities that must not be linked between two offsets of a document, as reviewers found them to be wrong."""

    def __init__(self, rows: Iterable[tuple[str, int, int, str]] = ()) -> None:
        self._by_document: dict[str, list[tuple[int, int, str]]] = {}
        for document_id, start, stop, entity_id in rows:
            self._by_document.setdefault(document_id, []).append((start, stop, entity_id))

    def allowed(self, document_id: str, start: int, stop: int, entity_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the entities that a name between these offsets may be linked to.

        >>> Exceptions([("news", 0, 40, "Q64")]).allowed("news", 5, 11, ("Q64", "Q821244"))
        ('Q821244',)
        """
        rows = self._by_document.get(document_id, ())
        wrong = {entity_id for first, last, entity_id in rows if first <= start and stop <= last}
        return tuple(each for each in entity_ids if each not in wrong)


def read_exceptions(path: Path) -> Exceptions:
    """Read the file that `sayso decisions export --format exceptions` writes: document, start, stop and entity id."""
    return Exceptions(row for _, row in parse_lines(path, "exceptions", _exception))


def _exception(text: str) -> tuple[str, int, int, str]:
    columns = text.split("\t")
    if len(columns) != 4 or not all(columns):
        raise BadLineError(f"expected 4 columns (document, start, stop, entity id), got {len(columns)}")
    if not (columns[1].isdecimal() and columns[2].isdecimal()) or int(columns[1]) >= int(columns[2]):
        raise BadLineError(f"{columns[1][:20]!r} and {columns[2][:20]!r} are not the offsets of a span")
    return columns[0], int(columns[1]), int(columns[2]), columns[3]
