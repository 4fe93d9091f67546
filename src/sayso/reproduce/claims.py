"""The paper's claims and their outcomes; each claim is measured in one or more ways by contrasts between variants.

A contrast is signed so that a value above 0 agrees with the paper. The mean of a claim's contrasts has a 95 %
interval; the intervals of the individual contrasts have a joint level of 95 % (Bonferroni).

- *raises*: supported if the mean's interval lies above 0 and no contrast's interval lies below 0; contradicted if
  the mean's interval or a contrast's interval lies below 0.
- *alike*: supported if the mean's interval lies within the margin and no contrast's interval lies outside it;
  contradicted if the mean's interval or a contrast's interval lies outside it.
- *some*: supported if at least one contrast's interval lies above 0; contradicted if no contrast is above 0.

Everything else is inconclusive, as is every claim with fewer than two seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from sayso.reproduce.contrast import (
    AREA,
    LEVEL,
    PRECISION,
    TAU,
    Contrast,
    ContrastEstimate,
    Measure,
    Sample,
    Term,
    estimate,
)
from sayso.reproduce.paper import AREAS, ENTITIES, MECHANISMS, NINE, tau_of

SUPPORTED, CONTRADICTED, INCONCLUSIVE = "supported", "contradicted", "inconclusive"
Sense = Literal["raises", "alike", "some"]
VariantPair = tuple[str, str]

F_STEPS: tuple[VariantPair, ...] = (
    ("CNNs+ATT", "CNNs+ATT+F"),
    ("DirectSup", "DirectSup+F"),
    ("CNNs+ATT+LD", "CNNs+ATT+F+LD"),
)
FE_STEPS: tuple[VariantPair, ...] = (("CNNs+ATT", "CNNs+ATT+FE"), ("DirectSup", "DirectSup+FE"))
FE_OVER_F: tuple[VariantPair, ...] = (("CNNs+ATT+F", "CNNs+ATT+FE"), ("DirectSup+F", "DirectSup+FE"))
LD_STEPS: tuple[VariantPair, ...] = (
    ("CNNs+ATT", "CNNs+ATT+LD"),
    ("CNNs+ATT+F", "CNNs+ATT+F+LD"),
    ("DirectSup+F", "DirectSup+F+LD"),
)
"""Pairs of variants that differ in one feature: without it, with it."""

AREA_NAMES = {AREA: "AUC@0.4", PRECISION: "average precision"}
MARGINS = {AREA: 0.01, PRECISION: 0.025}
"""Gains that differ by no more than this are alike: 2.5 % of the metric's maximum."""


class Reading(NamedTuple):
    """One way to measure a claim; `in_paper` are the contrasts to apply to the paper's own values, if not the same."""

    name: str
    contrasts: list[Contrast]
    margin: float = 0.0
    in_paper: list[Contrast] | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """The outcome of a claim in one reading, with the mean of its contrasts and each contrast.

    `paper` is how many contrasts agree with the claim in the paper's own tables, and how many these have values for.
    """

    claim: str
    reading: str
    outcome: str
    sense: Sense
    mean: ContrastEstimate | None
    singles: list[ContrastEstimate]
    num_as_claimed: int
    num_missing: int
    paper: tuple[int, int]


def check_claims(sample: Sample, mark_sets: Sequence[str]) -> list[ClaimResult]:
    """Return every claim in every reading, in the paper's order; a claim without values is inconclusive."""
    return [
        _check(sample, claim, sense, reading)
        for claim, sense, readings in _claims(sample, mark_sets)
        for reading in readings
    ]


def _check(sample: Sample, claim: str, sense: Sense, reading: Reading) -> ClaimResult:
    level = 1 - (1 - LEVEL) / max(1, len(reading.contrasts))
    tried = [(each, estimate(sample, [each], each.name, level)) for each in reading.contrasts]
    known = [(contrast, found) for contrast, found in tried if found is not None]
    singles = [found for _, found in known]
    mean = estimate(sample, [contrast for contrast, _ in known], claim) if known else None
    as_claimed = [is_as_claimed(sense, found.value, reading.margin) for found in singles]
    return ClaimResult(
        claim=claim,
        reading=reading.name,
        outcome=INCONCLUSIVE if mean is None else outcome_of(sense, mean, singles, reading.margin),
        sense=sense,
        mean=mean,
        singles=singles,
        num_as_claimed=sum(as_claimed),
        num_missing=len(tried) - len(known),
        paper=_in_paper(sense, reading),
    )


