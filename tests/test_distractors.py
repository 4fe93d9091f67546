import numpy as np

from sayso.distractors import DistractorPool, facts_of, insert
from sayso.store.vocabulary import Vocabulary
from toy import group_by_pair, make_sentence


def corpus(*lines):
    """Return bags of (head, tail, text, relations) and their vocabulary."""
    vocabulary = Vocabulary(["r", "s"])
    sentences = [make_sentence(text, head, tail, relations) for head, tail, text, relations in lines]
    return group_by_pair(sentences, vocabulary).table, vocabulary


def drawn_texts(table, vocabulary, type_E, num: int = 200) -> set[str]:
    """Return all texts that are drawn for the first fact."""
    pool = DistractorPool(table, type_E)
    bag_M, relation_M = (column[:1] for column in facts_of(table))
    words = list(vocabulary.words)
    found = set()
    for seed in range(num):
        chosen = pool.draw(bag_M, relation_M, pool.kind_B[bag_M], np.random.default_rng(seed))
        found |= {" ".join(words[i] for i in table.tokens.row(row)) for row in chosen.sentence_M.tolist()}
    return found


def test_a_distractor_has_the_same_types_and_another_label() -> None:
    table, vocabulary = corpus(
        ("a", "b", "a b fact", ("r",)),
        ("c", "d", "c d same label", ("r",)),
        ("e", "f", "e f other label", ("s",)),
        ("g", "h", "g h no label", ()),
        ("x", "y", "x y other types", ()),
    )
    type_E = np.array([0, 1, 0, 1, 0, 1, 0, 1, 2, 2])
    assert drawn_texts(table, vocabulary, type_E) == {"e f other label", "g h no label"}


def test_without_a_fitting_type_a_sentence_of_a_bag_without_relation_is_drawn() -> None:
    table, vocabulary = corpus(
        ("a", "b", "a b fact", ("r",)),
        ("e", "f", "e f label", ("s",)),
        ("x", "y", "x y none", ()),
        ("v", "w", "v w none", ()),
    )
    type_E = np.array([0, 1, 2, 2, 3, 3, 4, 4])
    assert drawn_texts(table, vocabulary, type_E) == {"x y none", "v w none"}


def test_a_rare_fitting_sentence_among_many_labelled_ones_is_found() -> None:
    lines = [(f"a{i}", f"b{i}", f"a{i} b{i} fact", ("r",)) for i in range(300)]
    table, vocabulary = corpus(*lines, ("c", "d", "c d rare", ()))
    type_E = np.array([0, 1] * 301)
    assert drawn_texts(table, vocabulary, type_E, 5) == {"c d rare"}


def test_a_fact_without_any_distractor_is_left_out() -> None:
    table, vocabulary = corpus(("a", "b", "a b fact", ("r",)))
    assert drawn_texts(table, vocabulary, np.array([0, 1]), 1) == set()


def test_draws_depend_on_the_generator_alone() -> None:
    table, _ = corpus(*((f"a{i}", f"b{i}", f"a{i} b{i}", ("r",) if i % 2 else ()) for i in range(40)))
    pool = DistractorPool(table, np.array([0, 1] * 40))
    bag_M, relation_M = facts_of(table)
    draws = [pool.draw(bag_M, relation_M, pool.kind_B[bag_M], np.random.default_rng(s)).sentence_M for s in (1, 1, 2)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_the_distractor_names_the_pair_of_its_new_bag_at_every_occurrence() -> None:
    table, vocabulary = corpus(
        ("a_one", "b", "b of a_one", ("r",)), ("New York", "d", "New York saw d in New York", ())
    )
    pool = DistractorPool(table, np.array([0, 1, 0, 1]))
    chosen = pool.draw(np.array([0]), np.array([0]), pool.kind_B[:1], np.random.default_rng(1))
    inserted = insert(table, table, chosen)
    words = list(vocabulary.words)
    assert " ".join(words[i] for i in inserted.tokens.value) == "a_one saw b in a_one"
    assert inserted.head_spans.row(0).tolist() == [0, 1, 4, 5]
    assert inserted.tail_spans.row(0).tolist() == [2, 3]
    assert (inserted.head_B[0], inserted.tail_B[0]) == (table.head_B[0], table.tail_B[0])
    assert inserted.relations.row(0).tolist() == [0]
