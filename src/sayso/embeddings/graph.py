"""A knowledge graph as integer ids: exclude pairs, hold out facts, and rank facts by translation vectors.

Vectors trained on test facts would leak them, so test pairs are excluded. Ranks are *filtered* (other true answers are
left out, Bordes et al. 2013) and *realistic* (tied scores get the mean of their best and worst rank), so that a model
with constant scores does not look perfect.
Shapes: F facts, each a row (head, relation, tail) of ids; E entities; D width; N queries; K known answers to all of
them.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sayso.errors import LeakageError, option
from sayso.input_file import refuse_pipe
from sayso.readers import READERS
from sayso.readers.base import BadLineError
from sayso.readers.files import first_of, parse_lines, read_lines
from sayso.readers.read import Tally, read_sentences
from sayso.records import Triple

HEAD, RELATION, TAIL = 0, 1, 2

Facts = NDArray[np.int64]
Vectors = NDArray[np.float32]
FloatArray = NDArray[np.floating]
IndexArray = NDArray[np.integer]

_MAX_SCORES_AT_ONCE = 2**24
_NUM_NAMED = 3


@dataclass(frozen=True, eq=False)
class Graph:
    """Distinct facts `fact_F3`, sorted; entities and relations get ids in order of first appearance."""

    entity_ids: list[str]
    relations: list[str]
    fact_F3: Facts

    @property
    def num_entities(self) -> int:
        """Number of entities in the facts."""
        return len(self.entity_ids)

    @property
    def num_relations(self) -> int:
        """Number of relations in the facts."""
        return len(self.relations)


def number_facts(triples: Iterable[Triple]) -> Graph:
    """Return the graph of the distinct facts."""
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
    """Return (facts to train on, at most `num_facts` held-out facts).

    Every entity and relation keeps at least one training fact, so fewer may be held out.
    """
    entity_degree = np.bincount(graph.fact_F3[:, [HEAD, TAIL]].ravel(), minlength=graph.num_entities)
    relation_degree = np.bincount(graph.fact_F3[:, RELATION], minlength=graph.num_relations)
    is_held_F = np.zeros(len(graph.fact_F3), dtype=bool)
    num_held = 0
    for index in np.random.default_rng(seed).permutation(len(graph.fact_F3)):
        if num_held == num_facts:
            break
        head, relation, tail = graph.fact_F3[index]
        # A fact between an entity and itself counts twice in its degree.
        enough = 2 if head == tail else 1
        if min(entity_degree[head], entity_degree[tail]) > enough and relation_degree[relation] > 1:
            entity_degree[[head, tail]] -= enough
            relation_degree[relation] -= 1
            is_held_F[index] = True
            num_held += 1
    return graph.fact_F3[~is_held_F], graph.fact_F3[is_held_F]


def rank_facts(entity_ED: Vectors, relation_RD: Vectors, asked_F3: Facts, known_F3: Facts) -> NDArray[np.float64]:
    """Return the realistic filtered ranks of the tails of the facts, then those of the heads, [2 F].

    An entity's score is its negated Euclidean distance from head + relation (or tail - relation).
    """
    num_rows = max(1, _MAX_SCORES_AT_ONCE // len(entity_ED))
    ranks = [np.zeros(0)]
    for side, given, sign in ((TAIL, HEAD, 1), (HEAD, TAIL, -1)):
        answers = _Answers(known_F3, given, side, len(entity_ED))
        for start in range(0, len(asked_F3), num_rows):
            part_F3 = asked_F3[start : start + num_rows]
            query_FD = entity_ED[part_F3[:, given]] + sign * relation_RD[part_F3[:, RELATION]]
            # -|q - e|² without |q|², which is the same for all entities of a query.
            score_FE = (2 * (query_FD @ entity_ED.T) - np.square(entity_ED).sum(axis=1)).astype(np.float32, copy=False)
            ranks.append(filtered_ranks(score_FE, part_F3[:, side], *answers.of(part_F3)))
    return np.concatenate(ranks)


class _Answers:
    """Finds the known answers to (given entity, relation) in facts sorted by that key."""

    def __init__(self, known_F3: Facts, given: int, side: int, num_entities: int) -> None:
        self.given, self.num_entities = given, num_entities
        key_F = self._key(known_F3)
        order_F = np.argsort(key_F, kind="stable")
        self.key_F, self.answer_F = key_F[order_F], known_F3[order_F, side]

    def of(self, asked_F3: Facts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the known answers to all queries, concatenated: the index of the query, and the answer."""
        key_F = self._key(asked_F3)
        start_F, stop_F = (np.searchsorted(self.key_F, key_F, side) for side in ("left", "right"))
        length_F = stop_F - start_F
        question_K = np.repeat(np.arange(len(asked_F3)), length_F)
        step_K = np.arange(len(question_K)) - np.repeat(np.cumsum(length_F) - length_F, length_F)
        return question_K, self.answer_F[np.repeat(start_F, length_F) + step_K]

    def _key(self, fact_F3: Facts) -> NDArray[np.int64]:
        return fact_F3[:, RELATION] * self.num_entities + fact_F3[:, self.given]


