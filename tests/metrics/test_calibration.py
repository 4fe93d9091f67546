import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.calibration import calibration_curve

from sayso.metrics.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    calibration_error_over_bags,
    expected_calibration_error,
    fit_affine,
    fit_temperature,
    reliability_curve,
    tempered_probability,
)

judged = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def test_the_curve_equals_that_of_sklearn() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.random(500)
    labels = rng.random(500) < probabilities
    curve = reliability_curve(probabilities, labels)
    share, mean = calibration_curve(labels, probabilities, n_bins=10)
    np.testing.assert_allclose(curve.share_positive, share)
    np.testing.assert_allclose(curve.mean_probability, mean)


@given(judged)
def test_every_probability_is_in_exactly_one_bin(pairs) -> None:
    probabilities, labels = map(np.array, zip(*pairs, strict=True))
    curve = reliability_curve(probabilities, labels)
    assert curve.num_facts.sum() == len(pairs)
    assert len(curve.num_facts) <= 10
    assert (curve.num_facts > 0).all()
    assert curve.mean_probability @ curve.num_facts == pytest.approx(probabilities.sum())
    assert curve.share_positive @ curve.num_facts == pytest.approx(labels.sum())
    assert 0 <= expected_calibration_error(curve) <= 1


def test_probabilities_of_exactly_0_and_1_lie_in_the_outer_bins() -> None:
    curve = reliability_curve([0.0, 1.0, 1.0], [0, 1, 0])
    assert curve.mean_probability.tolist() == [0.0, 1.0]
    assert curve.share_positive.tolist() == [0.0, 0.5]
    assert expected_calibration_error(curve) == pytest.approx(2 / 3 * 0.5)


def test_no_probabilities_give_no_error() -> None:
    assert expected_calibration_error(reliability_curve([], [])) is None


LOGITS = st.floats(0.01, 20) | st.floats(-20, -0.01)


@given(st.lists(st.tuples(LOGITS, st.booleans()), min_size=2, max_size=30))
def test_no_other_temperature_is_more_likely(pairs) -> None:
    logits, labels = map(np.array, zip(*pairs, strict=True))

    def loss_at(log_temperature):
        margin = np.where(labels, logits, -logits) / np.exp(log_temperature)
        return np.logaddexp(0, -margin).mean()

    best = minimize_scalar(loss_at, bounds=(np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)), method="bounded").fun
    assert loss_at(np.log(fit_temperature(logits, labels))) <= best + 1e-6


def test_the_temperature_that_made_the_labels_is_found() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=6, size=20_000)
    labels = rng.random(20_000) < expit(logits / 3)
    temperature = fit_temperature(logits, labels)
    assert temperature == pytest.approx(3, rel=0.05)
    before, after = (
        expected_calibration_error(reliability_curve(tempered_probability(logits, t), labels)) for t in (1, temperature)
    )
    assert after < 0.02 < before


def test_infinite_logits_do_not_change_the_temperature() -> None:
    logits, labels = [2.0, -1.0, 0.5, -3.0], [1, 1, 0, 0]
    extended = fit_temperature([*logits, np.inf, -np.inf], [*labels, 0, 1])
    assert extended == fit_temperature(logits, labels)


def test_separable_data_give_an_end_of_the_range_and_no_data_give_1() -> None:
    assert fit_temperature([1.0, -1.0], [1, 0]) == pytest.approx(MIN_TEMPERATURE)
    assert fit_temperature([1.0, -1.0], [0, 1]) == pytest.approx(MAX_TEMPERATURE)
    assert fit_temperature([], []) == fit_temperature([0.0, np.inf], [1, 1]) == 1.0


@pytest.mark.parametrize(("probabilities", "labels"), [([0.5], [1, 0]), ([1.5], [1]), ([np.nan], [1])])
def test_arguments_that_do_not_fit_are_refused(probabilities, labels) -> None:
    with pytest.raises(ValueError):
        reliability_curve(probabilities, labels)


@pytest.mark.parametrize(("logits", "labels"), [([0.5], [1, 0]), ([np.nan], [1])])
def test_logits_that_do_not_fit_are_refused(logits, labels) -> None:
    with pytest.raises(ValueError):
        fit_temperature(logits, labels)


