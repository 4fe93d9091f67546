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
    expected_calibration_error,
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
