import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduce.toy_results import NUM_RESAMPLES, make_result
from sayso.metrics.rationale import BANDS, MarkedFacts, tau_figures
from sayso.reproduce.assess import fact_orders
from sayso.reproduce.contrast import AREA, TAU, Contrast, Measure, Sample, Term, estimate
from sayso.reproduce.folder import RunResult

WITHOUT_F, WITH_F = "CNNs+ATT", "CNNs+ATT+F"


def contrast(high: str = WITH_F, low: str = WITHOUT_F) -> Contrast:
    return Contrast("", (Term(1.0, high, Measure(AREA)), Term(-1.0, low, Measure(AREA))))


def sample_of(areas: dict[str, list[float]], resampled: dict[str, np.ndarray] | None = None) -> Sample:
    """Return runs with exactly these areas by seed; resamples lie around each by the variant's own deviations."""
    runs: list[RunResult] = []
    for variant, column in areas.items():
        moved = (resampled or {}).get(variant, np.zeros(NUM_RESAMPLES))
        for seed, area in enumerate(column):
            run = make_result(variant, seed)
            runs.append(replace(run, test=run.test | {AREA: area}, resampled={AREA: (area + moved).tolist()}))
    return Sample(runs)


def test_seeds_are_paired_so_a_common_shift_does_not_widen_the_interval() -> None:
    sample = sample_of({WITHOUT_F: [0.1, 0.3, 0.2], WITH_F: [0.2, 0.4, 0.3]})
    found = estimate(sample, [contrast()], "")
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_test_pairs_are_paired_too() -> None:
    moved = np.random.default_rng(0).normal(0, 0.1, NUM_RESAMPLES)
    sample = sample_of({WITHOUT_F: [0.3, 0.3], WITH_F: [0.4, 0.4]}, {WITHOUT_F: moved, WITH_F: moved})
    found = estimate(sample, [contrast()], "")
    assert found.high - found.low == pytest.approx(0, abs=1e-9)


def test_without_variance_over_bags_it_is_students_interval() -> None:
    sample = sample_of({WITHOUT_F: [0.0, 0.0, 0.0], WITH_F: [0.1, 0.2, 0.3]})
    found = estimate(sample, [contrast()], "")
    assert found.high - found.value == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=1e-3)


def test_with_few_degrees_of_freedom_it_is_students_interval_to_the_last_digits() -> None:
    """Of two seeds and 1.5 degrees of freedom; the quantile is t(0.9999, 1.5)."""
    seeds_variance = 0.1**2
    moved = np.random.default_rng(0).normal(0, 1, NUM_RESAMPLES)
    moved *= math.sqrt((math.sqrt(1.5) - 1) * seeds_variance / moved.var(ddof=1))
    sample = sample_of({WITHOUT_F: [0.0, 0.0], WITH_F: [0.1, 0.3]}, {WITH_F: moved})
    found = estimate(sample, [contrast()], "", level=0.9998)
    assert found.high - found.value == pytest.approx(242.264 * math.sqrt(math.sqrt(1.5) * seeds_variance), rel=1e-4)


def test_with_one_seed_the_interval_is_that_of_the_bootstrap() -> None:
    moved = np.random.default_rng(0).normal(0, 0.1, NUM_RESAMPLES)
    found = estimate(sample_of({WITHOUT_F: [0.3], WITH_F: [0.4]}, {WITH_F: moved}), [contrast()], "")
    assert found.high - found.value == pytest.approx(1.96 * moved.std(ddof=1), rel=1e-3)


def test_reversing_a_contrast_reverses_its_interval() -> None:
    sample = sample_of({WITHOUT_F: [0.0, 0.1, 0.0], WITH_F: [0.1, 0.2, 0.3]})
    one, other = estimate(sample, [contrast()], ""), estimate(sample, [contrast(WITHOUT_F, WITH_F)], "")
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


def test_only_common_seeds_count_and_without_any_there_is_no_estimate() -> None:
    sample = sample_of({WITHOUT_F: [0.1, 0.3], WITH_F: [0.2]})
    assert estimate(sample, [contrast()], "").num_seeds == 1
    assert estimate(sample, [contrast("DirectSup")], "") is None


