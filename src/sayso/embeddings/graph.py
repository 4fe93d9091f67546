"""A knowledge graph as numbers, and the facts of it held out to see how well its vectors foretell them.

Shapes: F facts; a fact is a row (head, relation, tail) of entity and relation numbers.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sayso.records import Triple

HEAD, RELATION, TAIL = 0, 1, 2

Facts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graph:
    """Distinct facts `fact_F3`, sorted, over entities and relations numbered in the order they were first seen."""

    entity_ids: list[str]
    relations: list[str]
    fact_F3: Facts

    @property
    def num_entities(self) -> int:
        """How many entities the facts name."""
        return len(self.entity_ids)

    @property
    def num_relations(self) -> int:
        """How many relations the facts name."""
        return len(self.relations)


def number_facts(triples: Iterable[Triple]) -> Graph:
    """Return the graph of the facts, each counted once."""
    entity_of: dict[str, int] = {}
    relation_of: dict[str, int] = {}
    flat = array("q")
    for head_id, relation, tail_id in triples:
        flat.append(entity_of.setdefault(head_id, len(entity_of)))
        flat.append(relation_of.setdefault(relation, len(relation_of)))
        flat.append(entity_of.setdefault(tail_id, len(entity_of)))
    fact_F3 = np.frombuffer(flat, dtype=np.int64).reshape(-1, 3)
    return Graph(list(entity_of), list(relation_of), np.unique(fact_F3, axis=0))


def hold_out(graph: Graph, num_facts: int, seed: int) -> tuple[Facts, Facts]:
    """Return (facts to train on, at most `num_facts` facts held out).

    Every entity and relation keeps a fact to be trained on, so fewer may be held out than asked for.
    """
    entity_degree = np.bincount(graph.fact_F3[:, [HEAD, TAIL]].ravel(), minlength=graph.num_entities)
    relation_degree = np.bincount(graph.fact_F3[:, RELATION], minlength=graph.num_relations)
    is_held_F = np.zeros(len(graph.fact_F3), dtype=bool)
    num_held = 0
    for index in np.random.default_rng(seed).permutation(len(graph.fact_F3)):
        if num_held == num_facts:
            break
        head, relation, tail = graph.fact_F3[index]
        # A fact that joins an entity with itself uses up two of its degree.
        enough = 2 if head == tail else 1
        if min(entity_degree[head], entity_degree[tail]) > enough and relation_degree[relation] > 1:
            entity_degree[[head, tail]] -= enough
            relation_degree[relation] -= 1
            is_held_F[index] = True
            num_held += 1
    return graph.fact_F3[~is_held_F], graph.fact_F3[is_held_F]
