from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduce.toy_results import diverged, make_results
from sayso.reproduce.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    SUPPORTED,
    ClaimResult,
    check_claims,
    is_as_claimed,
    outcome_of,
)
from sayso.reproduce.contrast import AREA, PRECISION, Sample
from sayso.reproduce.contrast import ContrastEstimate as Estimate
from sayso.reproduce.paper import features_of

F_RAISES, LD_RAISES, E_RAISES = "F raises AUC", "LD raises AUC", "+E raises AUC everywhere"


@pytest.fixture(scope="module")
def plain() -> list[ClaimResult]:
    """All claims on runs without differences."""
    return check_claims(Sample(make_results(tau=lambda _: 0.0).values()), ["readers"])


def judged(results, claim: str, reading: str) -> ClaimResult:
    found = check_claims(Sample(results.values()), ["readers"])
    return next(each for each in found if each.claim == claim and each.reading.startswith(reading))


def test_a_gain_of_two_points_is_supported_and_a_loss_is_not() -> None:
    results = make_results(
        area=lambda name: 0.3 + 0.02 * ("F" in features_of(name)) - 0.02 * ("LD" in features_of(name))
    )
    gain, loss = judged(results, F_RAISES, "AUC"), judged(results, LD_RAISES, "AUC")
    assert (gain.outcome, loss.outcome) == (SUPPORTED, CONTRADICTED)
    assert gain.mean.value == pytest.approx(0.02, abs=0.004)
    assert (gain.num_as_claimed, loss.num_as_claimed) == (6, 0)


def test_without_a_difference_nothing_is_supported(plain: list[ClaimResult]) -> None:
    assert {each.claim for each in plain if each.outcome == SUPPORTED} <= {
        "Gains of F are alike with and without +E",
        "Gains of LD are alike with and without +E",
    }


def test_one_clear_exception_contradicts_a_claim_about_all() -> None:
    def area(name: str) -> float:
        return (
            0.3
            + (0.05 if name.endswith("+E") and name != "DirectSup+FE+E" else 0.0)
            - 0.05 * (name == "DirectSup+FE+E")
        )

    found = judged(make_results(area=area), E_RAISES, "AUC")
    assert found.mean.low > 0
    assert found.outcome == CONTRADICTED


def test_gains_that_differ_by_five_points_are_not_alike() -> None:
    results = make_results(area=lambda name: 0.3 + 0.05 * ({"F", "E"} <= set(features_of(name))))
    assert judged(results, "Gains of F are alike with and without +E", "AUC").outcome == CONTRADICTED


def test_a_lower_tau_with_fe_supports_the_claim() -> None:
    results = make_results(tau=lambda name: 0.1 if "FE" in features_of(name) else 0.6)
    for reading in (
        "τ; marks: readers; −E; each",
        "τ; marks: readers; −E; on the facts in H",
        "τ; marks: readers; +E; each",
    ):
        assert judged(results, "FE lowers τ on H", reading).outcome == SUPPORTED


def test_tau_on_high_and_low_are_compared_within_a_model() -> None:
    found = judged(make_results(tau=lambda _: 0.5), "τ on H exceeds τ on L", "τ; marks: readers; −E")
    assert found.outcome == SUPPORTED
    assert len(found.singles) == 36


def test_the_most_accurate_model_need_not_be_the_best_explained() -> None:
    claim = "The most accurate model is not always the best explained"
    apart = make_results(
        area=lambda name: 0.35 if name == "DirectSup" else 0.3, tau=lambda name: 0.8 if name == "CNNs+ATT" else 0.2
    )
    alike = make_results(
        area=lambda name: 0.35 if name == "DirectSup" else 0.3, tau=lambda name: 0.8 if name == "DirectSup" else 0.2
    )
    assert judged(apart, claim, "τ; marks: readers; −E").outcome == SUPPORTED
    assert judged(alike, claim, "τ; marks: readers; −E").outcome == CONTRADICTED


def test_equal_printed_areas_are_ordered_by_average_precision() -> None:
    results = make_results()
    for key, run in results.items():
        area, precision = (0.3999, 0.9) if run.variant == "CNNs+ATT" else (0.4, 0.8)
        results[key] = replace(run, test=run.test | {AREA: area, PRECISION: precision})
    found = check_claims(Sample(results.values()), ["readers"])
    names = [each.reading for each in found if each.claim.startswith("The most accurate")]
    assert names[0] == "τ; marks: readers; −E; better on H than CNNs+ATT"


def test_a_diverged_run_is_left_out_and_its_pairs_have_one_seed_less() -> None:
    results = make_results()
    results["cnns_att-seed-14"] = diverged(results["cnns_att-seed-14"])
    found = judged(results, F_RAISES, "AUC")
    assert [each.num_seeds for each in found.singles] == [2, 3, 3, 3, 3, 3]
    assert found.mean.num_seeds == 2


def test_missing_variants_are_counted() -> None:
    results = {key: run for key, run in make_results().items() if not run.variant.startswith("DirectSup")}
    found = judged(results, F_RAISES, "AUC")
    assert (len(found.singles), found.num_missing) == (4, 2)


