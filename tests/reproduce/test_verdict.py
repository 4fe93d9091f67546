from hypothesis import given
from hypothesis import strategies as st

from sayso.reproduce.contrast import Estimated
from sayso.reproduce.verdict import HELD, NOT_HELD, UNDECIDED, is_as_claimed, verdict

numbers = st.floats(-1, 1)
widths = st.floats(0, 1)
senses = st.sampled_from(["raises", "alike", "some"])


def estimated(value: float, width: float = 0.1, num_seeds: int = 3) -> Estimated:
    return Estimated(name="", value=value, low=value - width, high=value + width, num_seeds=num_seeds)


@st.composite
def estimates(draw: st.DrawFn) -> Estimated:
    return estimated(draw(numbers), draw(widths))


some = st.lists(estimates(), min_size=1, max_size=5)


@given(estimates(), some)
def test_a_rise_is_held_only_above_nothing_and_without_a_fall(mean: Estimated, singles: list[Estimated]) -> None:
    found = verdict("raises", mean, singles)
    assert (found == HELD) == (mean.low > 0 and all(each.high >= 0 for each in singles))
    assert (found == NOT_HELD) == (mean.high < 0 or any(each.high < 0 for each in singles))


@given(estimates(), some)
def test_a_rise_and_the_same_as_a_fall_are_never_both_held(mean: Estimated, singles: list[Estimated]) -> None:
    def turned(each: Estimated) -> Estimated:
        return Estimated(name="", value=-each.value, low=-each.high, high=-each.low, num_seeds=each.num_seeds)

    both = verdict("raises", mean, singles), verdict("raises", turned(mean), [turned(each) for each in singles])
    assert both.count(HELD) <= 1


@given(senses, st.floats(0, 0.5), estimates(), some)
def test_wider_intervals_never_decide_what_narrower_ones_do_not(
    sense, margin: float, mean: Estimated, singles: list[Estimated]
) -> None:
    def wider(each: Estimated) -> Estimated:
        return Estimated(name="", value=each.value, low=each.low - 1, high=each.high + 1, num_seeds=each.num_seeds)

    narrow = verdict(sense, mean, singles, margin)
    wide = verdict(sense, wider(mean), [wider(each) for each in singles], margin)
    assert wide in (narrow, UNDECIDED)


@given(senses, some)
def test_one_seed_decides_nothing(sense, singles: list[Estimated]) -> None:
    assert verdict(sense, estimated(0.5, 0.1, num_seeds=1), singles, 0.1) == UNDECIDED


def test_gains_are_alike_within_the_margin_and_not_beyond() -> None:
    assert verdict("alike", estimated(0.0, 0.05), [estimated(0.0, 0.2)], margin=0.1) == HELD
    assert verdict("alike", estimated(0.08, 0.05), [estimated(0.08, 0.2)], margin=0.1) == UNDECIDED
    assert verdict("alike", estimated(0.0, 0.05), [estimated(-0.4, 0.2)], margin=0.1) == NOT_HELD


def test_one_clear_case_is_enough_for_some_and_none_at_all_refutes_it() -> None:
    mean = estimated(0.0)
    assert verdict("some", mean, [estimated(-0.5), estimated(0.3)]) == HELD
    assert verdict("some", mean, [estimated(-0.5), estimated(0.05)]) == UNDECIDED
    assert verdict("some", mean, [estimated(-0.5), estimated(-0.05)]) == NOT_HELD


@given(senses, numbers, st.floats(0.01, 1))
def test_a_value_far_on_the_claimed_side_is_as_claimed(sense, value: float, margin: float) -> None:
    assert is_as_claimed(sense, value, margin) == (abs(value) <= margin if sense == "alike" else value > 0)
