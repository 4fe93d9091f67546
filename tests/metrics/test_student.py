import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from sayso.metrics.student import student_quantile

probabilities = st.floats(0.5, 0.9999)


@given(probabilities, st.floats(1.0, 1e6))
def test_quantiles_are_scipys(probability: float, freedom: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(t.ppf(probability, freedom), rel=1e-5, abs=1e-8)


@given(probabilities)
def test_endless_freedom_is_the_normal_distribution(probability: float) -> None:
    assert student_quantile(probability, math.inf) == pytest.approx(norm.ppf(probability), abs=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_what_has_no_quantile_is_refused(probability: float, freedom: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        student_quantile(probability, freedom)