def test_a_claim_about_missing_runs_is_inconclusive(plain: list[ClaimResult]) -> None:
    results = {key: run for key, run in make_results().items() if run.variant == "CNNs+ATT"}
    found = check_claims(Sample(results.values()), ["readers"])
    assert [each.claim for each in found] == [each.claim for each in plain]
    missing = [each for each in found if not each.singles]
    assert {each.claim for each in found if each.singles} == {"τ on H exceeds τ on L"}
    assert {(each.outcome, each.mean) for each in missing} == {(INCONCLUSIVE, None)}


def test_one_seed_leaves_everything_inconclusive() -> None:
    found = check_claims(Sample(make_results(area=lambda name: 0.1 * len(name), num_seeds=1).values()), ["readers"])
    assert {each.outcome for each in found} == {INCONCLUSIVE}


@pytest.mark.parametrize(
    ("claim", "counts"),
    [
        ("F raises AUC", (5, 5)),
        ("FE raises AUC more than F", (4, 4)),
        ("+E raises AUC everywhere", (8, 8)),
        ("LD raises AUC", (5, 5)),
        ("F raises τ on H for every mechanism", (12, 12)),
        ("FE lowers τ on H", (4, 8)),
        # LD lowers α on H for CNNs+ATT and CNNs+ATT+F.
        ("LD raises τ on H for S, GI and α", (7, 9)),
        # S of DirectSup is higher on L.
        ("τ on H exceeds τ on L", (35, 36)),
    ],
)
def test_the_papers_own_table_supports_this_many_differences(
    plain: list[ClaimResult], claim: str, counts: tuple[int, int]
) -> None:
    assert next(each for each in plain if each.claim == claim).paper == counts


numbers = st.floats(-1, 1)
widths = st.floats(0, 1)
senses = st.sampled_from(["raises", "alike", "some"])


def estimated(value: float, width: float = 0.1, num_seeds: int = 3) -> Estimate:
    return Estimate(name="", value=value, low=value - width, high=value + width, num_seeds=num_seeds)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    return estimated(draw(numbers), draw(widths))


some = st.lists(estimates(), min_size=1, max_size=5)


@given(estimates(), some)
def test_a_rise_is_supported_only_above_0_and_without_a_fall(mean: Estimate, singles: list[Estimate]) -> None:
    found = outcome_of("raises", mean, singles)
    assert (found == SUPPORTED) == (mean.low > 0 and all(each.high >= 0 for each in singles))
    assert (found == CONTRADICTED) == (mean.high < 0 or any(each.high < 0 for each in singles))


@given(estimates(), some)
def test_a_rise_and_the_same_as_a_fall_are_never_both_supported(mean: Estimate, singles: list[Estimate]) -> None:
    def mirrored(each: Estimate) -> Estimate:
        return Estimate(name="", value=-each.value, low=-each.high, high=-each.low, num_seeds=each.num_seeds)

    both = (
        outcome_of("raises", mean, singles),
        outcome_of("raises", mirrored(mean), [mirrored(each) for each in singles]),
    )
    assert both.count(SUPPORTED) <= 1


@given(senses, st.floats(0, 0.5), estimates(), some)
def test_wider_intervals_never_decide_what_narrower_ones_do_not(
    sense, margin: float, mean: Estimate, singles: list[Estimate]
) -> None:
    def wider(each: Estimate) -> Estimate:
        return Estimate(name="", value=each.value, low=each.low - 1, high=each.high + 1, num_seeds=each.num_seeds)

    narrow = outcome_of(sense, mean, singles, margin)
    wide = outcome_of(sense, wider(mean), [wider(each) for each in singles], margin)
    assert wide in (narrow, INCONCLUSIVE)


@given(senses, some)
def test_one_seed_decides_nothing(sense, singles: list[Estimate]) -> None:
    assert outcome_of(sense, estimated(0.5, 0.1, num_seeds=1), singles, 0.1) == INCONCLUSIVE


def test_gains_are_alike_within_the_margin_and_not_beyond() -> None:
    assert outcome_of("alike", estimated(0.0, 0.05), [estimated(0.0, 0.2)], margin=0.1) == SUPPORTED
    assert outcome_of("alike", estimated(0.08, 0.05), [estimated(0.08, 0.2)], margin=0.1) == INCONCLUSIVE
    assert outcome_of("alike", estimated(0.0, 0.05), [estimated(-0.4, 0.2)], margin=0.1) == CONTRADICTED


def test_one_clear_case_supports_some_and_no_case_contradicts_it() -> None:
    mean = estimated(0.0)
    assert outcome_of("some", mean, [estimated(-0.5), estimated(0.3)]) == SUPPORTED
    assert outcome_of("some", mean, [estimated(-0.5), estimated(0.05)]) == INCONCLUSIVE
    assert outcome_of("some", mean, [estimated(-0.5), estimated(-0.05)]) == CONTRADICTED


@given(senses, numbers, st.floats(0.01, 1))
def test_a_value_far_on_the_claimed_side_is_as_claimed(sense, value: float, margin: float) -> None:
    assert is_as_claimed(sense, value, margin) == (abs(value) <= margin if sense == "alike" else value > 0)
