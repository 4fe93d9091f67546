"""Writes a summary to files: JSON, figures, and a Markdown document and an HTML page with tables and claims."""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sayso.evaluate.chart import COLOURS, Series
from sayso.facts.html import can_render, render
from sayso.io.atomic import atomic_file, write_text
from sayso.reproduce.block import Block, Figure, Heading, Paragraph, to_markdown
from sayso.reproduce.folder import RECALLS
from sayso.reproduce.paper import ENTITIES, NINE, SOURCE, base_of, features_of
from sayso.reproduce.tables import (
    RULE,
    Summary,
    claim_tables,
    data_table,
    explanation_tables,
    extraction_table,
    grid_table,
)

FIGURES = {"figure-1": "", "figure-2": ENTITIES}
"""The paper's Figure 1 is without entity vectors, Figure 2 with them."""
SUMMARY, DOCUMENT, PAGE = "reproduction.json", "reproduction.md", "reproduction.html"

_INKS = {(): COLOURS[7], ("F",): COLOURS[0], ("FE",): COLOURS[1], ("LD",): COLOURS[2], ("F", "LD"): COLOURS[3]}
"""One colour per set of features that a variant adds, regardless of its base model and of +E."""
_DASHES = {"CNNs+ATT": "", "DirectSup": "5 3"}


def write_reproduction(summary: Summary, folder: Path) -> list[Path]:
    """Write all files to an existing folder and return their paths, the page first.

    The page needs jinja2 and is skipped with a warning without it; PNG files need matplotlib.
    """
    blocks = document_of(summary)
    figures = [block for block in blocks if isinstance(block, Figure)]
    texts = {
        DOCUMENT: to_markdown(blocks),
        SUMMARY: json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        **{figure.file: figure.svg(is_alone=True) + "\n" for figure in figures},
    }
    if can_render(folder / PAGE):
        title = f"sayso reproduce: {summary['name']}"
        texts = {PAGE: render("reproduction.html", title=title, blocks=_grouped(blocks)), **texts}
    for name, text in texts.items():
        write_text(folder / name, text)
    pngs = figures if importlib.util.find_spec("matplotlib") else []
    return [folder / name for name in texts] + [_write_png(figure, folder) for figure in pngs]


def _grouped(blocks: Sequence[Block]) -> list[tuple[str, Any]]:
    """Return the blocks with their type names; consecutive figures become one block."""
    found: list[tuple[str, Any]] = []
    for kind, group in groupby(blocks, lambda block: type(block).__name__):
        together = list(group)
        found += [("Figures", together)] if kind == "Figure" else [(kind, block) for block in together]
    return found


