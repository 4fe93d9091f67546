from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.embeddings import graph as graph_module
from sayso.embeddings.graph import (
    Exclusion,
    filtered_ranks,
    hold_out,
    mean_reciprocal_rank,
    number_facts,
    rank_facts,
    read_pairs,
)
from sayso.errors import BadInputError, LeakageError, UserError
from sayso.records import Triple

TRIPLES = st.lists(
    st.builds(Triple, st.sampled_from("abcdef"), st.sampled_from("rs"), st.sampled_from("abcdef")), max_size=40
)


def test_entities_and_relations_are_numbered_as_they_come_and_facts_counted_once():
    graph = number_facts([Triple("b", "r", "a"), Triple("a", "s", "b"), Triple("b", "r", "a")])
    assert (graph.entity_ids, graph.relations) == (["b", "a"], ["r", "s"])
    assert graph.fact_F3.tolist() == [[0, 0, 1], [1, 1, 0]]


@given(TRIPLES, st.integers(0, 10), st.integers(0, 3))
def test_every_entity_and_relation_keeps_a_fact_to_train_on(triples, num_asked, seed):
    graph = number_facts(triples)
    train, held = hold_out(graph, num_asked, seed)
    assert len(held) <= num_asked
    assert sorted([*train.tolist(), *held.tolist()]) == graph.fact_F3.tolist()
    assert set(train[:, [0, 2]].ravel()) == set(range(graph.num_entities))
    assert set(train[:, 1]) == set(range(graph.num_relations))


def test_the_seed_alone_decides_what_is_held_out():
    graph = number_facts([Triple(str(i % 9), "r", str(i % 7)) for i in range(63)])
    first, second, other = (hold_out(graph, 10, seed)[1] for seed in (1, 1, 2))
    assert len(first) == 10
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def plain_ranks(entity, relation, asked, known):
    """Both sides of every fact, entity by entity."""
    ranks = []
    for side, known_side, sign in ((2, 0, 1), (0, 2, -1)):
        for fact in asked:
            query = entity[fact[known_side]] + sign * relation[fact[1]]
            score = -np.linalg.norm(entity - query, axis=1)
            answers = [other[side] for other in known if other[1] == fact[1] and other[known_side] == fact[known_side]]
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
    monkeypatch.setattr(graph_module, "_MAX_SCORES_AT_ONCE", 30)
    assert rank_facts(entity, relation, asked, known).tolist() == expected


def test_vectors_that_fit_the_facts_exactly_rank_them_first():
    entity = np.array([[0.0], [1.0], [2.0], [7.0]], dtype=np.float32)
    facts = np.array([[0, 0, 1], [1, 0, 2]])
    assert rank_facts(entity, np.ones((1, 1), np.float32), facts, facts).tolist() == [1, 1, 1, 1]


def test_no_facts_have_no_ranks():
    none = np.zeros((0, 3), dtype=np.int64)
    assert rank_facts(np.ones((2, 1), np.float32), np.ones((1, 1), np.float32), none, none).tolist() == []


NRE = "m.1\tm.2\tada\tlondon\tNA\tada saw london\t###END###\n"


def test_pairs_come_from_any_form_of_sentences(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text(NRE + "m.9\tm.3\tada\tparis\t/lived_in\tada saw paris\t###END###\n")
    assert read_pairs([path], 0.0) == {("m.1", "m.2"), ("m.3", "m.9")}


def test_pairs_come_from_two_columns(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("b\ta\n\nc\td\na\tb\n")
    assert read_pairs([path], 0.0) == {("a", "b"), ("c", "d")}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a\tb\nc\n", ":2: expected two entity ids"),
        ("a\tb\nc\t\n", ":2: expected two entity ids"),
        ("a\tb\tc\n", "unknown format"),
        ("", "contains no sentences"),
        (NRE + "m.1\tm.2\tada\tnowhere\tNA\tada saw london\t###END###\n", ":2: tail mention 'nowhere' is not in"),
    ],
)
def test_a_file_whose_pairs_cannot_be_known_is_refused(tmp_path, content, complaint):
    path = tmp_path / "test"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        read_pairs([path], 0.0)
    assert complaint in str(caught.value)


def test_facts_of_a_pair_are_left_out_in_both_directions_and_counted(tmp_path):
    exclusion = Exclusion({("a", "b")})
    facts = [Triple("a", "r", "b"), Triple("b", "s", "a"), Triple("a", "r", "c")]
    assert list(exclusion.keep(facts)) == [Triple("a", "r", "c")]
    assert exclusion.num_left_out == 2
    with pytest.raises(LeakageError, match=r"2 facts link an excluded pair .* a r b; b s a.*leave them out"):
        exclusion.refuse_any(tmp_path / "kg.tsv")


def test_a_graph_without_such_facts_is_not_refused(tmp_path):
    exclusion = Exclusion({("a", "b")})
    assert len(list(exclusion.keep([Triple("a", "r", "c")]))) == 1
    exclusion.refuse_any(tmp_path / "kg.tsv")


def test_standard_input_cannot_be_excluded():
    with pytest.raises(BadInputError, match="standard input"):
        read_pairs([Path("-")], 0.0)


def plain_rank(scores, target, known):
    """The definition as a loop: the mean of the best and the worst rank among the remaining entities."""
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
