"""The invented world as tables: relations, types, names, and the knowledge graph without the test pairs."""

import json
from collections.abc import Iterable, Iterator, Sequence

from sayso.invent.choose import Pair, unordered
from sayso.invent.names import Entity
from sayso.invent.plan import Plan
from sayso.invent.relations import RELATIONS


def relation_lines() -> Iterator[str]:
    """Yield a header and a row for each relation."""
    yield "name\tdefinition\texample\tfunctional"
    for kind in RELATIONS.values():
        yield f"{kind.name}\t{kind.definition}\t{kind.example}\t{str(kind.is_functional).lower()}"


def type_lines(entities: Sequence[Entity]) -> Iterator[str]:
    """Yield the lines of one JSON object from entity id to its types, the finest first."""
    yield "{"
    for number, entity in enumerate(entities, 1):
        yield f"{json.dumps(entity.id)}: {json.dumps(entity.types)}{',' if number < len(entities) else ''}"
    yield "}"


def name_lines(entities: Iterable[Entity]) -> Iterator[str]:
    """Yield id, name and other names of each entity."""
    for entity in entities:
        yield "\t".join((entity.id, entity.name, *entity.aliases))


def graph_lines(plan: Plan) -> Iterator[str]:
    """Yield the facts whose pair, in either direction, is no test pair."""
    hidden = hidden_keys(plan)
    for head, relation, tail in plan.world.facts:
        if unordered(head, tail) not in hidden:
            yield f"{plan.entities[head].id}\t{relation}\t{plan.entities[tail].id}"


def open_pairs(plan: Plan, pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs that test does not ask about."""
    hidden = hidden_keys(plan)
    return [pair for pair in pairs if unordered(pair.head, pair.tail) not in hidden]


def hidden_keys(plan: Plan) -> set[tuple[int, int]]:
    """Return all test pairs without their direction."""
    bags = plan.test.bags
    keys = {unordered(bag.pair.head, bag.pair.tail) for bag in bags}
    return keys | {unordered(bag.guest.head, bag.guest.tail) for bag in bags if bag.guest}
