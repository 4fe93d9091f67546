"""The tables of the report's page."""

from collections.abc import Sequence
from html import escape
from typing import Any

_EXTRACTION = {
    "area_up_to_recall_0_4": "AUC@0.4",
    "average_precision": "average precision",
    "max_f1": "best F1",
    "precision_at_100": "P@100",
    "precision_at_200": "P@200",
    "precision_at_300": "P@300",
}
"""Figures and what people call them; AUC@0.4 is not divided by 0.4, so 0.4 is the most it can be."""


def relation_table(figures: dict[str, Any]) -> str:
    """Return how well each run finds facts, and how the runs differ."""
    rows = []
    for run in figures["runs"]:
        found = run["relations"]
        error = run["calibration"]["as_predicted"]["expected_calibration_error"]
        cells = [_figure(found[name]) for name in _EXTRACTION]
        rows.append([f"{escape(run['run'])}<small>{escape(run['variant'])}</small>", *cells, number(error, 4)])
    shown = _table(["run", *_EXTRACTION.values(), "calibration error"], rows)
    note = (
        '<p class="note">A prediction counts as right where the knowledge base has the fact, and as wrong where it does'
        " not, be it true or not. AUC@0.4 is the area up to recall 0.4 and not divided by it: 0.4 is the most it can"
        " be.</p>"
    )
    return shown + note + _few_sentences(figures["runs"]) + _comparisons(figures["comparisons"])


def _few_sentences(runs: Sequence[dict[str, Any]]) -> str:
    """Return the protocol of Lin et al.: how well facts are found from one, two and all sentences of a bag."""
    rows = [
        [f"{escape(run['run'])}<small>{escape(run['variant'])}</small>", name]
        + [number(found[column]) for column in ("precision_at_100", "precision_at_200", "precision_at_300", "mean")]
        for run in runs
        for name, found in run["few_sentences"].items()
    ]
    if not rows:
        return ""
    num_bags = next(found["num_bags"] for run in runs for found in run["few_sentences"].values())
    note = f'<p class="note">The {num_bags:,} bags of two or more sentences, with so many of each, drawn at random.</p>'
    return "<h3>From few sentences</h3>" + _table(["run", "sentences", "P@100", "P@200", "P@300", "mean"], rows) + note


def _comparisons(comparisons: Sequence[dict[str, Any]]) -> str:
    if not comparisons:
        return ""
    rows = [
        [
            f"{escape(each['first'])} − {escape(each['second'])}",
            *(cell for name in ("area_up_to_recall_0_4", "average_precision") for cell in _difference(each[name])),
        ]
        for each in comparisons
    ]
    return "<h3>Differences, by paired bootstrap</h3>" + _table(
        ["runs", "AUC@0.4", "p", "average precision", "p"], rows
    )


def _difference(found: dict[str, Any]) -> list[str]:
    return [_figure(found), number(found["p_value"], 3)]


def explanation_table(figures: dict[str, Any]) -> str:
    """Return how well each mechanism of each run agrees with people and with the model."""
    rows = []
    for run in figures["runs"]:
        for mechanism, found in run["explanations"].items():
            tau, faithful = found["tau"], found["faithfulness"]
            rows.append(
                [
                    f"{escape(mechanism.replace('_', ' '))}<small>{escape(run['run'])}</small>",
                    *(_tau(tau[band]) for band in ("H", "L", "all")),
                    _figure(found["rationales"]["average_precision"]),
                    _figure(faithful["comprehensiveness"]),
                    _figure(faithful["sufficiency"]),
                    _figure(found["planted_distractor"]["mean_depth"]),
                ]
            )
    columns = [
        "mechanism",
        "τ on H",
        "τ on L",
        "τ on all",
        "rationale AP",
        "comprehensiveness",
        "sufficiency",
        "distractor depth",
    ]
    note = (
        "τ counts (rationale, irrelevant) tuples in the right order minus those in the wrong one. Comprehensiveness is"
        " what the probability loses without the first sentence, sufficiency what it loses with that sentence alone"
        " (low is good). Distractor depth: 1 where a planted sentence is ranked below all others, 0 above all."
    )
    return _table(columns, rows) + f'<p class="note">{note}</p>' + _marks(figures["marks"])


def _marks(report: dict[str, Any]) -> str:
    text = f"{report['num_matched']:,} marks fit a sentence of this part."
    if report["num_unmatched"]:
        reasons = "; ".join(f"{escape(reason)} ({num:,})" for reason, num in report["reasons"].items())
        text += f" {report['num_unmatched']:,} do not: {reasons}."
    return f'<p class="note">{text}</p>'


def _tau(found: dict[str, Any]) -> str:
    if not found["num_tuples"]:
        return "–<small>no tuples</small>"
    size = f"{found['num_tuples']:,} tuples<br>{found['num_bags']:,} bags"
    interval = found["interval"]
    shown = f"[{interval['low']:.2f}, {interval['high']:.2f}]<br>" if interval else ""
    return f"{found['pooled']:.2f}<small>{shown}{size}</small>"


def _figure(found: Any) -> str:
    """Return a figure with its interval; one that is not known as a dash."""
    if not isinstance(found, dict):
        return number(found)
    if found["value"] is None:
        return "–"
    interval = "" if found["low"] is None else f"<small>[{found['low']:.3f}, {found['high']:.3f}]</small>"
    return f"{found['value']:.3f}{interval}"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
