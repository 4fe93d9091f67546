import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sayso.embeddings.graph import hold_out, number_facts
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
