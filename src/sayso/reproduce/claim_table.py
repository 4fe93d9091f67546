"""The verdicts on the paper's claims as tables."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sayso.reproduce.block import Cell, Table
from sayso.reproduce.claims import AREA_NAMES, MARGINS
from sayso.reproduce.sample import AREA, PRECISION
from sayso.reproduce.tables import Summary, interval
from sayso.reproduce.verdict import HELD, NOT_HELD, UNDECIDED

RULE = (
    "Each claim is a list of differences between two variants, taken seed by seed and written so that above 0 is what"
    " the paper says. Intervals hold 95 % and know of both other seeds and other test pairs: the variance of the mean"
    " over seeds and the bootstrap variance over pairs add up, and Student's quantile has Welch and Satterthwaite's"
    " degrees of freedom. A claim is held if the interval of the mean difference lies above 0 and that of no single"
    " difference below 0; not held if the mean's interval, or that of a single difference, lies below 0; else"
    " undecided. Intervals of the single differences are widened for their number (Bonferroni). That gains are alike is"
    f" held if the mean's interval lies within ±{100 * MARGINS[AREA]:g} point of AUC@0.4"
    f" (±{100 * MARGINS[PRECISION]:g} of average precision), and not held if an interval lies wholly outside. That the"
    " most accurate model is not always the best explained is held if some other variant's τ on H is higher with its"
    " widened interval above 0, and not held if none is higher; the most accurate has the highest AUC@0.4 or, where"
    " several have the same to one digit, of those the highest average precision. With fewer than two seeds every claim"
    " is undecided. Verdicts on what is to be so everywhere, for every mechanism, or alike come from the mean of signed"
    " differences, in which a gain and a loss cancel: they do not speak of each difference, and are marked so until"
    " they are judged by all of them. The last column takes the same differences of the figures that the paper itself"
    " prints."
)

_COLUMNS = ["claim", "verdict", "mean difference", "as claimed", "in the paper"]
_TONES: dict[str, Literal["", "good", "bad"]] = {HELD: "good", NOT_HELD: "bad", UNDECIDED: ""}


def claim_tables(summary: Summary) -> list[Table]:
    """Return the claims as the paper reads them, then in every reading, then each difference of the first readings."""
    claims: Sequence[Mapping[str, Any]] = summary["claims"]
    before = [None, *(row["claim"] for row in claims)]
    first = [row for row, claim in zip(claims, before, strict=False) if row["claim"] != claim]
    name = summary["name"]
    return [
        Table(f"The paper's claims on {name}", _COLUMNS, [_row(row) for row in first], num_text=2),
        Table(
            f"The claims in every reading, {name}", _COLUMNS, [_row(row) for row in claims], is_folded=True, num_text=2
        ),
        Table(
            f"Each difference of the first readings, {name}",
            ["claim", "difference", "value", "widened interval"],
            [_single_row(row, single) for row in first for single in row["singles"]],
            is_folded=True,
            num_text=2,
        ),
    ]


def _row(row: Mapping[str, Any]) -> list[Cell]:
    scale, digits = _scale(row)
    is_some = row["sense"] == "some" and row["singles"]
    shown = max(row["singles"], key=lambda each: each["value"]) if is_some else row["mean"]
    value = "–" if shown is None else signed(scale * shown["value"], digits)
    remark = "" if shown is None else interval(shown, scale, digits)
    paper = row["paper"]
    return [
        Cell(row["claim"], row["reading"] + (f"; most: {shown['name']}" if is_some else "")),
        Cell(row["verdict"], _refuted_by(row) or _by_mean(row), _tone(row)),
        Cell(value, remark),
        Cell(_share(row["num_as_claimed"], len(row["singles"])), f"{n} left out" if (n := row["num_missing"]) else ""),
        Cell(_share(paper["num_as_claimed"], paper["num"])),
    ]


def _tone(row: Mapping[str, Any]) -> Literal["", "good", "bad"]:
    return "" if _by_mean(row) else _TONES[row["verdict"]]


def _by_mean(row: Mapping[str, Any]) -> str:
    """Return the mark of a verdict that speaks of all differences but comes from the mean of them."""
    speaks_of_all = row["sense"] == "alike" or any(words in row["claim"] for words in ("everywhere", "for every"))
    return "from the mean of signed differences, to be judged again" if speaks_of_all and not _refuted_by(row) else ""


def _refuted_by(row: Mapping[str, Any]) -> str:
    """Return the single difference for which a claim is not held where the mean's interval does not say so."""
    if row["verdict"] != NOT_HELD or row["sense"] == "some" or _beyond(row, row["mean"]) > 0:
        return ""
    return "by " + str(max(row["singles"], key=lambda single: _beyond(row, single))["name"])


def _beyond(row: Mapping[str, Any], found: Mapping[str, Any]) -> float:
    """Return how far an interval lies from what is claimed; not above 0 where it does not refute the claim."""
    low = -math.inf if found["low"] is None else found["low"]
    high = math.inf if found["high"] is None else found["high"]
    if row["sense"] == "alike":
        margin = next(MARGINS[kind] for kind, name in AREA_NAMES.items() if name == row["reading"])
        return float(max(low - margin, -margin - high))
    return float(-high)


def _share(num: int, of: int) -> str:
    return f"{num} of {of}" if of else "–"


def _single_row(row: Mapping[str, Any], single: Mapping[str, Any]) -> list[Cell]:
    scale, digits = _scale(row)
    value = signed(scale * single["value"], digits)
    return [Cell(row["claim"]), Cell(single["name"]), Cell(value), Cell(interval(single, scale, digits) or "–")]


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; one that rounds to nothing has none.

    >>> signed(-0.004, 2), signed(0.25, 1)
    ('0.00', '+0.2')
    """
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0.0:.{digits}f}"


def _scale(row: Mapping[str, Any]) -> tuple[float, int]:
    """Return how a difference is printed: areas in points of 100, both with so many digits that the verdict shows."""
    return (100.0, 2) if row["reading"] in AREA_NAMES.values() else (1.0, 3)
