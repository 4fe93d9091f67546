"""The report on one or several runs: figures for machines, points for others to plot, and a page to read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sayso import __version__
from sayso.evaluate.evaluation import Evaluation
from sayso.evaluate.figures import comparison, run_figures
from sayso.explain.marks import Marks
from sayso.explain.sufficient import sigmoid
from sayso.io.atomic import atomic_file
from sayso.io.folder import make_folder
from sayso.metrics.precision_recall import PrecisionRecallCurve, precision_recall_curve

REPORT, PAGE = "report.json", "report.html"


@dataclass(frozen=True, kw_only=True)
class Report:
    """Runs on the same part of the same store, their figures, and every two of them compared."""

    runs: Sequence[Evaluation]
    figures: dict[str, Any]


def make_report(runs: Sequence[Evaluation], marks: Marks) -> Report:
    """Return the report on the runs, which are all on the same part."""
    subject, settings = runs[0].subject, runs[0].settings
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
        "runs": [run_figures(run) for run in runs],
        "comparisons": [comparison(first, second) for first, second in combinations(runs, 2)],
    }
    return Report(runs=runs, figures=figures)


def curve_of(run: Evaluation) -> PrecisionRecallCurve:
    """Return the run's precision-recall curve."""
    label_BR = run.subject.label_BR
    return precision_recall_curve(run.logit_BR, label_BR, int(label_BR.sum()) + run.subject.num_facts_unread)


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write `report.json`, `report.html` and a file of points for each run; return what was written."""
    from sayso.evaluate.report_page import report_html

    make_folder(folder)
    written = [folder / REPORT, folder / PAGE]
    with atomic_file(written[0]) as file:
        file.write(json.dumps(report.figures, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    with atomic_file(written[1]) as file:
        file.write(report_html(report))
    for run in report.runs:
        written.append(folder / f"precision_recall.{run.subject.name}.tsv")
        with atomic_file(written[-1]) as file:
            file.write(points_tsv(curve_of(run)))
    return written


def points_tsv(curve: PrecisionRecallCurve) -> str:
    """Return the steps of a curve that find something, from the highest score down, with the probability of each."""
    finds = np.diff(curve.num_correct, prepend=0) > 0
    columns = curve.recall[finds], curve.precision[finds], sigmoid(curve.threshold[finds])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [f"{recall:.6f}\t{precision:.6f}\t{threshold:.6g}" for recall, precision, threshold in rows]
    return "\n".join(["recall\tprecision\tprobability", *lines]) + "\n"
