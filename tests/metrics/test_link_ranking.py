import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.metrics.link_ranking import filtered_ranks, mean_reciprocal_rank


def plain_rank(scores, target, known):
    """The definition as a loop: mean of the best and the worst place among the entities that are left."""
    left = [score for entity, score in enumerate(scores) if entity == target or entity not in known]
    best = 1 + sum(score > scores[target] for score in left)
    worst = sum(score >= scores[target] for score in left)
    return (best + worst) / 2


@st.composite
def queries(draw):
    num_entities = draw(st.integers(1, 8))
    # Few distinct scores, so that ties are the rule.
    row = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=num_entities, max_size=num_entities)
    score = draw(st.lists(row, min_size=1, max_size=5))
    entity = st.integers(0, num_entities - 1)
    target = [draw(entity) for _ in score]
    known = draw(st.lists(st.tuples(st.integers(0, len(score) - 1), entity), max_size=20))
    return score, target, known


@given(queries())
def test_ranks_equal_a_plain_loop_over_the_entities(query):
    score, target, known = query
    expected = [
        plain_rank(row, target[i], {entity for query_, entity in known if query_ == i}) for i, row in enumerate(score)
    ]
    pairs = np.array(known, dtype=np.int64).reshape(-1, 2)
    ranks = filtered_ranks(np.array(score), np.array(target), pairs[:, 0], pairs[:, 1])
    assert ranks.tolist() == expected


def test_constant_scores_get_the_middle_rank():
    none = np.array([], dtype=np.int64)
    assert filtered_ranks(np.zeros((1, 9)), np.array([3]), none, none).tolist() == [5.0]


def test_an_answer_known_twice_is_left_out_once():
    ranks = filtered_ranks(np.array([[3.0, 2.0, 1.0]]), np.array([2]), np.array([0, 0, 0]), np.array([0, 0, 2]))
    assert ranks.tolist() == [2.0]


def test_a_score_that_is_not_finite_is_refused():
    none = np.array([], dtype=np.int64)
    with pytest.raises(ValueError, match="finite"):
        filtered_ranks(np.array([[np.nan, 1.0]]), np.array([0]), none, none)


def test_the_mean_reciprocal_rank_of_known_ranks():
    ranks = np.array([1.0, 2.0, 4.0, 20.0])
    assert mean_reciprocal_rank(ranks) == pytest.approx((1 + 0.5 + 0.25 + 0.05) / 4)
    assert np.isnan(mean_reciprocal_rank(ranks[:0]))