def outcome_of(sense: Sense, mean: ContrastEstimate, singles: Sequence[ContrastEstimate], margin: float = 0.0) -> str:
    """Return whether a claim is supported, contradicted or inconclusive."""
    if min(each.num_seeds for each in (mean, *singles)) < 2:
        return INCONCLUSIVE
    if sense == "raises":
        is_supported, is_contradicted = mean.low > 0, any(each.high < 0 for each in (mean, *singles))
    elif sense == "alike":
        is_supported = -margin <= mean.low and mean.high <= margin
        is_contradicted = any(each.low > margin or each.high < -margin for each in (mean, *singles))
    else:
        is_supported = any(each.low > 0 for each in singles)
        is_contradicted = not any(each.value > 0 for each in singles)
    return CONTRADICTED if is_contradicted else SUPPORTED if is_supported else INCONCLUSIVE


def is_as_claimed(sense: Sense, value: float, margin: float = 0.0) -> bool:
    """Return whether a value, regardless of its interval, agrees with the claim."""
    return abs(value) <= margin if sense == "alike" else value > 0


def _claims(sample: Sample, mark_sets: Sequence[str]) -> Iterator[tuple[str, Sense, list[Reading]]]:
    yield "F raises AUC", "raises", _by_area(lambda kind: _steps(F_STEPS, Measure(kind)))
    yield "FE raises AUC more than F", "raises", _by_area(lambda kind: _steps(FE_OVER_F, Measure(kind)))
    yield "+E raises AUC everywhere", "raises", _by_area(_entities)
    yield "LD raises AUC", "raises", _by_area(lambda kind: _steps(LD_STEPS, Measure(kind)))
    yield "Gains of F are alike with and without +E", "alike", _by_area(lambda kind: _gains(F_STEPS, kind))
    yield "Gains of LD are alike with and without +E", "alike", _by_area(lambda kind: _gains(LD_STEPS, kind))
    yield "F raises τ on H for every mechanism", "raises", _by_marks(mark_sets, F_STEPS, tuple(MECHANISMS))
    yield "FE lowers τ on H", "raises", _by_marks(mark_sets, FE_STEPS, tuple(MECHANISMS), -1.0)
    yield "FE has lower τ on H than F", "raises", _by_marks(mark_sets, FE_OVER_F, tuple(MECHANISMS), -1.0)
    kept = ("saliency", "gradient_x_input", "attention")
    yield "LD raises τ on H for S, GI and α", "raises", _by_marks(mark_sets, LD_STEPS, kept)
    yield "τ on H exceeds τ on L", "raises", [_bands(marks, ending) for marks, ending in _places(mark_sets)]
    some = [_better_explained(sample, marks, ending) for marks, ending in _places(mark_sets)]
    yield "The most accurate model is not always the best explained", "some", some


def _by_area(contrasts: Callable[[str], list[Contrast]]) -> list[Reading]:
    return [Reading(name, contrasts(kind), MARGINS[kind]) for kind, name in AREA_NAMES.items()]


def _by_marks(
    mark_sets: Sequence[str], pairs: Sequence[VariantPair], mechanisms: Sequence[str], sign: float = 1.0
) -> list[Reading]:
    """Return readings per set of marks, without and with +E: on each model's own H, and on the facts in H for both."""
    readings = []
    for marks, ending in _places(mark_sets):
        own, shared = [], []
        for low, high in ((low + ending, high + ending) for low, high in pairs):
            for mechanism in mechanisms:
                measure, about = Measure(TAU, marks, mechanism, "H"), f", {MECHANISMS[mechanism]}"
                own.append(_minus(high, low, measure, measure, sign, about))
                both = measure._replace(partner=low), measure._replace(partner=high)
                shared.append(_minus(high, low, *both, sign, about))
        name = _place_name(marks, ending)
        readings.append(Reading(f"{name}; each model on its own H", own))
        readings.append(Reading(f"{name}; on the facts in H for both models", shared))
    return readings


def _places(mark_sets: Sequence[str]) -> list[tuple[str, str]]:
    return [(marks, ending) for ending in ("", ENTITIES) for marks in mark_sets]


