import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from sayso.metrics.faithfulness import (
    faithfulness_figures,
    kendall_tau_b,
    rank_agreement,
    spearman,
)

score = st.sampled_from([-1.0, 0.0, 0.5, 2.0, 7.0])
score_pairs = st.lists(st.tuples(score, score), min_size=2, max_size=12)


@given(score_pairs)
def test_rank_correlations_equal_those_of_scipy(pairs) -> None:
    first, second = zip(*pairs, strict=True)
    assume(len(set(first)) > 1 and len(set(second)) > 1)
    assert kendall_tau_b(first, second) == pytest.approx(kendalltau(first, second).statistic)
    assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic)


def test_rank_correlations_of_a_large_bag_equal_those_of_scipy() -> None:
    first, second = np.random.default_rng(0).integers(0, 200, (2, 1000)).astype(float)
    assert kendall_tau_b(first, second) == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)
    assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [2.0]), ([1.0, 1.0], [1.0, 2.0])])
def test_one_score_and_constant_scores_have_no_correlation(first, second) -> None:
    assert math.isnan(kendall_tau_b(first, second))
    assert math.isnan(spearman(first, second))


def test_agreement_is_the_mean_over_facts_with_an_order() -> None:
    # A perfect fact, a reversed one, one sentence alone, one constant, then 1 of 3 pairs swapped.
    first = [1.0, 2.0, 1.0, 2.0, 5.0, 3.0, 3.0, 1.0, 2.0, 3.0]
    second = [5.0, 9.0, 9.0, 5.0, 1.0, 1.0, 2.0, 1.0, 3.0, 2.0]
    agreement = rank_agreement(first, second, np.array([0, 2, 4, 5, 7, 10]))
    assert agreement.kendall_tau_b == pytest.approx((1 - 1 + 1 / 3) / 3)
    assert agreement.spearman == pytest.approx((1 - 1 + 1 / 2) / 3)
    assert (agreement.num_facts, agreement.num_constant) == (3, 1)


def test_bags_of_one_sentence_give_no_agreement_instead_of_nan() -> None:
    agreement = rank_agreement([1.0, 2.0], [2.0, 1.0], np.array([0, 1, 2]))
    assert (agreement.kendall_tau_b, agreement.spearman, agreement.num_facts) == (None, None, 0)


@pytest.mark.parametrize(("first", "second"), [([1.0], [1.0, 2.0]), ([1.0, math.nan], [1.0, 2.0])])
def test_scores_that_do_not_fit_are_refused(first, second) -> None:
    with pytest.raises(ValueError):
        rank_agreement(first, second, np.array([0, 2]))


def test_a_top_sentence_that_decides_alone_is_comprehensive_and_sufficient() -> None:
    figures = faithfulness_figures([0.9], [0.1], [0.9], np.array([0]))
    assert figures.comprehensiveness.value == pytest.approx(0.8)
    assert figures.sufficiency.value == pytest.approx(0.0)


def test_faithfulness_is_the_mean_over_facts_with_an_interval_over_bags() -> None:
    figures = faithfulness_figures([0.9, 1.0, 0.0], [0.5, 1.0, 0.0], [0.9, 0.8, 0.1], np.array([0, 0, 1]))
    assert figures.comprehensiveness.value == pytest.approx(0.4 / 3)
    assert figures.sufficiency.value == pytest.approx(0.1 / 3)
    assert figures.comprehensiveness.interval == pytest.approx((0.0, 0.2))
    assert (figures.num_facts, figures.num_bags) == (3, 2)


def test_no_facts_give_no_faithfulness() -> None:
    figures = faithfulness_figures([], [], [], np.array([], dtype=int))
    assert (figures.comprehensiveness, figures.sufficiency) == ((None, None), (None, None))