def test_the_interval_covers_the_truth_about_as_often_as_its_level() -> None:
    """Both seeds and test pairs change the metrics; 95 % of the intervals must contain the true difference."""
    rng, truth, num_held, num_tried = np.random.default_rng(7), 0.02, 0, 300
    for _ in range(num_tried):
        pairs = rng.normal(0, 0.01)
        moved = rng.normal(0, 0.01, NUM_RESAMPLES)
        seeds = rng.normal(0, 0.01, 3)
        sample = sample_of({WITHOUT_F: [0.0] * 3, WITH_F: list(truth + pairs + seeds)}, {WITH_F: moved})
        found = estimate(sample, [contrast()], "")
        num_held += found.low <= truth <= found.high
    assert 0.90 <= num_held / num_tried <= 0.995


ON_H = Measure(TAU, "people", "attention", "H")


def result_of(facts: MarkedFacts, variant: str = "CNNs+ATT") -> RunResult:
    result = make_result(variant, seed=1)
    return RunResult(**(vars(result) | {"orders": {"people": fact_orders({"attention": facts})}}))


@st.composite
def marked_facts(draw: st.DrawFn) -> MarkedFacts:
    num_facts = draw(st.integers(1, 6))
    sizes = draw(st.lists(st.integers(0, 4), min_size=num_facts, max_size=num_facts))
    num = sum(sizes)
    return MarkedFacts(
        score_N=np.array(draw(st.lists(st.integers(0, 3), min_size=num, max_size=num)), float),
        mark_N=np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=num, max_size=num)), np.int8),
        start_F1=np.append(0, np.cumsum(sizes)),
        bag_F=np.array(draw(st.lists(st.integers(0, 3), min_size=num_facts, max_size=num_facts))),
        probability_F=np.array(
            draw(st.lists(st.sampled_from([0.1, 0.5, 0.9]), min_size=num_facts, max_size=num_facts))
        ),
    )


@given(marked_facts())
def test_tau_of_a_result_is_that_of_the_marked_facts(facts: MarkedFacts) -> None:
    wanted = tau_figures(facts, BANDS["H"], num_resamples=0).pooled
    found = Sample([result_of(facts)]).value("CNNs+ATT", 1, ON_H).point
    assert found == pytest.approx(np.nan if wanted is None else wanted, nan_ok=True)


def test_resampled_tau_has_the_spread_of_the_metric() -> None:
    rng = np.random.default_rng(3)
    facts = MarkedFacts(
        score_N=rng.normal(size=200),
        mark_N=np.tile([1, 0], 100),
        start_F1=np.arange(0, 201, 2),
        bag_F=np.arange(100),
        probability_F=np.full(100, 0.9),
    )
    resampled_K = Sample([result_of(facts)]).value("CNNs+ATT", 1, ON_H).resampled_K
    assert len(resampled_K) == NUM_RESAMPLES
    low, high = tau_figures(facts, BANDS["H"]).interval
    assert np.quantile(resampled_K, [0.025, 0.975]) == pytest.approx([low, high], abs=0.05)


def test_with_a_partner_only_facts_in_the_band_of_both_count() -> None:
    def facts(probabilities: list[float]) -> MarkedFacts:
        return MarkedFacts(
            score_N=np.array([2.0, 1.0, 1.0, 2.0]),
            mark_N=np.array([1, 0, 1, 0]),
            start_F1=np.array([0, 2, 4]),
            bag_F=np.array([0, 1]),
            probability_F=np.array(probabilities),
        )

    sample = Sample([result_of(facts([0.9, 0.9])), result_of(facts([0.9, 0.1]), "CNNs+ATT+F")])
    assert sample.value("CNNs+ATT", 1, ON_H).point == 0
    assert sample.value("CNNs+ATT", 1, ON_H._replace(partner="CNNs+ATT+F")).point == 1


def test_runs_that_diverged_or_belong_to_the_grid_are_not_in_the_sample() -> None:
    runs = [make_result("CNNs+ATT+LD", seed) for seed in (1, 2)]
    broken = RunResult(**(vars(runs[1]) | {"status": "diverged"}))
    sample = Sample([runs[0], broken, make_result("CNNs+ATT+LD", 3, label="lambda-10")])
    assert sample.seeds(["CNNs+ATT+LD"]) == [1]
    assert sample.value("CNNs+ATT+LD", 1, Measure(AREA)).point == runs[0].test[AREA]
