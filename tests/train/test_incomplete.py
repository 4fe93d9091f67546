"""Which facts the types of a pair allow."""

import numpy as np

from sayso.features.batch import Part
from sayso.train.incomplete import CompatibleFacts
from toy_table import Pair, table_of

PERSON, PLACE = 1, 2
TYPE_E = np.array([PERSON, PLACE, PERSON, PLACE], np.int8)
BORN, IN, NEVER = 0, 1, 2


def weights(*pairs: Pair, weight: float = 0.25) -> list[list[float]]:
    part = Part(table=table_of(*pairs), inputs=None, num_relations=3)  # type: ignore[arg-type]
    return CompatibleFacts(part, TYPE_E, weight).weights(np.arange(len(pairs))).tolist()


def test_a_pair_without_relations_is_weighed_for_the_relations_of_pairs_with_the_same_types() -> None:
    found = weights(Pair(0, 1, (BORN,)), Pair(2, 3), Pair(1, 3, (IN,)), Pair(3, 1), Pair(3, 2))
    assert found[1] == [0.25, 1.0, 1.0]  # person, place
    assert found[3] == [1.0, 0.25, 1.0]  # place, place
    assert found[4] == [1.0, 1.0, 1.0]  # place, person: no relation has these types in this order


def test_pairs_with_a_relation_keep_their_weight() -> None:
    assert weights(Pair(0, 1, (BORN,)), Pair(2, 3, (IN,))) == [[1.0] * 3] * 2
