"""The tables of a summary: the paper's three, the grid of λ and the claims, with the paper's values next to ours."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sayso.reproduce.block import Cell, Table
from sayso.reproduce.claims import AREA_NAMES, CONTRADICTED, INCONCLUSIVE, MARGINS, SUPPORTED
from sayso.reproduce.contrast import AREA, PRECISION
from sayso.reproduce.paper import COUNTS, DATA, ENTITIES, MECHANISMS, NINE

Summary = Mapping[str, Any]

RULE = (
    "Each claim is a list of differences between two variants, computed seed by seed and signed so that a value above 0"
    " agrees with the paper. All intervals are 95 % intervals and cover two sources of variance, seeds and test pairs:"
    " the variance of the mean over seeds and the bootstrap variance over pairs are added, and the t quantile uses"
    " Welch-Satterthwaite degrees of freedom. A claim is supported if the interval of the mean difference lies above 0"
    " and no interval of an individual difference lies below 0; contradicted if the interval of the mean or of an"
    " individual difference lies below 0; otherwise inconclusive. Intervals of individual differences are widened for"
    " multiple comparisons (Bonferroni). The claim that gains are alike is supported if the mean's interval lies within"
    f" ±{100 * MARGINS[AREA]:g} point of AUC@0.4 (±{100 * MARGINS[PRECISION]:g} of average precision), and contradicted"
    " if an interval lies entirely outside. The claim that the most accurate model is not always the best explained is"
    " supported if some other variant's τ on H is higher with its widened interval above 0, and contradicted if none is"
    " higher; the most accurate model has the highest AUC@0.4 to one digit, and ties are broken by average precision."
    " With fewer than two seeds, every claim is inconclusive. For claims about all variants, all mechanisms, or equal"
    " gains, the outcome comes from the mean of signed differences, in which gains and losses cancel out: it does not"
    " cover each difference, and is marked as such until each one is tested. The last column applies the same"
    " differences to the values that the paper itself prints."
)

_COLUMNS = ["claim", "outcome", "mean difference", "as claimed", "in the paper"]
_TONES: dict[str, Literal["", "good", "bad"]] = {SUPPORTED: "good", CONTRADICTED: "bad", INCONCLUSIVE: ""}
_MISSING = "–"


def data_table(summary: Summary) -> Table:
    """Return Table 1, the sizes of the parts."""
    rows = []
    for part, counts in summary["data"]["parts"].items():
        paper = COUNTS.get(part, {})
        negative = counts["bags"] - counts["positive_bags"]
        rows.append(
            [
                Cell(part),
                _counted(counts["sentences"], paper.get("sentences")),
                _counted(counts["positive_bags"], paper.get("positive") if part == "train" else None),
                _counted(counts["facts"], paper.get("positive") if part == "test" else None),
                _counted(negative, paper.get("negative")),
                _counted(counts["largest_bag"]),
            ]
        )
    note = (
        f"The paper's data: {DATA}. What it calls positive bags of the test part, we call facts (pair, relation). We"
        " count the distinct sentences of each pair; the paper counts lines."
    )
    columns = ["part", "sentences", "positive pairs", "facts", "NA pairs", "largest bag"]
    return Table(f"Table 1: the data, {summary['name']}", columns, rows, note)


def _counted(number: int, paper: int | None = None) -> Cell:
    return Cell(f"{number:,}", f"paper {paper:,}" if paper else "")


def extraction_table(summary: Summary) -> Table:
    """Return Table 2: AUC@0.4 and average precision, mean and standard deviation over seeds, times 100."""
    found = {row["variant"]: row for row in summary["extraction"]}
    columns = ["variant", *(f"{name} {end}" for name in ("AUC@0.4", "AP") for end in ("−E", "+E"))]
    rows = [
        [
            Cell(name),
            *(
                _area(found.get(name + end), kind, with_paper=kind == AREA)
                for kind in (AREA, PRECISION)
                for end in ("", ENTITIES)
            ),
        ]
        for name in NINE
        if name in found or name + ENTITIES in found
    ]
    rows += [_baseline(row) for row in summary.get("baselines", [])]
    note = (
        "Times 100; mean ± standard deviation over seeds. AUC@0.4 is the area up to recall 0.4, not divided by 0.4,"
        " so its maximum is 40. The paper's values are for its own data: see Table 1."
    )
    return Table(f"Table 2: extraction, {summary['name']}", columns, rows, note)


def _baseline(row: Mapping[str, Any]) -> list[Cell]:
    figures = [row["relations"][kind] for kind in (AREA, PRECISION)]
    area, precision = (Cell(_MISSING if value is None else f"{100 * value:.1f}") for value in figures)
    kind = "baseline" if row["reads_sentences"] else "baseline, no reading"
    return [Cell(row["baseline"], kind), area, Cell(_MISSING), precision, Cell(_MISSING)]


def _area(row: Mapping[str, Any] | None, kind: str, with_paper: bool) -> Cell:
    if row is None:
        return Cell(_MISSING)
    paper = f"paper {row['paper']:.1f}" if with_paper and row["paper"] is not None else ""
    return Cell(_spread(row[kind], 100, 1), paper)


def _spread(found: Mapping[str, Any], scale: float, digits: int) -> str:
    """Return mean ± standard deviation."""
    if found["mean"] is None:
        return _MISSING
    sd = "" if found["sd"] is None else f" ± {scale * found['sd']:.{digits}f}"
    return f"{scale * found['mean']:.{digits}f}{sd}"


def interval(found: Mapping[str, Any], scale: float = 1.0, digits: int = 2) -> str:
    """Return an interval as text; empty if there is none."""
    if found["low"] is None or found["high"] is None:
        return ""
    # Adding 0.0 turns −0.0 into 0.0.
    low, high = (round(scale * found[end], digits) + 0.0 for end in ("low", "high"))
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def explanation_tables(summary: Summary) -> list[Table]:
    """Return Table 3 per set of marks, without and with +E, each followed by a folded table with all values."""
    tables = []
    for marks in summary["marks"]:
        for ending in ("", ENTITIES):
            names = [name + ending for name in NINE]
            rows = [row for row in summary["explanation"] if row["marks"] == marks and row["variant"] in names]
            if rows:
                where = f"marks: {marks}; {ending or '−E'}; {summary['name']}"
                tables += [_tau_table(rows, where, ending), _tau_details(rows, where)]
    return tables


def _tau_table(rows: Sequence[Mapping[str, Any]], where: str, ending: str) -> Table:
    by_key = {(row["variant"], row["mechanism"], row["band"]): row for row in rows}
    columns = ["variant", "tuples H", "tuples L"]
    columns += [f"{short} {band}" for short in MECHANISMS.values() for band in ("H", "L")]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    body = [
        [
            Cell(name),
            *(_tuples(by_key[name, "attention", band]) for band in ("H", "L")),
            *(_tau(by_key[name, mechanism, band]) for mechanism in MECHANISMS for band in ("H", "L")),
        ]
        for name in variants
    ]
    note = (
        "Kendall τ between a mechanism's ranking of a bag's sentences and the marks, for facts with probability 0.76 to"
        " 1 (H) and 0 to 0.25 (L); mean ± standard deviation over seeds. Tuples and bags are means over seeds."
    )
    note += "" if ending else " The paper does not say whether its table is without +E."
    return Table(f"Table 3: explanations, {where}", columns, body, note)


def _tuples(row: Mapping[str, Any]) -> Cell:
    return Cell(f"{row['num_tuples']:,.0f}", f"{row['num_bags']:,.0f} bags")


def _tau(row: Mapping[str, Any]) -> Cell:
    return Cell(_spread(row, 1, 2), "" if row["paper"] is None else f"paper {row['paper']:.2f}")


def _tau_details(rows: Sequence[Mapping[str, Any]], where: str) -> Table:
    columns = ["variant", "mechanism", "band", "pooled τ", "95 % interval", "per-fact mean", "tuples", "bags", "paper"]
    body = [
        [
            Cell(row["variant"]),
            Cell(MECHANISMS[row["mechanism"]]),
            Cell(row["band"]),
            Cell(_spread(row, 1, 3)),
            Cell(interval(row, digits=3) or _MISSING),
            Cell(_MISSING if row["per_fact_mean"] is None else f"{row['per_fact_mean']:.3f}"),
            Cell(f"{row['num_tuples']:,.0f}"),
            Cell(f"{row['num_bags']:,.0f}"),
            Cell(_MISSING if row["paper"] is None else f"{row['paper']:.2f}"),
        ]
        for row in rows
    ]
    return Table(f"Table 3 in full: {where}", columns, body, "The interval covers seeds and bags.", is_folded=True)


def grid_table(summary: Summary) -> Table:
    """Return the validation metrics for each λ."""
    best = {
        variant: max(rows, key=lambda row: (row["validation"] or {}).get(AREA, -1.0))
        for variant in dict.fromkeys(row["variant"] for row in summary["grid"])
        for rows in ([row for row in summary["grid"] if row["variant"] == variant],)
    }
    rows = []
    for row in summary["grid"]:
        found = row["validation"] or {}
        figures = [Cell(f"{100 * found[kind]:.1f}" if kind in found else _MISSING) for kind in (AREA, PRECISION)]
        remark = "diverged" if row["is_diverged"] else "best AUC@0.4" if row is best[row["variant"]] else ""
        rows.append([Cell(row["variant"]), Cell(f"{row['distractor']:g}"), *figures, Cell(remark)])
    return Table(
        f"λ for learning from distractors, on validation, {summary['name']}",
        ["variant", "λ", "AUC@0.4", "AP", ""],
        rows,
        "One seed; validation only, times 100. The paper chose λ = 1 by validation AUC; the tables above use 1.",
    )


def claim_tables(summary: Summary) -> list[Table]:
    """Return the claims by their first measure, then by every measure, then each difference by the first measure."""
    claims: Sequence[Mapping[str, Any]] = summary["claims"]
    before = [None, *(row["claim"] for row in claims)]
    first = [row for row, claim in zip(claims, before, strict=False) if row["claim"] != claim]
    name = summary["name"]
    return [
        Table(f"The paper's claims on {name}", _COLUMNS, [_row(row) for row in first], num_text=2),
        Table(
            f"The claims by every measure, {name}", _COLUMNS, [_row(row) for row in claims], is_folded=True, num_text=2
        ),
        Table(
            f"Each difference by the first measure, {name}",
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
    paper, by_mean = row["paper"], _by_mean(row)
    return [
        Cell(row["claim"], row["reading"] + (f"; largest: {shown['name']}" if is_some else "")),
        Cell(row["outcome"], _contradicted_by(row) or by_mean, "" if by_mean else _TONES[row["outcome"]]),
        Cell(value, remark),
        Cell(_share(row["num_as_claimed"], len(row["singles"])), f"{n} left out" if (n := row["num_missing"]) else ""),
        Cell(_share(paper["num_as_claimed"], paper["num"])),
    ]


def _by_mean(row: Mapping[str, Any]) -> str:
    """Return a note if the claim is about all differences but its outcome comes from their mean."""
    covers_all = row["sense"] == "alike" or any(words in row["claim"] for words in ("everywhere", "for every"))
    return "from the mean of signed differences, not tested on each" if covers_all and not _contradicted_by(row) else ""


def _contradicted_by(row: Mapping[str, Any]) -> str:
    """Return the individual difference that contradicts a claim if the mean's interval does not."""
    if row["outcome"] != CONTRADICTED or row["sense"] == "some" or _beyond(row, row["mean"]) > 0:
        return ""
    return "by " + str(max(row["singles"], key=lambda single: _beyond(row, single))["name"])


def _beyond(row: Mapping[str, Any], found: Mapping[str, Any]) -> float:
    """Return how far an interval lies outside the claimed range; above 0 it contradicts the claim."""
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
    """Return a difference with its sign, or without one if it rounds to 0.

    >>> signed(-0.004, 2), signed(0.25, 1)
    ('0.00', '+0.2')
    """
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else f"{0.0:.{digits}f}"


def _scale(row: Mapping[str, Any]) -> tuple[float, int]:
    """Return the scale and digits of a printed difference; areas are multiplied by 100."""
    return (100.0, 2) if row["reading"] in AREA_NAMES.values() else (1.0, 3)
