"""A measurement with its target, and the file of all measurements: `bench/results.json`."""

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from measure import machine, versions

RESULTS = Path(__file__).with_name("results.json")


class Target(NamedTuple):
    """A lower or upper bound that a measurement should meet."""

    bound: float
    is_least: bool

    def __str__(self) -> str:
        """Return the target as text, such as `≥ 100`."""
        return f"{'≥' if self.is_least else '≤'} {self.bound:,g}"

    def is_met(self, value: float) -> bool:
        """Return whether the value meets the target."""
        return value >= self.bound if self.is_least else value <= self.bound


def at_least(bound: float) -> Target:
    """Return a lower bound."""
    return Target(bound, is_least=True)


def at_most(bound: float) -> Target:
    """Return an upper bound."""
    return Target(bound, is_least=False)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One row of the table.

    The target applies to the ratio if there is a reference, otherwise to our own value; `spread` is the minimum and
    maximum of the same quantity over the repeats. `note` says how it was measured, or why the target is not met.
    """

    program: str
    name: str
    ours: float
    reference: float | None
    ratio: float | None
    unit: str
    target: str | None
    met: bool | None
    spread: tuple[float, float]
    machine: str
    versions: dict[str, str]
    note: str


def ratio(
    name: str, ours: Sequence[float], reference: Sequence[float], unit: str, target: Target | None, note: str = ""
) -> Figure:
    """Return the row for a ratio, measured round by round: ours over the reference."""
    medians = statistics.median(ours), statistics.median(reference)
    value = medians[0] / medians[1]
    each = [one / other for one, other in zip(ours, reference, strict=True)]
    return _figure(name, (*medians, value), unit, target, value, each, note)


def amount(name: str, values: Sequence[float], unit: str, target: Target | None, note: str = "") -> Figure:
    """Return the row for a single quantity."""
    value = statistics.median(values)
    return _figure(name, (value, None, None), unit, target, value, values, note)


def _figure(
    name: str,
    sizes: tuple[float, float | None, float | None],
    unit: str,
    target: Target | None,
    value: float,
    each: Sequence[float],
    note: str,
) -> Figure:
    ours, reference, of_both = (None if size is None else _rounded(size) for size in sizes)
    assert ours is not None
    return Figure(
        program=Path(sys.argv[0]).stem,
        name=name,
        ours=ours,
        reference=reference,
        ratio=of_both,
        unit=unit,
        target=None if target is None else str(target),
        met=None if target is None else target.is_met(value),
        spread=(_rounded(min(each)), _rounded(max(each))),
        machine=machine(),
        versions=versions(),
        note=note,
    )


def record(figures: Sequence[Figure]) -> None:
    """Print the rows and write them to the file, replacing earlier rows of the same program."""
    rows = [asdict(figure) for figure in figures]
    programs = {row["program"] for row in rows}
    kept = [row for row in read() if row.get("program") not in programs]
    RESULTS.write_text(json.dumps(kept + rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n".join(lines_of(json.loads(json.dumps(rows)))), flush=True)


def read() -> list[dict[str, Any]]:
    """Return the rows in the file."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    return rows


def lines_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table as text for a terminal."""
    lines = []
    for row in rows:
        outcome = {True: "met", False: "NOT MET", None: ""}[row["met"]]
        beside = "" if row["reference"] is None else f" / {shown(row['reference'])} = {shown(row['ratio'])}x"
        low, high = row["spread"]
        wanted = row["target"] or "no target"
        text = f"{row['name']:58} {shown(row['ours'])}{beside} {row['unit']} [{shown(low)} … {shown(high)}]"
        lines.append(f"{text:118} {wanted:12} {outcome}".rstrip())
        if row["met"] is False:
            lines.append(f"{'':6}{row['note']}")
    return lines


def shown(value: float) -> str:
    """Return a number with three or four significant digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
