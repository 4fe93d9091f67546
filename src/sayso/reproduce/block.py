"""Blocks of a document, and their rendering as Markdown."""

from collections.abc import Sequence
from html import escape
from typing import Literal, NamedTuple

from sayso.evaluate.chart import Series, figure_svg


class Heading(NamedTuple):
    """A heading; level 1 is the document's title."""

    level: int
    text: str


class Paragraph(NamedTuple):
    """Plain text."""

    text: str


class Cell(NamedTuple):
    """A table cell with a note in smaller print; `tone` sets its colour."""

    text: str
    small: str = ""
    tone: Literal["", "good", "bad"] = ""


class Table(NamedTuple):
    """Rows of cells under named columns; the first `num_text` columns are text. A folded table starts collapsed."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    is_folded: bool = False
    num_text: int = 1


class Figure(NamedTuple):
    """Precision over recall: inline SVG for pages, and a file name for Markdown documents."""

    title: str
    series: Sequence[Series]
    file: str
    note: str = ""

    def svg(self, is_alone: bool = False) -> str:
        """Return the SVG drawing; `is_alone` embeds the styles that a page would provide."""
        return figure_svg(self.series, "recall", "precision", self.title, is_alone)


Block = Heading | Paragraph | Table | Figure


def to_markdown(blocks: Sequence[Block], top: int = 1) -> str:
    """Return the blocks as Markdown; the title is a heading of level `top`."""
    return "\n\n".join(_markdown(block, top) for block in blocks) + "\n"


def _markdown(block: Block, top: int) -> str:
    if isinstance(block, Heading):
        return f"{'#' * (block.level + top - 1)} {block.text}"
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Figure):
        return f"**{block.title}**\n\n![{block.title}]({block.file})" + (f"\n\n{block.note}" if block.note else "")
    head = f"| {' | '.join(block.columns)} |\n|{'---|' * len(block.columns)}"
    rows = "\n".join(f"| {' | '.join(map(_markdown_cell, row))} |" for row in block.rows)
    table = f"{head}\n{rows}" + (f"\n\n{block.note}" if block.note else "")
    if block.is_folded:
        return f"<details><summary>{escape(block.title)}</summary>\n\n{table}\n\n</details>"
    return f"**{block.title}**\n\n{table}"


def _markdown_cell(cell: Cell) -> str:
    text = f"{cell.text} ({cell.small})" if cell.small else cell.text
    return text.replace("|", "\\|").replace("\n", " ")
