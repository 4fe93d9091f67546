"""The report as one page that needs nothing from elsewhere: curves, bars, tables, and facts to browse."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from sayso.evaluate.drawing import Bar, Series, bar_chart, legend, line_chart
from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.report import Report, curve_of
from sayso.evaluate.report_table import explanation_table, relation_table
from sayso.explain.bag import bag_of_run, explanation_of
from sayso.facts.fact_page import asset, fact_body, fact_title, page_html
from sayso.metrics.marked import NEITHER
from sayso.metrics.precision_recall import PrecisionRecallCurve
from sayso.records import SUPPORT_LABELS

NUM_FACTS = 150
"""Facts of each run that the page shows."""
_NUM_POINTS = 300


def report_html(report: Report) -> str:
    """Return the page."""
    figures, names = report.figures, [run.subject.name for run in report.runs]
    body = [
        f"<h1>{escape(' · '.join(names))}</h1>",
        f'<p class="about">{escape(figures["part"])} part: {figures["num_bags"]:,} pairs,'
        f" {figures['num_sentences']:,} sentences, {figures['num_facts']:,} facts."
        f" Intervals hold 95 % of {figures['num_resamples']:,} resamples of the pairs."
        f" Data {escape(figures['data_fingerprint'])}, sayso {escape(figures['sayso'])}.</p>",
        "<h2>How well facts are found</h2>",
        relation_table(figures),
        _charts(report, names),
        "<h2>How well sentences explain</h2>",
        explanation_table(figures),
        "<h2>Facts and their sentences</h2>",
        _controls(report),
        *(_fact_list(run) for run in report.runs),
    ]
    return page_html(f"sayso: {', '.join(names)}", "\n".join(body), asset("report.js"))


def _charts(report: Report, names: Sequence[str]) -> str:
    runs = report.figures["runs"]
    curves = [_thinned(name, curve_of(run)) for name, run in zip(names, report.runs, strict=True)]
    reliability = [
        Series(run["run"], curve["mean_probability"], curve["share_positive"])
        for run in runs
        for curve in (run["calibration"]["as_predicted"]["curve"],)
    ]
    figures = [
        ("Precision over recall", line_chart(curves, "recall", "precision", "precision over recall of each run")),
        *(
            (f"Kendall τ on {band}, {where}", _tau_bars(runs, names, band))
            for band, where in (("H", "probability 0.76 to 1"), ("L", "probability 0 to 0.25"))
        ),
        (
            "Reliability",
            line_chart(
                reliability,
                "probability",
                "share in the knowledge base",
                "share of facts that the knowledge base has, by probability",
                True,
            ),
        ),
    ]
    drawn = (f"<figure><h3>{escape(title)}</h3>{svg}{legend(names)}</figure>" for title, svg in figures)
    return f'<div class="charts">{"".join(drawn)}</div>'


def _tau_bars(runs: Sequence[dict[str, Any]], names: Sequence[str], band: str) -> str:
    bars = []
    for run in runs:
        for mechanism, figures in run["explanations"].items():
            tau = figures["tau"][band]
            ends = tau["interval"] or {"low": None, "high": None}
            bars.append(Bar(mechanism.replace("_", " "), run["run"], tau["pooled"], ends["low"], ends["high"]))
    return bar_chart(bars, names, "τ", f"Kendall tau on {band} by mechanism and run")


def _thinned(name: str, curve: PrecisionRecallCurve) -> Series:
    """Return the curve with as many points as a chart can show."""
    if not curve.num_positives or not len(curve.threshold):
        return Series(name, [], [])
    kept = np.unique(np.searchsorted(curve.recall, np.linspace(0, curve.recall[-1], _NUM_POINTS)))
    kept = kept[kept < len(curve.recall)]
    return Series(name, curve.recall[kept].tolist(), curve.precision[kept].tolist())


def _controls(report: Report) -> str:
    mechanisms = list(dict.fromkeys(name for run in report.runs for name in run.mechanisms))
    choices = {"": "all", "marked": "with marks", **SUPPORT_LABELS}
    runs = {run.subject.name: run.subject.name for run in report.runs}
    leading = report.runs[0].ranked_by
    return (
        '<div class="controls" id="controls" hidden>'
        + _choice("run", "Run", runs, "")
        + _choice("mechanism", "Sentences ordered by", {name: name.replace("_", " ") for name in mechanisms}, leading)
        + _choice("support", "Predictions", choices, "")
        + '<label>Search<input id="search" type="search" placeholder="name, relation or word"></label>'
        + '<output id="count" aria-live="polite"></output></div>'
    )


def _choice(name: str, title: str, options: dict[str, str], chosen: str) -> str:
    shown = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(text)}</option>'
        for value, text in options.items()
    )
    return f'<label>{escape(title)}<select id="{name}">{shown}</select></label>'


def _fact_list(run: Evaluation) -> str:
    """Return the facts that the page shows, the most probable first; facts that people have marked are chosen first."""
    explained = run.explained
    fact_E = np.repeat(np.arange(len(explained.bag_F)), explained.sentences.length)
    is_marked_F = np.bincount(fact_E, run.mark_E != NEITHER, minlength=len(explained.bag_F)) > 0
    several_F = explained.sentences.length > 1
    order = np.lexsort((-explained.probability_F, ~several_F, ~is_marked_F))[:NUM_FACTS]
    order = order[np.argsort(-explained.probability_F[order], kind="stable")]
    return "\n".join(_fact(run, fact, bool(is_marked_F[fact])) for fact in order.tolist())


def _fact(run: Evaluation, fact: int, is_marked: bool) -> str:
    bag = int(run.explained.bag_F[fact])
    asked, first_row = bag_of_run(run.subject, bag, run.marks), int(run.subject.table.first_B1[bag])
    threshold = run.settings.threshold
    explanation = explanation_of(run.subject.model, asked, run.explained, run.words, fact, threshold, first_row)
    shown = explanation.to_dict()
    number = f'<span class="number">{shown["probability"]:.3f}</span>'
    return (
        f'<details class="fact" data-run="{escape(run.subject.name)}" data-support="{shown["support"]["kind"]}"'
        f' data-marked="{int(is_marked)}"><summary>{fact_title(shown)}{number}</summary>'
        f"<div>{fact_body(shown)}</div></details>"
    )
