"""Quantiles of Student's t distribution, for intervals from a few seeds, with any number of degrees of freedom."""

import math
from statistics import NormalDist

import numpy as np

_NUM_POINTS = 201
_LITTLE_FREEDOM, _FARTHEST = 30.0, 40.0
"""With more than little freedom no value beyond the farthest has a probability that could matter."""
_MOST_FREEDOM = 1e7
"""With more degrees of freedom it is the normal distribution to all digits that matter."""


def student_quantile(probability: float, freedom: float) -> float:
    """Return the value below which a t variable lies with this probability, which is between a half and one.

    >>> round(student_quantile(0.975, 2), 3)
    4.303
    """
    if not 0.5 <= probability < 1.0 or freedom <= 0:
        raise ValueError(f"no quantile for probability {probability} and {freedom} degrees of freedom")
    if freedom > _MOST_FREEDOM:
        return NormalDist().inv_cdf(probability)
    # With t = sqrt(freedom) tan(angle) the density is a power of the cosine, smooth and on a bounded interval.
    # With much freedom that power is a narrow peak, and only what is near it need be looked at.
    low, high = 0.0, math.atan(_FARTHEST / math.sqrt(freedom)) if freedom > _LITTLE_FREEDOM else math.pi / 2
    for _ in range(42):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < probability else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _below(angle: float, freedom: float) -> float:
    """Return the probability of a t variable below that of the angle, by Simpson's rule."""
    peak = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    height = np.cos(np.linspace(0.0, angle, _NUM_POINTS)) ** (freedom - 1)
    weight = np.where(np.arange(_NUM_POINTS) % 2, 4.0, 2.0)
    weight[[0, -1]] = 1.0
    return 0.5 + peak * float(weight @ height) * angle / (_NUM_POINTS - 1) / 3
