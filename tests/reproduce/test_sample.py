import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduce.toy_outcomes import NUM_RESAMPLES, make_outcome
from sayso.metrics.kendall import HIGH, tau_figures
from sayso.metrics.marked import MarkedFacts
from sayso.reproduce.assess import fact_orders
from sayso.reproduce.outcome import Outcome
from sayso.reproduce.sample import AREA, TAU, Measure, Sample

ON_H = Measure(TAU, "people", "attention", "H")


def outcome_of(facts: MarkedFacts, variant: str = "CNNs+ATT") -> Outcome:
    outcome = make_outcome(variant, seed=1)
    return Outcome(**(vars(outcome) | {"orders": {"people": fact_orders({"attention": facts})}}))


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
def test_tau_of_an_outcome_is_that_of_the_marked_facts(facts: MarkedFacts) -> None:
    wanted = tau_figures(facts, HIGH, num_resamples=0).pooled
    found = Sample([outcome_of(facts)]).value("CNNs+ATT", 1, ON_H).point
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
    resampled_K = Sample([outcome_of(facts)]).value("CNNs+ATT", 1, ON_H).resampled_K
    assert len(resampled_K) == NUM_RESAMPLES
    low, high = tau_figures(facts, HIGH).interval
    assert np.quantile(resampled_K, [0.025, 0.975]) == pytest.approx([low, high], abs=0.05)


def test_with_a_partner_only_facts_count_that_both_hold_probable() -> None:
    def facts(probabilities: list[float]) -> MarkedFacts:
        return MarkedFacts(
            score_N=np.array([2.0, 1.0, 1.0, 2.0]),
            mark_N=np.array([1, 0, 1, 0]),
            start_F1=np.array([0, 2, 4]),
            bag_F=np.array([0, 1]),
            probability_F=np.array(probabilities),
        )

    sample = Sample([outcome_of(facts([0.9, 0.9])), outcome_of(facts([0.9, 0.1]), "CNNs+ATT+F")])
    assert sample.value("CNNs+ATT", 1, ON_H).point == 0
    assert sample.value("CNNs+ATT", 1, ON_H._replace(partner="CNNs+ATT+F")).point == 1


def test_runs_that_diverged_or_belong_to_the_grid_are_not_in_the_sample() -> None:
    runs = [make_outcome("CNNs+ATT+LD", seed) for seed in (1, 2)]
    broken = Outcome(**(vars(runs[1]) | {"status": "diverged"}))
    sample = Sample([runs[0], broken, make_outcome("CNNs+ATT+LD", 3, label="lambda-10")])
    assert sample.seeds(["CNNs+ATT+LD"]) == [1]
    assert sample.value("CNNs+ATT+LD", 1, Measure(AREA)).point == runs[0].test[AREA]