def drawn(num_bags: int, scale_R: list[float], shift_R: list[float], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return logits, and labels drawn with the probability of scale · logit + shift."""
    rng = np.random.default_rng(seed)
    logit_BR = rng.normal(-1, 2, (num_bags, len(scale_R)))
    return logit_BR, rng.random(logit_BR.shape) < expit(np.array(scale_R) * logit_BR + np.array(shift_R))


def test_with_much_data_each_relation_gets_back_its_own_scale_and_shift() -> None:
    scale_R, shift_R = [0.5, 1.0, 1.6], [-1.0, 0.0, 0.7]
    logit_BR, label_BR = drawn(20_000, scale_R, shift_R)
    found = fit_affine(logit_BR, label_BR, np.ones(20_000))
    np.testing.assert_allclose(found.scale_R, scale_R, rtol=0.06)
    np.testing.assert_allclose(found.shift_R, shift_R, atol=0.08)


def test_calibrated_probabilities_stay_as_they_are() -> None:
    logit_BR, label_BR = drawn(20_000, [1.0, 1.0], [0.0, 0.0], seed=1)
    found = fit_affine(logit_BR, label_BR, np.ones(20_000))
    np.testing.assert_allclose(found.scale_R, 1.0, atol=0.05)
    np.testing.assert_allclose(found.shift_R, 0.0, atol=0.08)


def test_a_relation_without_data_falls_back_to_the_pooled_map() -> None:
    logit_BR, label_BR = drawn(4_000, [0.5] * 5, [-1.0] * 5, seed=2)
    # The last relation is impossible everywhere: its logits say nothing, and it has no positive label.
    logit_BR[:, 4], label_BR[:, 4] = -30.0, False
    found = fit_affine(logit_BR, label_BR, np.ones(4_000))
    assert found.scale_R[4] == pytest.approx(found.scale_R[:4].mean(), rel=0.1)
    assert found.shift_R[4] == pytest.approx(found.shift_R[:4].mean(), abs=0.2)


def test_sampled_negatives_are_weighed_as_if_all_were_there() -> None:
    logit_BR, label_BR = drawn(40_000, [0.8], [-1.0], seed=3)
    whole = fit_affine(logit_BR, label_BR, np.ones(40_000))
    is_kept_B = label_BR[:, 0] | (np.random.default_rng(0).random(40_000) < 0.25)
    sampled = fit_affine(logit_BR[is_kept_B], label_BR[is_kept_B], np.where(label_BR[is_kept_B, 0], 1.0, 4.0))
    unweighted = fit_affine(logit_BR[is_kept_B], label_BR[is_kept_B], np.ones(is_kept_B.sum()))
    assert sampled.shift_R == pytest.approx(whole.shift_R, abs=0.1)
    # What the weights correct is the logarithm of the share that was kept.
    assert unweighted.shift_R + np.log(0.25) == pytest.approx(whole.shift_R, abs=0.1)


@given(st.data())
def test_a_map_never_inverts_a_ranking_even_of_misleading_logits(data) -> None:
    num_bags = data.draw(st.integers(0, 12))
    numbers = st.lists(st.floats(-50, 50), min_size=2 * num_bags, max_size=2 * num_bags)
    logit_BR = np.array(data.draw(numbers)).reshape(-1, 2)
    label_BR = np.array(data.draw(st.lists(st.booleans(), min_size=2 * num_bags, max_size=2 * num_bags)), bool)
    found = fit_affine(logit_BR, label_BR.reshape(-1, 2), np.ones(num_bags))
    assert (found.scale_R > 0).all()
    assert np.isfinite(found.shift_R).all()


def test_the_fit_refuses_what_does_not_match() -> None:
    with pytest.raises(ValueError, match="differ"):
        fit_affine(np.zeros((3, 2)), np.zeros((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="not finite"):
        fit_affine(np.full((3, 2), np.inf), np.zeros((3, 2)), np.ones(3))


def test_the_error_over_bags_is_that_of_the_curve_and_its_interval_holds_it() -> None:
    logit_BR, label_BR = drawn(300, [0.5, 0.5], [0.0, 0.0], seed=4)
    weight_B = np.where(label_BR.any(1), 1.0, 3.0)
    curve = reliability_curve(expit(logit_BR), label_BR, np.repeat(weight_B, 2))
    found = calibration_error_over_bags(expit(logit_BR), label_BR, weight_B, 200)
    assert found.value == pytest.approx(expected_calibration_error(curve))
    assert found.interval is not None
    assert found.interval.low < found.value < found.interval.high
    assert calibration_error_over_bags(np.zeros((0, 2)), np.zeros((0, 2), bool), np.zeros(0)).value is None