def _place_name(marks: str, ending: str) -> str:
    return f"τ; marks: {marks}; {ending or '−E'}"


def _minus(high: str, low: str, of_high: Measure, of_low: Measure, sign: float = 1.0, about: str = "") -> Contrast:
    """Return one variant's metric minus another's; a negative sign reverses it, for claims that say lower."""
    names = (high, low) if sign > 0 else (low, high)
    return Contrast(f"{names[0]} − {names[1]}{about}", (Term(sign, high, of_high), Term(-sign, low, of_low)))


def _steps(pairs: Sequence[VariantPair], measure: Measure) -> list[Contrast]:
    return [_minus(high + ending, low + ending, measure, measure) for ending in ("", ENTITIES) for low, high in pairs]


def _entities(kind: str) -> list[Contrast]:
    return [_minus(name + ENTITIES, name, Measure(kind), Measure(kind)) for name in NINE]


def _gains(pairs: Sequence[VariantPair], kind: str) -> list[Contrast]:
    """Return the gain with entity vectors minus the gain without them."""
    contrasts = []
    for low, high in pairs:
        without, with_entities = _steps([(low, high)], Measure(kind))
        reversed_terms = tuple(term._replace(weight=-term.weight) for term in without.terms)
        contrasts.append(Contrast(f"({with_entities.name}) − ({without.name})", with_entities.terms + reversed_terms))
    return contrasts


def _bands(marks: str, ending: str) -> Reading:
    contrasts = []
    for name in (name + ending for name in NINE):
        for mechanism, short in MECHANISMS.items():
            high, low = (Measure(TAU, marks, mechanism, band) for band in ("H", "L"))
            contrasts.append(Contrast(f"{name}, {short}: H − L", (Term(1.0, name, high), Term(-1.0, name, low))))
    return Reading(_place_name(marks, ending), contrasts)


def _better_explained(sample: Sample, marks: str, ending: str) -> Reading:
    """Return every other variant's τ minus that of the most accurate one."""
    names = [name + ending for name in NINE]
    ours = {name: _accuracy(sample, name) for name in names if sample.seeds([name])}
    printed = {name: (area, 0.0) for name in names if (area := AREAS[name]) is not None}
    best = f" than {max(ours, key=ours.__getitem__)}" if ours else ""
    contrasts, in_paper = (_others(marks, names, accuracies) for accuracies in (ours, printed))
    return Reading(f"{_place_name(marks, ending)}; better on H{best}", contrasts, in_paper=in_paper)


def _others(marks: str, names: Sequence[str], accuracies: dict[str, tuple[float, float]]) -> list[Contrast]:
    if not accuracies:
        return []
    best = max(accuracies, key=accuracies.__getitem__)
    return [
        _minus(name, best, Measure(TAU, marks, mechanism, "H"), Measure(TAU, marks, mechanism, "H"), 1.0, f", {short}")
        for name in names
        if name != best
        for mechanism, short in MECHANISMS.items()
    ]


def _accuracy(sample: Sample, variant: str) -> tuple[float, float]:
    """Return the sort key of a variant: AUC@0.4 as printed, then average precision, which never saturates."""
    runs = sample.of_variant(variant)
    area, precision = (sum(float(run.test[kind]) for run in runs) / len(runs) for kind in (AREA, PRECISION))
    return round(100 * area, 1), precision


def _in_paper(sense: Sense, reading: Reading) -> tuple[int, int]:
    """Return how many contrasts agree with the claim in the paper's tables, and how many these have values for."""
    contrasts = reading.contrasts if reading.in_paper is None else reading.in_paper
    values = [value for each in contrasts if (value := _paper_value(each)) is not None]
    # The paper prints two or three digits, so sums are rounded well below that.
    return sum(is_as_claimed(sense, round(value, 6), reading.margin) for value in values), len(values)


def _paper_value(contrast: Contrast) -> float | None:
    total = 0.0
    for weight, variant, measure in contrast.terms:
        area = AREAS[variant] if measure.kind == AREA else None
        figure = tau_of(variant, measure.mechanism, measure.band) if measure.kind == TAU else area
        if figure is None or measure.partner:
            return None
        total += weight * (figure / 100 if measure.kind == AREA else figure)
    return total
