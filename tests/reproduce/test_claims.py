from dataclasses import replace

import pytest

from reproduce.toy_outcomes import diverged, make_outcomes
from sayso.reproduce.claims import Judged, judge_claims
from sayso.reproduce.sample import AREA, PRECISION, Sample
from sayso.reproduce.variant import features_of
from sayso.reproduce.verdict import HELD, NOT_HELD, UNDECIDED

F_RAISES, LD_RAISES, E_RAISES = "F raises AUC", "LD raises AUC", "+E raises AUC everywhere"


@pytest.fixture(scope="module")
def plain() -> list[Judged]:
    """All claims on runs of which none is better, or better explained, than another."""
    return judge_claims(Sample(make_outcomes(tau=lambda _: 0.0).values()), ["readers"])


def judged(outcomes, claim: str, reading: str) -> Judged:
    found = judge_claims(Sample(outcomes.values()), ["readers"])
    return next(each for each in found if each.claim == claim and each.reading.startswith(reading))


def test_a_gain_of_two_points_is_held_and_a_loss_is_not() -> None:
    outcomes = make_outcomes(
        area=lambda name: 0.3 + 0.02 * ("F" in features_of(name)) - 0.02 * ("LD" in features_of(name))
    )
    gain, loss = judged(outcomes, F_RAISES, "AUC"), judged(outcomes, LD_RAISES, "AUC")
    assert (gain.verdict, loss.verdict) == (HELD, NOT_HELD)
    assert gain.mean.value == pytest.approx(0.02, abs=0.004)
    assert (gain.num_as_claimed, loss.num_as_claimed) == (6, 0)


def test_without_a_difference_nothing_is_held(plain: list[Judged]) -> None:
    assert {each.claim for each in plain if each.verdict == HELD} <= {
        "Gains of F are alike with and without +E",
        "Gains of LD are alike with and without +E",
    }


def test_one_clear_exception_refutes_everywhere() -> None:
    def area(name: str) -> float:
        return (
            0.3
            + (0.05 if name.endswith("+E") and name != "DirectSup+FE+E" else 0.0)
            - 0.05 * (name == "DirectSup+FE+E")
        )

    found = judged(make_outcomes(area=area), E_RAISES, "AUC")
    assert found.mean.low > 0
    assert found.verdict == NOT_HELD


def test_gains_that_differ_by_five_points_are_not_alike() -> None:
    outcomes = make_outcomes(area=lambda name: 0.3 + 0.05 * ({"F", "E"} <= set(features_of(name))))
    assert judged(outcomes, "Gains of F are alike with and without +E", "AUC").verdict == NOT_HELD


def test_lower_tau_is_what_fe_is_said_to_give() -> None:
    outcomes = make_outcomes(tau=lambda name: 0.1 if "FE" in features_of(name) else 0.6)
    for reading in ("τ by readers, −E, each", "τ by readers, −E, on the H of both", "τ by readers, +E, each"):
        assert judged(outcomes, "FE lowers τ on H", reading).verdict == HELD


def test_tau_on_high_and_low_are_compared_within_a_model() -> None:
    found = judged(make_outcomes(tau=lambda _: 0.5), "τ on H exceeds τ on L", "τ by readers, −E")
    assert found.verdict == HELD
    assert len(found.singles) == 36


def test_the_best_explained_model_may_be_another_than_the_most_accurate() -> None:
    claim = "The most accurate model is not always the best explained"
    apart = make_outcomes(
        area=lambda name: 0.35 if name == "DirectSup" else 0.3, tau=lambda name: 0.8 if name == "CNNs+ATT" else 0.2
    )
    alike = make_outcomes(
        area=lambda name: 0.35 if name == "DirectSup" else 0.3, tau=lambda name: 0.8 if name == "DirectSup" else 0.2
    )
    assert judged(apart, claim, "τ by readers, −E").verdict == HELD
    assert judged(alike, claim, "τ by readers, −E").verdict == NOT_HELD


def test_where_the_area_is_the_same_as_printed_average_precision_says_which_is_the_most_accurate() -> None:
    outcomes = make_outcomes()
    for key, run in outcomes.items():
        area, precision = (0.3999, 0.9) if run.variant == "CNNs+ATT" else (0.4, 0.8)
        outcomes[key] = replace(run, test=run.test | {AREA: area, PRECISION: precision})
    found = judge_claims(Sample(outcomes.values()), ["readers"])
    names = [each.reading for each in found if each.claim.startswith("The most accurate")]
    assert names[0] == "τ by readers, −E: better on H than CNNs+ATT"


def test_a_run_that_diverged_is_left_out_of_its_pairs_and_one_seed_less_is_said() -> None:
    outcomes = make_outcomes()
    outcomes["cnns_att-seed-14"] = diverged(outcomes["cnns_att-seed-14"])
    found = judged(outcomes, F_RAISES, "AUC")
    assert [each.num_seeds for each in found.singles] == [2, 3, 3, 3, 3, 3]
    assert found.mean.num_seeds == 2


def test_variants_that_are_not_there_are_counted_as_missing() -> None:
    outcomes = {key: run for key, run in make_outcomes().items() if not run.variant.startswith("DirectSup")}
    found = judged(outcomes, F_RAISES, "AUC")
    assert (len(found.singles), found.num_missing) == (4, 2)


def test_a_claim_about_runs_that_are_not_there_is_listed_as_undecided(plain: list[Judged]) -> None:
    outcomes = {key: run for key, run in make_outcomes().items() if run.variant == "CNNs+ATT"}
    found = judge_claims(Sample(outcomes.values()), ["readers"])
    assert [each.claim for each in found] == [each.claim for each in plain]
    missing = [each for each in found if not each.singles]
    assert {each.claim for each in found if each.singles} == {"τ on H exceeds τ on L"}
    assert {(each.verdict, each.mean) for each in missing} == {(UNDECIDED, None)}


def test_one_seed_leaves_everything_undecided() -> None:
    found = judge_claims(Sample(make_outcomes(area=lambda name: 0.1 * len(name), num_seeds=1).values()), ["readers"])
    assert {each.verdict for each in found} == {UNDECIDED}


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
def test_the_papers_own_table_bears_out_its_claims_so_far(
    plain: list[Judged], claim: str, counts: tuple[int, int]
) -> None:
    assert next(each for each in plain if each.claim == claim).paper == counts
