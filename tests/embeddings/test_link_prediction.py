import numpy as np

from sayso.embeddings import link_prediction
from sayso.embeddings.link_prediction import rank_facts
from sayso.metrics.link_ranking import filtered_ranks


def plain_ranks(entity, relation, asked, known):
    """Both sides of every fact, entity by entity."""
    ranks = []
    for side, given, sign in ((2, 0, 1), (0, 2, -1)):
        for fact in asked:
            query = entity[fact[given]] + sign * relation[fact[1]]
            score = -np.linalg.norm(entity - query, axis=1)
            answers = [other[side] for other in known if other[1] == fact[1] and other[given] == fact[given]]
            question = np.zeros(len(answers), dtype=int)
            ranks.extend(filtered_ranks(score[None], fact[side : side + 1], question, np.array(answers, dtype=int)))
    return ranks


def test_ranks_equal_a_plain_loop_over_facts_in_blocks_of_any_size(monkeypatch):
    random = np.random.default_rng(0)
    entity = random.normal(size=(12, 4)).astype(np.float32)
    relation = random.normal(size=(3, 4)).astype(np.float32)
    known = np.unique(random.integers(0, [12, 3, 12], size=(80, 3)), axis=0)
    asked = known[::3]
    expected = plain_ranks(entity, relation, asked, known)
    assert rank_facts(entity, relation, asked, known).tolist() == expected
    monkeypatch.setattr(link_prediction, "_MAX_SCORES_AT_ONCE", 30)
    assert rank_facts(entity, relation, asked, known).tolist() == expected


def test_vectors_that_fit_the_facts_exactly_rank_them_first():
    entity = np.array([[0.0], [1.0], [2.0], [7.0]], dtype=np.float32)
    facts = np.array([[0, 0, 1], [1, 0, 2]])
    assert rank_facts(entity, np.ones((1, 1), np.float32), facts, facts).tolist() == [1, 1, 1, 1]


def test_no_facts_have_no_ranks():
    none = np.zeros((0, 3), dtype=np.int64)
    assert rank_facts(np.ones((2, 1), np.float32), np.ones((1, 1), np.float32), none, none).tolist() == []
