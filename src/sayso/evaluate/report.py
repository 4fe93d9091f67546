"""The report on one or more runs: metrics as JSON, curve points as TSV, and a page with charts, tables and facts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sayso import __version__
from sayso.evaluate.baselines import baseline_figures, baselines_of, gains
from sayso.evaluate.chart import Bar, Series, bar_chart, legend, line_chart
from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.figures import comparison, run_figures
from sayso.explain.bag import bag_of_run, explanation_of
from sayso.explain.faithfulness import sigmoid
from sayso.facts.html import can_render, render
from sayso.io.atomic import write_text
from sayso.io.folder import make_folder
from sayso.metrics.precision_recall import PrecisionRecallCurve, drawn_curve, precision_recall_curve
from sayso.records import SUPPORT_LABELS
from sayso.store.marks import SentenceMarks

REPORT, PAGE = "report.json", "report.html"
NUM_FACTS = 150
"""Number of facts per run on the page."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Runs on the same part of the same store, their metrics, and comparisons of each pair of runs."""

    runs: Sequence[Evaluation]
    figures: dict[str, Any]


def make_report(runs: Sequence[Evaluation], marks: SentenceMarks) -> Report:
    """Return the report on runs evaluated on the same part."""
    subject, settings = runs[0].subject, runs[0].settings
    baselines = baselines_of(subject.store, subject.table)
    rows = baseline_figures(baselines, subject.label_BR, subject.num_facts_unread)
    figures = {
        "sayso": __version__,
        "data_fingerprint": subject.store.fingerprint,
        "part": subject.part_name,
        "num_bags": subject.part.table.num_bags,
        "num_sentences": subject.part.table.num_sentences,
        "num_facts": int(subject.label_BR.sum()) + subject.num_facts_unread,
        "threshold": settings.threshold,
        "num_top": settings.num_top,
        "num_resamples": settings.num_resamples,
        "marks": marks.report,
        "runs": [run_figures(run) | gain for run, gain in zip(runs, gains(runs, baselines, rows), strict=True)],
        "baselines": rows,
        "comparisons": [comparison(first, second) for first, second in combinations(runs, 2)],
    }
    return Report(runs=runs, figures=figures)


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write `report.json`, `report.html` and one file of curve points per run; return the paths in this order.

    Without jinja2, the page is skipped with a warning.
    """
    make_folder(folder)
    texts = {REPORT: json.dumps(report.figures, indent=2, ensure_ascii=False, allow_nan=False) + "\n"}
    if can_render(folder / PAGE):
        texts[PAGE] = report_html(report)
    for run in report.runs:
        texts[f"precision_recall.{run.subject.name}.tsv"] = points_tsv(_curve(run))
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def points_tsv(curve: PrecisionRecallCurve) -> str:
    """Return the points of the curve at which a correct fact is added, as TSV, by descending probability."""
    finds = np.diff(curve.num_correct, prepend=0) > 0
    columns = curve.recall[finds], curve.precision[finds], sigmoid(curve.threshold[finds])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [f"{recall:.6f}\t{precision:.6f}\t{threshold:.6g}" for recall, precision, threshold in rows]
    return "\n".join(["recall\tprecision\tprobability", *lines]) + "\n"


def report_html(report: Report) -> str:
    """Return the report as an HTML page."""
    from markupsafe import Markup

    names = [run.subject.name for run in report.runs]
    mechanisms = dict.fromkeys(name for run in report.runs for name in run.mechanisms)
    return render(
        "report.html",
        title=f"sayso: {', '.join(names)}",
        names=names,
        figures=report.figures,
        charts=[(title, Markup(svg)) for title, svg in _charts(report, names)],
        legend=Markup(legend(names)),
        runs={name: name for name in names},
        mechanisms={name: name.replace("_", " ") for name in mechanisms},
        ranked_by=report.runs[0].ranked_by,
        supports={"": "all", "marked": "with marks", **SUPPORT_LABELS},
        facts=[fact for run in report.runs for fact in _facts(run)],
    )


def _curve(run: Evaluation) -> PrecisionRecallCurve:
    label_BR = run.subject.label_BR
    return precision_recall_curve(run.logit_BR, label_BR, int(label_BR.sum()) + run.subject.num_facts_unread)


def _charts(report: Report, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    runs = report.figures["runs"]
    curves = [_drawn(name, _curve(run)) for name, run in zip(names, report.runs, strict=True)]
    yield "Precision-recall curves", line_chart(curves, "recall", "precision", "precision-recall curve of each run")
    for band, where in (("H", "probability 0.76 to 1"), ("L", "probability 0 to 0.25")):
        yield f"Kendall τ on {band}, {where}", _tau_bars(runs, names, band)
    about = "fraction of facts in the knowledge base, by probability"
    for key, title in (("as_predicted", "Reliability"), ("before_calibration", "Reliability before calibration")):
        if any(key in run["calibration"] for run in runs):
            reliability = [_reliability(run, key) for run in runs]
            yield title, line_chart(reliability, "probability", "share in the knowledge base", about, True)


def _reliability(run: dict[str, Any], key: str) -> Series:
    """Return the reliability curve of a run; empty if the run has no calibration."""
    curve = run["calibration"].get(key, {}).get("curve", {"mean_probability": [], "share_positive": []})
    return Series(run["run"], curve["mean_probability"], curve["share_positive"])


def _tau_bars(runs: Sequence[dict[str, Any]], names: Sequence[str], band: str) -> str:
    bars = []
    for run in runs:
        for mechanism, figures in run["explanations"].items():
            tau = figures["tau"][band]
            ends = tau["interval"] or {"low": None, "high": None}
            bars.append(Bar(mechanism.replace("_", " "), run["run"], tau["pooled"], ends["low"], ends["high"]))
    return bar_chart(bars, names, "τ", f"Kendall tau on {band} by mechanism and run")


def _drawn(name: str, curve: PrecisionRecallCurve) -> Series:
    corners = drawn_curve(curve)
    return Series(name, [recall for recall, _ in corners], [precision for _, precision in corners])


def _facts(run: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield the facts to show, most probable first; facts with marks are selected before others."""
    explained = run.explained
    several_F = explained.sentences.length > 1
    order = np.lexsort((-explained.probability_F, ~several_F, ~run.is_marked_F))[:NUM_FACTS]
    order = order[np.argsort(-explained.probability_F[order], kind="stable")]
    for fact in order.tolist():
        bag, threshold = int(explained.bag_F[fact]), run.settings.threshold
        asked, first_row = bag_of_run(run.subject, bag, run.marks), int(run.subject.table.first_B1[bag])
        found = explanation_of(run.subject.model, asked, explained, run.words, fact, threshold, first_row)
        yield {**found.to_dict(), "run": run.subject.name, "is_marked": bool(run.is_marked_F[fact])}
