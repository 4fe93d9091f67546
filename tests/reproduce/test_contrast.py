import math
from dataclasses import replace

import numpy as np
import pytest

from reproduce.toy_outcomes import NUM_RESAMPLES, make_outcome
from sayso.reproduce.contrast import Contrast, Term, estimate
from sayso.reproduce.outcome import Outcome
from sayso.reproduce.sample import AREA, Measure, Sample

LOW, HIGH = "CNNs+ATT", "CNNs+ATT+F"


def contrast(high: str = HIGH, low: str = LOW) -> Contrast:
    return Contrast("", (Term(1.0, high, Measure(AREA)), Term(-1.0, low, Measure(AREA))))


def sample_of(areas: dict[str, list[float]], resampled: dict[str, np.ndarray] | None = None) -> Sample:
    """Return runs with exactly these areas by seed; resamples lie around each by the variant's own deviations."""
    runs: list[Outcome] = []
    for variant, column in areas.items():
        moved = (resampled or {}).get(variant, np.zeros(NUM_RESAMPLES))
        for seed, area in enumerate(column):
            run = make_outcome(variant, seed)
            runs.append(replace(run, test=run.test | {AREA: area}, resampled={AREA: (area + moved).tolist()}))
    return Sample(runs)


def test_seeds_are_paired_so_that_what_moves_both_alike_does_not_widen_the_interval() -> None:
    sample = sample_of({LOW: [0.1, 0.3, 0.2], HIGH: [0.2, 0.4, 0.3]})
    found = estimate(sample, [contrast()], "")
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_test_pairs_are_paired_too() -> None:
    moved = np.random.default_rng(0).normal(0, 0.1, NUM_RESAMPLES)
    sample = sample_of({LOW: [0.3, 0.3], HIGH: [0.4, 0.4]}, {LOW: moved, HIGH: moved})
    found = estimate(sample, [contrast()], "")
    assert found.high - found.low == pytest.approx(0, abs=1e-9)


def test_with_seeds_alone_it_is_students_interval() -> None:
    sample = sample_of({LOW: [0.0, 0.0, 0.0], HIGH: [0.1, 0.2, 0.3]})
    found = estimate(sample, [contrast()], "")
    assert found.high - found.value == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=1e-3)


def test_with_little_freedom_it_is_students_interval_to_the_last_digits() -> None:
    """Of two seeds and 1.5 degrees of freedom; the quantile is t(0.9999, 1.5)."""
    seeds_variance = 0.1**2
    moved = np.random.default_rng(0).normal(0, 1, NUM_RESAMPLES)
    moved *= math.sqrt((math.sqrt(1.5) - 1) * seeds_variance / moved.var(ddof=1))
    sample = sample_of({LOW: [0.0, 0.0], HIGH: [0.1, 0.3]}, {HIGH: moved})
    found = estimate(sample, [contrast()], "", level=0.9998)
    assert found.high - found.value == pytest.approx(242.264 * math.sqrt(math.sqrt(1.5) * seeds_variance), rel=1e-4)


def test_with_one_seed_the_interval_is_that_of_the_bootstrap() -> None:
    moved = np.random.default_rng(0).normal(0, 0.1, NUM_RESAMPLES)
    found = estimate(sample_of({LOW: [0.3], HIGH: [0.4]}, {HIGH: moved}), [contrast()], "")
    assert found.high - found.value == pytest.approx(1.96 * moved.std(ddof=1), rel=1e-3)


def test_turning_a_contrast_round_turns_its_interval_round() -> None:
    sample = sample_of({LOW: [0.0, 0.1, 0.0], HIGH: [0.1, 0.2, 0.3]})
    one, other = estimate(sample, [contrast()], ""), estimate(sample, [contrast(LOW, HIGH)], "")
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_only_seeds_that_both_have_count_and_none_gives_nothing() -> None:
    sample = sample_of({LOW: [0.1, 0.3], HIGH: [0.2]})
    assert estimate(sample, [contrast()], "").num_seeds == 1
    assert estimate(sample, [contrast("DirectSup")], "") is None


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Other seeds and other test pairs both move the figures; 95 % of the intervals must hold the true difference."""
    rng, truth, num_held, num_tried = np.random.default_rng(7), 0.02, 0, 300
    for _ in range(num_tried):
        pairs = rng.normal(0, 0.01)
        moved = rng.normal(0, 0.01, NUM_RESAMPLES)
        seeds = rng.normal(0, 0.01, 3)
        sample = sample_of({LOW: [0.0] * 3, HIGH: list(truth + pairs + seeds)}, {HIGH: moved})
        found = estimate(sample, [contrast()], "")
        num_held += found.low <= truth <= found.high
    assert 0.90 <= num_held / num_tried <= 0.995
