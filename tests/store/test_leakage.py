import numpy as np
import pytest

from sayso.errors import LeakageError
from sayso.store.leakage import find_leakage, refuse_leakage, split_by_pair, unordered_pair, without_pairs_of
from sayso.store.vocabulary import Vocabulary
from toy import group_by_pair, make_sentence


def many_pairs(num: int):
    """Return `num` pairs, each with its own sentence, and one sentence that all of them share."""
    return [
        make_sentence(text, f"e{i}", f"f{i}")
        for i in range(num)
        for text in (f"e{i} met f{i}", "all of " + " ".join(f"e{j} f{j}" for j in range(num)))
    ]


def test_the_share_of_pairs_is_drawn_and_no_pair_is_in_both_parts() -> None:
    grouped = group_by_pair([make_sentence(f"e{i} f{i} {i}", f"e{i}", f"f{i}") for i in range(100)], Vocabulary())
    split = split_by_pair(grouped, 0.2, seed=1)
    assert (split.train.num_bags, split.validation.num_bags) == (80, 20)
    assert not set(unordered_pair(split.train)) & set(unordered_pair(split.validation))


def test_a_pair_and_its_reverse_go_to_the_same_part() -> None:
    lines = [
        make_sentence(f"e{i} f{i} {way}", *pair)
        for i in range(50)
        for way, pair in enumerate([(f"e{i}", f"f{i}"), (f"f{i}", f"e{i}")])
    ]
    split = split_by_pair(group_by_pair(lines, Vocabulary()), 0.5, seed=3)
    assert not set(unordered_pair(split.train)) & set(unordered_pair(split.validation))


def test_training_lines_whose_sentence_stands_in_validation_are_left_out_and_counted() -> None:
    grouped = group_by_pair(many_pairs(10), Vocabulary())
    split = split_by_pair(grouped, 0.1, seed=1)
    assert split.validation.num_sentences == 2
    assert split.train.num_sentences == 9
    assert (split.num_train_sentences_left_out, split.num_validation_sentences_shared) == (9, 1)


def test_facts_that_lose_all_their_sentences_are_counted() -> None:
    lines = [make_sentence("a met b and c", "a", tail, ("/knows", "/met")) for tail in ("b", "c")]
    split = split_by_pair(group_by_pair(lines, Vocabulary(["/knows", "/met"])), 0.5, seed=1)
    assert (split.num_train_pairs_left_out, split.num_train_facts_left_out) == (1, 2)


def test_shared_sentences_stay_if_they_are_to_be_kept() -> None:
    split = split_by_pair(group_by_pair(many_pairs(10), Vocabulary()), 0.1, seed=1, keep_shared=True)
    assert split.train.num_sentences == 18


def test_a_sentence_with_other_names_joined_is_the_same_sentence() -> None:
    lines = [make_sentence("a_b met c d", "a_b", "c"), make_sentence("a b met c_d", "c_d", "a")]
    split = split_by_pair(group_by_pair(lines, Vocabulary()), 0.5, seed=1)
    assert (split.train.num_sentences, split.validation.num_sentences) == (0, 1)


def test_the_split_depends_on_the_seed_alone() -> None:
    grouped = group_by_pair(many_pairs(40), Vocabulary())
    first, again, other = (split_by_pair(grouped, 0.5, seed).validation.head_B for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def leaking():
    vocabulary = Vocabulary(["r"])
    train = group_by_pair(
        [
            make_sentence("a in b", "a", "b", ("r",)),
            make_sentence("d in c", "d", "c"),
            make_sentence("e in f", "e", "f"),
        ],
        vocabulary,
    )
    test = group_by_pair(
        [
            make_sentence("a at b", "a", "b", ("r",)),
            make_sentence("c at d", "c", "d"),
            make_sentence("e in f", "f", "e"),
        ],
        vocabulary,
    )
    return train, test


def test_pairs_reversed_pairs_and_sentences_in_both_parts_are_counted() -> None:
    leakage = find_leakage(*leaking())
    assert leakage.test_pairs_in_train == 1
    assert leakage.test_facts_in_train == 1
    assert leakage.reversed_test_pairs_in_train == 2
    assert leakage.test_sentences_in_train == 1
    assert leakage.train_sentences_of_test_pairs == 1


def test_a_test_pair_in_training_is_refused() -> None:
    with pytest.raises(LeakageError, match="1 test pairs are in the training data"):
        refuse_leakage(find_leakage(*leaking()), 3)


def test_the_release_that_is_known_to_leak_is_named() -> None:
    with pytest.raises(LeakageError, match="570,088-sentence release of FB-NYT"):
        refuse_leakage(find_leakage(*leaking()), 570_088)


def test_training_without_the_pairs_of_test_no_longer_leaks() -> None:
    train, test = leaking()
    clean = without_pairs_of(train, test.table)
    assert find_leakage(clean, test).test_pairs_in_train == 0
    assert clean.table.num_bags == 2
    assert len(clean.key_N) == clean.table.num_sentences
