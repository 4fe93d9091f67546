import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from sayso.evaluate import logistic_regression
from sayso.evaluate.logistic_regression import LogisticRegression as OurRegression
from sayso.evaluate.logistic_regression import bag_features, fit
from sayso.store.table import BagTable
from toy_table import HEAD, TAIL, Pair, Words, table_of

TYPE_E = np.array([0, 3], np.uint8)
RULES, VISITS = 10, 11


def scores(train: BagTable, part: BagTable) -> np.ndarray:
    return OurRegression(train, TYPE_E, num_relations=2).scores(part, penalty=2.0)


def features(*sentences: Words) -> list[int]:
    return bag_features(table_of(Pair(0, 1, sentences=sentences)), TYPE_E).value.tolist()


def pairs_of(words: Words, relations: tuple[int, ...]) -> list[Pair]:
    return [Pair(0, 1, relations, (words,))] * 10


TRAIN = table_of(*pairs_of((HEAD, RULES, TAIL), (0,)), *pairs_of((HEAD, VISITS, TAIL), ()))


def test_features_are_types_order_distance_and_words_between() -> None:
    # Kinds 0 to 2: the types 0 and 3, and their pair, 0 · 4 + 3.
    types = {8 * 0 + 0, 8 * 3 + 1, 8 * 3 + 2}
    # Kind 3: two words apart is the third distance; kind 4: the words; both doubled, plus 1 where the head is first.
    forward = {8 * (2 * 2 + 1) + 3, 8 * (2 * 8 + 1) + 4, 8 * (2 * 9 + 1) + 4}
    backward = {8 * (2 * 2) + 3, 8 * (2 * 8) + 4, 8 * (2 * 9) + 4}
    assert features((5, HEAD, 8, 9, TAIL, 6)) == sorted(types | forward)
    assert features((5, TAIL, 8, 9, HEAD, 6)) == sorted(types | backward)
    assert features((HEAD, 8, 9, TAIL), (TAIL, 8, 9, HEAD)) == sorted(types | forward | backward)


def test_weights_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logistic_regression, "MAX_STEPS", 1_000)
    rng = np.random.default_rng(1)
    feature_BW = (rng.random((60, 5)) < 0.4).astype(np.float64)
    label_B = (rng.random(60) < 0.2 + 0.6 * feature_BW[:, 0]).astype(np.float64)
    weight_W, intercept = fit(csr_array(feature_BW), label_B, penalty=2.0)
    reference = LogisticRegression(C=1 / 2.0, tol=1e-8).fit(feature_BW, label_B)
    np.testing.assert_allclose(weight_W, reference.coef_[0], atol=1e-3)
    assert intercept == pytest.approx(reference.intercept_[0], abs=1e-3)


def test_a_word_between_the_mentions_tells_the_relation_if_it_stands_in_the_same_order() -> None:
    part = table_of(
        Pair(0, 1, sentences=((HEAD, RULES, TAIL),)),
        Pair(0, 1, sentences=((TAIL, RULES, HEAD),)),
        Pair(0, 1, sentences=((HEAD, VISITS, TAIL),)),
    )
    ruling, reversed_order, visiting = scores(TRAIN, part)[:, 0]
    assert ruling > reversed_order > visiting
    assert ruling > 0 > visiting


def test_a_relation_without_training_bags_is_below_all_others() -> None:
    assert np.isneginf(scores(TRAIN, TRAIN)[:, 1]).all()
    assert np.isfinite(scores(TRAIN, TRAIN)[:, 0]).all()
    assert np.isneginf(scores(table_of(), TRAIN)).all()
    assert scores(TRAIN, table_of()).shape == (0, 2)


def test_features_of_one_training_bag_do_not_count() -> None:
    once = table_of(Pair(0, 1, (0,), ((HEAD, 99, TAIL),)), *pairs_of((HEAD, VISITS, TAIL), ()))
    with_rare, with_unknown = scores(
        once, table_of(Pair(0, 1, sentences=((HEAD, 99, TAIL),)), Pair(0, 1, sentences=((HEAD, 98, TAIL),)))
    )
    np.testing.assert_array_equal(with_rare, with_unknown)


def test_of_many_training_bags_the_same_ones_are_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scores(TRAIN, TRAIN)
    monkeypatch.setattr(logistic_regression, "MAX_TRAINING_BAGS", 8)
    drawn = scores(TRAIN, TRAIN)
    assert not np.array_equal(drawn, whole)
    np.testing.assert_array_equal(drawn, scores(TRAIN, TRAIN))


OUTSIDE = st.lists(st.integers(20, 30), max_size=3).map(tuple)


@settings(max_examples=25, deadline=None)
@given(before=OUTSIDE, after=OUTSIDE, num_repeats=st.integers(1, 3))
def test_repeated_sentences_their_order_and_words_outside_the_mentions_change_nothing(
    before: Words, after: Words, num_repeats: int
) -> None:
    first, second = (HEAD, RULES, TAIL), (TAIL, VISITS, HEAD)
    longer = ((*before, *second, *after),) * num_repeats + ((*before, *first, *after),)
    assert features(first, second) == features(*longer)
