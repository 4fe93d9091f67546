import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from sayso.metrics.interval import (
    Estimate,
    bootstrap,
    mean_over_units,
    paired_difference,
    percentile_interval,
    ratio_over_units,
    resampled_weights,
    wilson_interval,
)


def test_every_resample_draws_as_many_units_as_there_are() -> None:
    weights = list(resampled_weights(7, 20, seed=3))
    assert all(weight.sum() == len(weight) == 7 for weight in weights)
    assert len({tuple(weight) for weight in weights}) > 10


def test_the_same_seed_gives_the_same_resamples_and_another_seed_others() -> None:
    once, again, other = (np.array(list(resampled_weights(30, 10, seed=seed))) for seed in (1, 1, 2))
    assert (once == again).all()
    assert (once != other).any()


def test_the_interval_of_a_mean_is_that_of_the_normal_approximation() -> None:
    values = np.random.default_rng(0).normal(size=400)
    value, interval = mean_over_units(values, np.arange(400), num_resamples=4_000)
    half = 1.96 * values.std() / 20
    assert interval == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15 * half)
    assert value == pytest.approx(values.mean())


def test_values_of_one_unit_are_drawn_together() -> None:
    # Ten copies of each value are no more evidence than one.
    values = np.random.default_rng(0).normal(size=50)
    alone = mean_over_units(values, np.arange(50))
    copied = mean_over_units(np.repeat(values, 10), np.repeat(np.arange(50), 10))
    assert copied.value == pytest.approx(alone.value)
    assert copied.interval == pytest.approx(alone.interval)


units = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4), st.sampled_from("abcd")), min_size=1, max_size=20)


@given(units)
def test_a_ratio_is_that_of_the_sums_and_lies_in_its_interval_if_constant(rows) -> None:
    numerator, denominator, unit = map(np.array, zip(*rows, strict=True))
    estimate = ratio_over_units(numerator, denominator, unit, num_resamples=20)
    if not denominator.sum():
        assert estimate == Estimate(None, None)
        return
    assert estimate.value == pytest.approx(numerator.sum() / denominator.sum())
    constant = ratio_over_units(3 * denominator, denominator, unit, num_resamples=20)
    assert constant.value == 3
    assert constant.interval is None or constant.interval == pytest.approx((3, 3))


@pytest.mark.parametrize("num_units", [0, 1])
def test_fewer_than_two_units_have_no_interval(num_units: int) -> None:
    values = bootstrap(num_units, lambda weight_U: [1.0, 2.0], num_resamples=5)
    assert values.shape == (5, 2)
    assert percentile_interval(values[:, 0]) is None
    assert mean_over_units(np.ones(num_units), np.arange(num_units)).interval is None


def test_resamples_without_a_value_are_left_out_of_the_interval() -> None:
    assert percentile_interval(np.array([np.nan, 2.0, 2.0])) == (2.0, 2.0)


def test_a_model_does_not_differ_from_itself() -> None:
    value_U = np.arange(9.0)
    difference = paired_difference(9, lambda weight_U: weight_U @ value_U, lambda weight_U: weight_U @ value_U)
    assert (difference.value, difference.interval, difference.p_value) == (0.0, (0.0, 0.0), 1.0)


def test_a_constant_difference_is_found_although_both_figures_vary() -> None:
    first_U = np.random.default_rng(0).normal(size=40)
    second_U = first_U - 0.1
    difference = paired_difference(40, lambda w: w @ first_U / 40, lambda w: w @ second_U / 40, num_resamples=999)
    assert difference.value == pytest.approx(0.1)
    assert difference.interval == pytest.approx((0.1, 0.1))
    assert difference.p_value == pytest.approx(2 / 1000)


def test_the_p_value_does_not_depend_on_which_model_is_first() -> None:
    first_U, second_U = np.random.default_rng(1).normal(size=(2, 25))
    there = paired_difference(25, lambda w: w @ first_U, lambda w: w @ second_U)
    back = paired_difference(25, lambda w: w @ second_U, lambda w: w @ first_U)
    assert there.value == -back.value
    assert there.interval == pytest.approx((-back.interval.high, -back.interval.low))
    assert 0 < there.p_value == back.p_value <= 1


def test_nothing_to_compare_gives_no_difference() -> None:
    assert paired_difference(0, lambda w: 0.0, lambda w: 0.0).value is None
    assert paired_difference(3, lambda w: np.nan, lambda w: 0.0).p_value is None


def test_without_resamples_there_is_no_interval_but_a_value() -> None:
    assert bootstrap(5, lambda weight_U: np.array([1.0, 2.0]), num_resamples=0).shape == (0, 2)
    assert mean_over_units([1.0, 3.0], np.array([0, 1]), num_resamples=0) == Estimate(2.0, None)


@given(st.integers(1, 400).flatmap(lambda num: st.tuples(st.integers(0, num), st.just(num))))
def test_wilsons_interval_is_that_of_scipy(counts: tuple[int, int]) -> None:
    num_right, num = counts
    expected = binomtest(num_right, num).proportion_ci(0.95, method="wilson")
    assert wilson_interval(num_right, num) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_a_proportion_of_nothing_has_no_interval() -> None:
    assert wilson_interval(0, 0) is None