def _write_png(figure: Figure, folder: Path) -> Path:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.5, 4.2), layout="constrained")
    axes = canvas.add_subplot()
    for line in figure.series:
        axes.plot(line.x, line.y, color=line.ink, linestyle="--" if line.dashes else "-", label=line.name)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision")
    axes.set_title(figure.title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    path = (folder / figure.file).with_suffix(".png")
    with atomic_file(path, "wb") as file:
        canvas.savefig(file, format="png", dpi=160)
    return path


def document_of(summary: Summary, prefix: str = "") -> list[Block]:
    """Return the document; the names of its figures' files start with `prefix`."""
    blocks: list[Block] = [
        Heading(1, f"The paper's tables, figures and claims on {summary['name']}"),
        Paragraph(_about(summary)),
        *(Paragraph(line) for line in notes(summary)),
        Heading(2, "The claims"),
        *claim_tables(summary),
        Paragraph(RULE),
        Heading(2, "The tables"),
        data_table(summary),
        extraction_table(summary),
        *_figures(summary, prefix),
        *explanation_tables(summary),
    ]
    return [*blocks, grid_table(summary)] if summary["grid"] else blocks


def notes(summary: Summary) -> list[str]:
    """Return the caveats that a reader must know first, one per line."""
    lines = _about_settings(summary) + _about_store(summary)
    lines += [f"Left out: {variant}, because {reason}." for variant, reason in summary["left_out"].items()]
    for run in summary["diverged"]:
        name = " ".join(part for part in (run["variant"], run["label"]) if part)
        lines.append(f"Diverged, excluded from all means: {name}, seed {run['seed']}: {run['why']}.")
    if len(versions := summary["code_fingerprints"]) > 1:
        lines.append(f"The runs were made with {len(versions)} versions of the code: {', '.join(versions)}.")
    if summary["not_done"]:
        lines.append(f"Not done yet: {len(summary['not_done'])} runs ({', '.join(summary['not_done'][:5])} …).")
    return lines


def _about_settings(summary: Summary) -> list[str]:
    """Return where the settings differ from the paper's."""
    lines = []
    if summary["is_quick"]:
        lines.append(f"Quick run: at most {summary['max_epochs']} epochs, too few to test the paper's claims.")
    if len(summary["seeds"]) < 2:
        lines.append("One seed: the variance between seeds is unknown, so every claim is inconclusive.")
    if summary["changes"]:
        lines.append(f"Settings that differ from the paper's: {', '.join(summary['changes'])}.")
    return lines


def _about_store(summary: Summary) -> list[str]:
    """Return properties of the data that affect every metric."""
    lines, data = [], summary["data"]
    if pairs := data["test_pairs_in_train"]:
        lines.append(f"{pairs:,} test pairs are in training: all metrics are TOO HIGH (prepare with --leak drop).")
    if data.get("word_vector_width") == 0:
        lines.append("The store has no word vectors: random ones are used instead (prepare with --vectors).")
    if not summary["extraction"]:
        lines.append("No run has finished with metrics: there is nothing to compare.")
    elif not summary["marks"]:
        lines.append("The store has no marks on test sentences: τ and its claims are left out (prepare with --marks).")
    return lines


def _about(summary: Summary) -> str:
    data, marks = summary["data"], summary["marks"]
    parts = ", ".join(
        f"{part} ({counts['sentences']:,} sentences for {counts['bags']:,} pairs)"
        for part, counts in data["parts"].items()
    )
    marked = "; ".join(
        f"{name} ({size['num_tuples']:,} tuples from {size['num_facts']:,} facts)" for name, size in marks.items()
    )
    return (
        f"Data: {summary['name']}, store {data['fingerprint']}; {parts}; {data['relations']['num']} relations."
        + (f" Marks: {marked}." if marked else "")
        + f" {summary['num_runs']} runs, seeds {', '.join(map(str, summary['seeds']))}, at most"
        f" {summary['max_epochs']} epochs, {summary['train_seconds']:,.0f} s of training in total"
        f" ({', '.join(summary['devices'])}); {summary['num_resamples']:,} resamples of the test pairs; sayso"
        f" {summary['sayso']}.{_calls(summary)} Paper: {SOURCE}."
    )


def _calls(summary: Summary) -> str:
    """Return the wall-clock time of the runs, if the summary has it."""
    calls = [
        f"{call['num_runs']} runs took {call['seconds'] / 60:,.1f} minutes, {call['num_workers']} in parallel"
        for call in summary.get("calls", [])
    ]
    return f" Wall-clock time: {'; '.join(calls)}." if calls else ""


def _figures(summary: Summary, prefix: str) -> Iterator[Figure]:
    """Yield the curves without and with entity vectors, if there are any."""
    for name, ending in FIGURES.items():
        names = [variant + ending for variant in NINE if variant + ending in summary["curves"]]
        series = [_series(name, summary["curves"][name]) for name in names]
        about = f"precision-recall curves {'with' if ending else 'without'} entity vectors, {summary['name']}"
        note = "Mean precision over seeds; solid: CNNs+ATT, dashed: DirectSup."
        if series:
            yield Figure(f"Figure {name[-1]}: {about}", series, f"{prefix}{name}.svg", note)


def _series(variant: str, curve: Sequence[float]) -> Series:
    ink = _INKS[features_of(variant.removesuffix(ENTITIES))]
    return Series(variant, RECALLS[: len(curve)], curve, ink, _DASHES[base_of(variant)])
