"""Figures 1 and 2: precision over recall of all variants, as SVG text and, where matplotlib is there, as PNG."""

import importlib.util
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from sayso.evaluate.drawing import COLOURS, Series, line_chart
from sayso.io.atomic import atomic_file
from sayso.reproduce.outcome import RECALLS
from sayso.reproduce.variant import base_of, features_of

_INKS = {(): COLOURS[7], ("F",): COLOURS[0], ("FE",): COLOURS[1], ("LD",): COLOURS[2], ("F", "LD"): COLOURS[3]}
"""One colour for what a variant adds, whichever model it is added to and with or without +E."""
_DASHES = {"CNNs+ATT": "", "DirectSup": "5 3"}

_CHART_WIDTH, _HEIGHT, _LEGEND_WIDTH, _LINE = 360, 250, 150, 17
_STYLE = (
    "text{fill:#5b6670;font:11px system-ui,sans-serif}.axis{stroke:#5b6670}.grid{stroke:#d9dee3}svg{background:#ffffff}"
)


def curve_series(curves: Mapping[str, Sequence[float]]) -> list[Series]:
    """Return the variants' mean curves as lines."""
    return [
        Series(
            name,
            RECALLS[: len(precision)],
            list(precision),
            _INKS[tuple(feature for feature in features_of(name) if feature != "E")],
            _DASHES[base_of(name)],
        )
        for name, precision in curves.items()
    ]


def figure_svg(
    series: Sequence[Series], x_name: str, y_name: str, about: str, is_alone: bool = False, y_low: float = 0.0
) -> str:
    """Return a chart with its legend beside it; one that stands alone brings its own colours."""
    chart = line_chart(series, x_name, y_name, about, y_low=y_low)
    inner = chart.replace("<svg ", f'<svg width="{_CHART_WIDTH}" height="{_HEIGHT}" ', 1)
    lines = "".join(_legend_line(line, 20 + place * _LINE) for place, line in enumerate(series))
    width = _CHART_WIDTH + _LEGEND_WIDTH
    style = f"<style>{_STYLE}</style>" if is_alone else ""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}">{style}{inner}{lines}</svg>'


def _legend_line(line: Series, y: float) -> str:
    left = _CHART_WIDTH + 5
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    stroke = f'stroke="{line.ink}" stroke-width="2"{dashes}'
    return (
        f'<line x1="{left}" x2="{left + 24}" y1="{y}" y2="{y}" {stroke}/>'
        f'<text x="{left + 30}" y="{y + 4}">{escape(line.name)}</text>'
    )


def has_png() -> bool:
    """Return whether PNG files can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def write_png(path: Path, series: Sequence[Series], x_name: str, y_name: str, title: str) -> None:
    """Draw the same chart with matplotlib."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.5, 4.2), layout="constrained")
    axes = canvas.add_subplot()
    for line in series:
        axes.plot(line.x, line.y, color=line.ink, linestyle="--" if line.dashes else "-", label=line.name)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=x_name, ylabel=y_name)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    with atomic_file(path, "wb") as file:
        canvas.savefig(file, format="png", dpi=160)
