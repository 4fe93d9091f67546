"""SVG charts."""

from collections.abc import Sequence
from html import escape
from itertools import count
from typing import NamedTuple

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#808080")
"""The colour-blind safe palette of Okabe and Ito, plus two more colours."""

_WIDTH, _HEIGHT = 360, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 10, 10, 36
_SIGNED_TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_LEGEND_WIDTH, _LEGEND_LINE = 150, 17
_STYLE = (
    "text{fill:#5b6670;font:11px system-ui,sans-serif}.axis{stroke:#5b6670}.grid{stroke:#d9dee3}svg{background:#ffffff}"
)


class Series(NamedTuple):
    """One line of a chart; without `ink`, its position determines the colour."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    ink: str = ""
    dashes: str = ""


class Bar(NamedTuple):
    """A bar with the ends of its interval; None if there is no value."""

    group: str
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def colour(place: int) -> str:
    """Return the colour of the run at this position."""
    return COLOURS[place % len(COLOURS)]


def legend(names: Sequence[str]) -> str:
    """Return an HTML legend of the names and their colours."""
    items = (f'<li><i style="background:{colour(place)}"></i>{escape(name)}</li>' for place, name in enumerate(names))
    return f'<ul class="legend">{"".join(items)}</ul>'


def line_chart(
    series: Sequence[Series], x_name: str, y_name: str, about: str, diagonal: bool = False, y_low: float = 0.0
) -> str:
    """Return a line chart with x from 0 to 1 and y from `y_low` (0 or −1) to 1; `diagonal` adds y = x and markers."""
    parts = [_frame(x_name, y_name, (y_low, 1.0), [tick / 5 for tick in range(6)] if y_low == 0 else _SIGNED_TICKS)]
    if diagonal:
        parts.append(f'<line class="grid" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}" stroke-dasharray="4 4"/>')
    for place, line in enumerate(series):
        heights = [(y - y_low) / (1.0 - y_low) for y in line.y]
        points = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in zip(line.x, heights, strict=True))
        ink = line.ink or colour(place)
        parts.append(f'<polyline points="{points}" fill="none" {_stroke(line, ink)}/>')
        if diagonal:
            dots = zip(line.x, heights, strict=True)
            parts += [f'<circle cx="{_x(x):.1f}" cy="{_y(y):.1f}" r="3" fill="{ink}"/>' for x, y in dots]
    return _svg(parts, about)


def figure_svg(
    series: Sequence[Series], x_name: str, y_name: str, about: str, is_alone: bool = False, y_low: float = 0.0
) -> str:
    """Return a line chart with a legend beside it; `is_alone` embeds the styles that a page would provide."""
    chart = line_chart(series, x_name, y_name, about, y_low=y_low)
    inner = chart.replace("<svg ", f'<svg width="{_WIDTH}" height="{_HEIGHT}" ', 1)
    lines, left, width = "", _WIDTH + 5, _WIDTH + _LEGEND_WIDTH
    for y, line in zip(count(20, _LEGEND_LINE), series, strict=False):
        lines += f'<line x1="{left}" x2="{left + 24}" y1="{y}" y2="{y}" {_stroke(line, line.ink)}/>'
        lines += f'<text x="{left + 30}" y="{y + 4}">{escape(line.name)}</text>'
    style = f"<style>{_STYLE}</style>" if is_alone else ""
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}">{style}{inner}{lines}</svg>'


def _stroke(line: Series, ink: str) -> str:
    return f'stroke="{ink}" stroke-width="2"' + (f' stroke-dasharray="{line.dashes}"' if line.dashes else "")


def bar_chart(bars: Sequence[Bar], names: Sequence[str], y_name: str, about: str) -> str:
    """Return a grouped bar chart from −1 to 1 with intervals, one bar per name in each group."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    parts = [_frame("", y_name, (-1.0, 1.0), _SIGNED_TICKS, with_x=False)]
    room = (_WIDTH - _LEFT - _RIGHT) / max(len(groups), 1)
    width = room * 0.8 / max(len(names), 1)
    for place, group in enumerate(groups):
        left = _LEFT + place * room
        for line, word in enumerate(group.split(" ", 1)):
            middle, y = left + room / 2, _HEIGHT - 22 + 11 * line
            parts.append(f'<text class="group" x="{middle:.1f}" y="{y}" text-anchor="middle">{escape(word)}</text>')
        for bar in bars:
            if bar.group == group:
                parts.append(_bar(bar, left + room * 0.1 + names.index(bar.name) * width, width, names.index(bar.name)))
    return _svg(parts, about)


def _bar(bar: Bar, left: float, width: float, place: int) -> str:
    middle = left + width / 2
    if bar.value is None:
        return f'<text x="{middle:.1f}" y="{_signed(0) - 3:.1f}" text-anchor="middle">–</text>'
    top, bottom = sorted((_signed(bar.value), _signed(0)))
    title = f"<title>{escape(bar.name)}, {escape(bar.group)}: {bar.value:.2f}</title>"
    drawn = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(width - 1, 1):.1f}" height="{max(bottom - top, 0.5):.1f}"'
        f' fill="{colour(place)}">{title}</rect>'
    )
    if bar.low is not None and bar.high is not None:
        ends = f'y1="{_signed(bar.low):.1f}" y2="{_signed(bar.high):.1f}"'
        drawn += f'<line class="range" x1="{middle:.1f}" x2="{middle:.1f}" {ends}/>'
    return drawn


def _frame(x_name: str, y_name: str, y_range: tuple[float, float], ticks: Sequence[float], with_x: bool = True) -> str:
    low, high = y_range
    parts = []
    for tick in ticks:
        y = _y((tick - low) / (high - low))
        kind = "axis" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        if with_x and tick >= 0:
            parts.append(f'<text x="{_x(tick):.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">{tick:g}</text>')
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">{escape(x_name)}</text>'
    )
    turned = f'transform="rotate(-90 11 {middle})"'
    parts.append(f'<text x="11" y="{middle}" text-anchor="middle" {turned}>{escape(y_name)}</text>')
    return "".join(parts)


def _svg(parts: Sequence[str], about: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(about)}"><title>{escape(about)}</title>'
        f"{''.join(parts)}</svg>"
    )


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _signed(value: float) -> float:
    return _y((value + 1.0) / 2.0)
