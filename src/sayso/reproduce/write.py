"""The files of a reproduction: JSON for machines, Markdown and figures for documents, one page to read."""

import json
from pathlib import Path

from sayso.facts.fact_page import page_html
from sayso.io.atomic import atomic_file
from sayso.reproduce.block import Figure, to_html, to_markdown
from sayso.reproduce.document import FIGURES, document_of, figure_curves, figure_title
from sayso.reproduce.figure import curve_series, has_png, write_png
from sayso.reproduce.tables import Summary

SUMMARY, DOCUMENT, PAGE = "reproduction.json", "reproduction.md", "reproduction.html"


def write_reproduction(summary: Summary, folder: Path) -> list[Path]:
    """Write all files into a folder that is there; return them, the page first. PNG needs matplotlib."""
    files = {name: f"{name}.svg" for name in FIGURES}
    alone, inline = (document_of(summary, files, is_alone) for is_alone in (True, False))
    texts = {
        PAGE: page_html(f"sayso reproduce: {summary['name']}", to_html(inline)),
        DOCUMENT: to_markdown(alone),
        SUMMARY: json.dumps(summary, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        **{block.file: block.svg + "\n" for block in alone if isinstance(block, Figure)},
    }
    for name, text in texts.items():
        with atomic_file(folder / name) as file:
            file.write(text)
    return [folder / name for name in texts] + _write_pngs(summary, folder)


def _write_pngs(summary: Summary, folder: Path) -> list[Path]:
    if not has_png():
        return []
    drawn = {name: curves for name in FIGURES if (curves := figure_curves(summary, name))}
    for name, curves in drawn.items():
        write_png(folder / f"{name}.png", curve_series(curves), "recall", "precision", figure_title(summary, name))
    return [folder / f"{name}.png" for name in drawn]
