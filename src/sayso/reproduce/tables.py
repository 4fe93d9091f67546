"""The paper's three tables and the grid of λ, from a summary, with the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from sayso.reproduce.block import Cell, Table
from sayso.reproduce.paper import COUNTS, DATA, MECHANISMS
from sayso.reproduce.sample import AREA, PRECISION
from sayso.reproduce.variant import ENTITIES, NINE

Summary = Mapping[str, Any]

_MISSING = "–"


def data_table(summary: Summary) -> Table:
    """Return Table 1: what there is to learn from and to find."""
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
        f"The paper's data: {DATA}. What it calls positive bags of the test part are facts (pair, relation). Sentences"
        " are distinct ones of a pair; the paper counts lines."
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
    note = (
        "Times 100; mean ± standard deviation over seeds. AUC@0.4 is the area up to recall 0.4, not divided by it: 40"
        " is the most it can be. The paper's figures are of its own data: see Table 1."
    )
    return Table(f"Table 2: finding facts, {summary['name']}", columns, rows, note)


def _area(row: Mapping[str, Any] | None, kind: str, with_paper: bool) -> Cell:
    if row is None:
        return Cell(_MISSING)
    paper = f"paper {row['paper']:.1f}" if with_paper and row["paper"] is not None else ""
    return Cell(_spread(row[kind], 100, 1), paper)


def _spread(found: Mapping[str, Any], scale: float, digits: int) -> str:
    """Return mean ± standard deviation; a number of seeds that is not all is said."""
    if found["mean"] is None:
        return _MISSING
    sd = "" if found["sd"] is None else f" ± {scale * found['sd']:.{digits}f}"
    return f"{scale * found['mean']:.{digits}f}{sd}"


def interval(found: Mapping[str, Any], scale: float = 1.0, digits: int = 2) -> str:
    """Return the ends of an interval, nothing where it has none."""
    if found["low"] is None or found["high"] is None:
        return ""
    # Adding 0 turns what rounds to −0 into 0.
    low, high = (round(scale * found[end], digits) + 0.0 for end in ("low", "high"))
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def explanation_tables(summary: Summary) -> list[Table]:
    """Return Table 3 for each set of marks, without and with +E, and all its figures in a folded one."""
    tables = []
    for marks in summary["marks"]:
        for ending in ("", ENTITIES):
            rows = _rows_of(summary, marks, ending)
            if rows:
                where = f"marks by {marks}, {ending or '−E'}, {summary['name']}"
                tables += [_tau_table(rows, where, ending), _tau_details(rows, where)]
    return tables


def _rows_of(summary: Summary, marks: str, ending: str) -> list[dict[str, Any]]:
    names = [name + ending for name in NINE]
    return [row for row in summary["explanation"] if row["marks"] == marks and row["variant"] in names]


def _tau_table(rows: Sequence[Mapping[str, Any]], where: str, ending: str) -> Table:
    by_place = {(row["variant"], row["mechanism"], row["band"]): row for row in rows}
    columns = ["variant", "tuples H", "tuples L"]
    columns += [f"{short} {band}" for short in MECHANISMS.values() for band in ("H", "L")]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    body = [
        [
            Cell(name),
            *(_tuples(by_place[name, "attention", band]) for band in ("H", "L")),
            *(_tau(by_place[name, mechanism, band]) for mechanism in MECHANISMS for band in ("H", "L")),
        ]
        for name in variants
    ]
    note = (
        "Kendall τ between a mechanism's order of a bag's sentences and the marks, for facts of probability 0.76 to 1"
        " (H) and 0 to 0.25 (L); mean ± standard deviation over seeds, tuples and bags are means over seeds."
    )
    note += "" if ending else " The paper does not say whether its table is without +E."
    return Table(f"Table 3: explanations, {where}", columns, body, note)


def _tuples(row: Mapping[str, Any]) -> Cell:
    return Cell(f"{row['num_tuples']:,.0f}", f"{row['num_bags']:,.0f} bags")


def _tau(row: Mapping[str, Any]) -> Cell:
    return Cell(_spread(row, 1, 2), "" if row["paper"] is None else f"paper {row['paper']:.2f}")


def _tau_details(rows: Sequence[Mapping[str, Any]], where: str) -> Table:
    columns = ["variant", "mechanism", "on", "pooled τ", "95 % interval", "mean over facts", "tuples", "bags", "paper"]
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
    return Table(f"Table 3 in full: {where}", columns, body, "The interval is over seeds and bags.", is_folded=True)


def grid_table(summary: Summary) -> Table:
    """Return the validation figures for each λ."""
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
        f"λ of learning from distractors, on validation, {summary['name']}",
        ["variant", "λ", "AUC@0.4", "AP", ""],
        rows,
        "One seed; validation alone, times 100. The paper chose 1 on validation AUC; the tables above have 1.",
    )
