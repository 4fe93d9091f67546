"""The rule by which a claim is held, not held or undecided.

A claim is a list of contrasts, each written so that above 0 is what the paper says. The mean of all has a 95 %
interval; the single ones have intervals that hold all together with 95 % (Bonferroni).

- *raises*: held if the mean's interval lies above 0 and no single interval lies below 0; not held if the mean's
  interval or a single one lies below 0; else undecided.
- *alike*: held if the mean's interval lies within the margin and no single one lies outside of it; not held if the
  mean's or a single interval lies outside; else undecided.
- *some*: held if a single interval lies above 0; not held if no single value is above 0; else undecided.

With fewer than two seeds nothing is known of what another seed would give, and every claim is undecided.
"""

from collections.abc import Sequence
from typing import Literal

from sayso.reproduce.contrast import Estimated

HELD, NOT_HELD, UNDECIDED = "held", "not held", "undecided"
Sense = Literal["raises", "alike", "some"]


def verdict(sense: Sense, mean: Estimated, singles: Sequence[Estimated], margin: float = 0.0) -> str:
    """Return the verdict on a claim."""
    if min(each.num_seeds for each in (mean, *singles)) < 2:
        return UNDECIDED
    return {"raises": _raises, "alike": _alike, "some": _some}[sense](mean, singles, margin)


def is_as_claimed(sense: Sense, value: float, margin: float = 0.0) -> bool:
    """Return whether a value, its interval left aside, is what the claim says."""
    return abs(value) <= margin if sense == "alike" else value > 0


def _raises(mean: Estimated, singles: Sequence[Estimated], _: float) -> str:
    if mean.high < 0 or any(each.high < 0 for each in singles):
        return NOT_HELD
    return HELD if mean.low > 0 else UNDECIDED


def _alike(mean: Estimated, singles: Sequence[Estimated], margin: float) -> str:
    if any(each.low > margin or each.high < -margin for each in (mean, *singles)):
        return NOT_HELD
    return HELD if -margin <= mean.low and mean.high <= margin else UNDECIDED


def _some(_mean: Estimated, singles: Sequence[Estimated], _: float) -> str:
    if any(each.low > 0 for each in singles):
        return HELD
    return UNDECIDED if any(each.value > 0 for each in singles) else NOT_HELD