def filtered_ranks(
    score_NE: FloatArray, target_N: IndexArray, known_query_K: IndexArray, known_entity_K: IndexArray
) -> NDArray[np.float64]:
    """Return each target's rank, from 1 (higher scores are better), ignoring other known answers to its query.

    Entity `known_entity_K[i]` is a true answer to query `known_query_K[i]`; the target itself may be among them.

    >>> filtered_ranks(np.array([[0.9, 0.5, 0.5, 0.7]]), np.array([1]), np.array([0]), np.array([0]))
    array([2.5])
    """
    if not np.isfinite(score_NE).all():
        raise ValueError("a score is not finite")
    target_score_N = np.take_along_axis(score_NE, target_N[:, None], axis=1)
    num_better_N = (score_NE > target_score_N).sum(axis=1)
    num_equal_N = (score_NE == target_score_N).sum(axis=1)
    query_K, entity_K = _rivals(target_N, known_query_K, known_entity_K)
    known_score_K, bar_K = score_NE[query_K, entity_K], target_score_N[query_K, 0]
    num_queries = len(target_N)
    num_better_N = num_better_N - np.bincount(query_K[known_score_K > bar_K], minlength=num_queries)
    num_equal_N = num_equal_N - np.bincount(query_K[known_score_K == bar_K], minlength=num_queries)
    # num_equal_N counts the target itself: best rank 1 + better, worst rank better + equal.
    return np.asarray(num_better_N + (num_equal_N + 1) / 2, dtype=np.float64)


def mean_reciprocal_rank(rank_N: FloatArray) -> float:
    """Return the mean of 1/rank, NaN if nothing was ranked.

    >>> mean_reciprocal_rank(np.array([1.0, 2.0]))
    0.75
    """
    return float(np.mean(1.0 / rank_N)) if len(rank_N) else float("nan")


def _rivals(target_N: IndexArray, query_K: IndexArray, entity_K: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the known answers that are not the query's own target, each once."""
    is_other = entity_K != target_N[query_K]
    pairs = np.unique(np.stack([query_K[is_other], entity_K[is_other]]), axis=1)
    return pairs[0], pairs[1]


def unordered(head_id: str, tail_id: str) -> tuple[str, str]:
    """Return the pair without its direction.

    >>> unordered("b", "a") == unordered("a", "b")
    True
    """
    return (head_id, tail_id) if head_id <= tail_id else (tail_id, head_id)


def read_pairs(paths: Sequence[Path], max_bad: float) -> set[tuple[str, str]]:
    """Return the unordered entity pairs in files of sentences, or of two tab-separated entity ids per line."""
    return {unordered(*pair) for path in paths for pair in _pairs_of(path, max_bad)}


@dataclass
class Exclusion:
    """Leaves out facts about excluded pairs, in either direction, and counts them."""

    pairs: Collection[tuple[str, str]]
    num_left_out: int = 0
    named: list[Triple] = field(default_factory=list)

    def keep(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        """Yield the facts of all other pairs."""
        for triple in triples:
            if unordered(triple.head_id, triple.tail_id) not in self.pairs:
                yield triple
                continue
            self.num_left_out += 1
            if len(self.named) < _NUM_NAMED:
                self.named.append(triple)

    def refuse_any(self, path: Path) -> None:
        """Raise `LeakageError` if any fact was left out."""
        if self.num_left_out:
            named = "; ".join(" ".join(triple) for triple in self.named)
            raise LeakageError(
                f"{path}: {self.num_left_out:,} facts link an excluded pair (for example {named});"
                f" leave them out{option('', ' with --drop')}"
            )


def _pairs_of(path: Path, max_bad: float) -> Iterator[tuple[str, str]]:
    refuse_pipe(path, "pairs to exclude are")
    first, _ = first_of(read_lines(path))
    # Tagged sentences also begin with two columns, so the sentence formats are tried first.
    if first.count("\t") == 1 and not any(reader.recognises(first) for reader in READERS.values()):
        yield from (pair for _, pair in parse_lines(path, "pairs", _listed_pair))
        return
    tally = Tally(path)
    for sentence in read_sentences(path, tally):
        yield sentence.pair
    tally.refuse_too_many_bad(max_bad)


def _listed_pair(text: str) -> tuple[str, str]:
    columns = text.split("\t")
    if len(columns) != 2 or not all(columns):
        raise BadLineError("expected two entity ids separated by a tab")
    return columns[0], columns[1]
