"""How well translation vectors foretell held-out facts: filtered mean reciprocal rank of heads and tails.

Shapes: F facts asked about, E entities, D width, K known answers of all questions together.
"""

import numpy as np
from numpy.typing import NDArray

from sayso.embeddings.graph import HEAD, RELATION, TAIL, Facts
from sayso.metrics.link_ranking import filtered_ranks

_MAX_SCORES_AT_ONCE = 2**24

Vectors = NDArray[np.float32]


def rank_facts(entity_ED: Vectors, relation_RD: Vectors, asked_F3: Facts, known_F3: Facts) -> NDArray[np.float64]:
    """Return the realistic filtered ranks of each asked fact's tail, then of each one's head, [2 F].

    An entity's score is its negated Euclidean distance from head + relation (or tail - relation).
    """
    num_rows = max(1, _MAX_SCORES_AT_ONCE // len(entity_ED))
    ranks = [np.zeros(0)]
    for side, given, sign in ((TAIL, HEAD, 1), (HEAD, TAIL, -1)):
        answers = _Answers(known_F3, given, side, len(entity_ED))
        for start in range(0, len(asked_F3), num_rows):
            part_F3 = asked_F3[start : start + num_rows]
            query_FD = entity_ED[part_F3[:, given]] + sign * relation_RD[part_F3[:, RELATION]]
            score_FE = _nearness(query_FD, entity_ED)
            ranks.append(filtered_ranks(score_FE, part_F3[:, side], *answers.of(part_F3)))
    return np.concatenate(ranks)


def _nearness(query_FD: Vectors, entity_ED: Vectors) -> Vectors:
    """Return a score that orders entities as their negated distance from the query does."""
    # -|q - e|² without |q|², which is the same for all entities of a query.
    return np.asarray(2 * (query_FD @ entity_ED.T) - np.square(entity_ED).sum(axis=1), dtype=np.float32)


class _Answers:
    """Finds the known answers of (given entity, relation) in facts sorted by that key."""

    def __init__(self, known_F3: Facts, given: int, side: int, num_entities: int) -> None:
        self.given, self.num_entities = given, num_entities
        key_F = self._key(known_F3)
        order_F = np.argsort(key_F, kind="stable")
        self.key_F, self.answer_F = key_F[order_F], known_F3[order_F, side]

    def of(self, asked_F3: Facts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, end to end, which question each known answer belongs to, and the answer."""
        key_F = self._key(asked_F3)
        start_F, stop_F = (np.searchsorted(self.key_F, key_F, side) for side in ("left", "right"))
        length_F = stop_F - start_F
        question_K = np.repeat(np.arange(len(asked_F3)), length_F)
        step_K = np.arange(len(question_K)) - np.repeat(np.cumsum(length_F) - length_F, length_F)
        return question_K, self.answer_F[np.repeat(start_F, length_F) + step_K]

    def _key(self, fact_F3: Facts) -> NDArray[np.int64]:
        return fact_F3[:, RELATION] * self.num_entities + fact_F3[:, self.given]
