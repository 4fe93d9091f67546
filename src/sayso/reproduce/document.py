"""A summary as a document: tables, figures and claims, always naming the data, with the paper's figures beside ours."""

from collections.abc import Mapping

from sayso.reproduce.block import Block, Figure, Heading, Paragraph
from sayso.reproduce.claim_table import RULE, claim_tables
from sayso.reproduce.figure import curve_series, figure_svg
from sayso.reproduce.paper import SOURCE
from sayso.reproduce.tables import (
    Summary,
    data_table,
    explanation_tables,
    extraction_table,
    grid_table,
)
from sayso.reproduce.variant import ENTITIES, NINE

FIGURES = {"figure-1": "", "figure-2": ENTITIES}
"""The paper's Figure 1 is without entity vectors, Figure 2 with them."""


def document_of(summary: Summary, files: Mapping[str, str], is_alone: bool = False) -> list[Block]:
    """Return the document; `files` names the file of each figure."""
    blocks: list[Block] = [
        Heading(1, f"The paper's tables, figures and claims on {summary['name']}"),
        Paragraph(_about(summary)),
        *(Paragraph(line) for line in remarks(summary)),
        Heading(2, "The claims"),
        *claim_tables(summary),
        Paragraph(RULE),
        Heading(2, "The tables"),
        data_table(summary),
        extraction_table(summary),
        *(figure for name in FIGURES if (figure := _figure(summary, name, files[name], is_alone))),
        *explanation_tables(summary),
    ]
    return [*blocks, grid_table(summary)] if summary["grid"] else blocks


def figure_title(summary: Summary, name: str) -> str:
    """Return what a figure shows, and of which data."""
    number, with_entities = name.removeprefix("figure-"), "with" if FIGURES[name] else "without"
    return f"Figure {number}: precision over recall {with_entities} entity vectors, {summary['name']}"


def figure_curves(summary: Summary, name: str) -> dict[str, list[float]]:
    """Return the curves of a figure, in the order of the paper's table."""
    wanted = [variant + FIGURES[name] for variant in NINE]
    return {variant: summary["curves"][variant] for variant in wanted if variant in summary["curves"]}


def remarks(summary: Summary) -> list[str]:
    """Return a line for everything that a reader must know before the figures."""
    lines = _about_wish(summary) + _about_store(summary)
    lines += [f"Left out: {variant}, because {reason}." for variant, reason in summary["left_out"].items()]
    for run in summary["diverged"]:
        name = " ".join(part for part in (run["variant"], run["label"]) if part)
        lines.append(f"Diverged and in no mean: {name}, seed {run['seed']}: {run['why']}.")
    if len(versions := summary["code_fingerprints"]) > 1:
        lines.append(f"The runs were made by {len(versions)} texts of the program: {', '.join(versions)}.")
    if summary["not_done"]:
        lines.append(f"Not done yet: {len(summary['not_done'])} runs ({', '.join(summary['not_done'][:5])} …).")
    return lines


def _about_wish(summary: Summary) -> list[str]:
    """Return what was asked for that is not what the paper did."""
    lines = []
    if summary["is_quick"]:
        lines.append(f"A quick look: {summary['max_epochs']} epochs at most, too few to judge the paper by.")
    if len(summary["seeds"]) < 2:
        lines.append("One seed: nothing is known of what another would give, so every claim is undecided.")
    if summary["changes"]:
        lines.append(f"Settings that are not the paper's: {', '.join(summary['changes'])}.")
    return lines


def _about_store(summary: Summary) -> list[str]:
    """Return what of the data bears on every figure."""
    lines, data = [], summary["data"]
    if pairs := data["test_pairs_in_train"]:
        lines.append(f"{pairs:,} test pairs stand in training: all figures are TOO GOOD (prepare with --leak drop).")
    if data.get("word_vector_width") == 0:
        lines.append("The store has no word vectors: random ones stand in for them (prepare with --vectors).")
    if not summary["extraction"]:
        lines.append("No run has come to its end with figures: there is nothing to compare.")
    elif not summary["marks"]:
        lines.append("The store has no marks on test sentences: no τ, and no claim about it (prepare with --marks).")
    return lines


def _about(summary: Summary) -> str:
    data, marks = summary["data"], summary["marks"]
    parts = "; ".join(
        f"{part} {counts['sentences']:,} sentences of {counts['bags']:,} pairs"
        for part, counts in data["parts"].items()
    )
    marked = "; ".join(
        f"{name}: {size['num_tuples']:,} tuples of {size['num_facts']:,} facts" for name, size in marks.items()
    )
    return (
        f"Data: {summary['name']} (store {data['fingerprint']}): {parts}; {data['relations']['num']} relations."
        + (f" Marks: {marked}." if marked else "")
        + f" {summary['num_runs']} runs, seeds {', '.join(map(str, summary['seeds']))}, at most"
        f" {summary['max_epochs']} epochs, {summary['train_seconds']:,.0f} s of training together on"
        f" {', '.join(summary['devices'])}; {summary['num_resamples']:,} resamples of the test pairs; sayso"
        f" {summary['sayso']}.{_calls(summary)} The paper: {SOURCE}."
    )


def _calls(summary: Summary) -> str:
    """Return how long the runs really took, where the summary says so."""
    told = [
        f"{call['num_runs']} runs took {call['seconds'] / 60:,.1f} minutes, {call['num_workers']} side by side"
        for call in summary.get("calls", [])
    ]
    return f" By the clock: {'; '.join(told)}." if told else ""


def _figure(summary: Summary, name: str, file: str, is_alone: bool) -> Figure | None:
    curves = figure_curves(summary, name)
    if not curves:
        return None
    title = figure_title(summary, name)
    svg = figure_svg(curve_series(curves), "recall", "precision", title, is_alone)
    return Figure(title, svg, file, "Mean precision over seeds; solid: CNNs+ATT, dashed: DirectSup.")
