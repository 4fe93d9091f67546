"""The rank of a true entity among all entities that could replace it in a fact (link prediction).

Ranks are *filtered* (other true answers are left out, Bordes et al. 2013) and *realistic* (tied scores get the mean of
their best and worst rank), so that a model with constant scores does not look perfect.
Shapes: N queries, E entities, K known answers to all queries.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
IndexArray = NDArray[np.integer]


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
