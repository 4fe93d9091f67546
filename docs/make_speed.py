"""Writes docs/speed.md and its plots from bench/results.json and bench/growth.json."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "speed.md"
RESULTS, GROWTH = ROOT / "bench" / "results.json", ROOT / "bench" / "growth.json"
AXES = {
    "sentences": "Number of sentences",
    "bag size": "Sentences in a bag",
    "relations": "Number of relations",
}
REASONS = {
    "sentences": "Every line is read, filed and judged once, so time should be linear once start-up is behind. Memory"
    " should stay flat for `check`, `predict` and `extract`; `prepare` and training hold the corpus.",
    "bag size": "Time for one bag. A sentence is encoded and compared with each relation, never with another sentence,"
    " so time should be linear; memory too where scores of all sentences are held at once, as in explaining.",
    "relations": "Encoding does not depend on the relations, comparing does: prediction should grow slowly at first."
    " Explaining gives every sentence a score for each relation, four times over, so its memory should be linear.",
}
"""Why cost should grow as it does, to be read beside how it did."""
LINEAR = 0.15
"""How far from 1 a slope may be and still be called linear."""
Row = dict[str, Any]

TOP = """# Speed

Made from `bench/results.json` and `bench/growth.json` by `make docs`. `make bench` measures the first table again,
`python bench/growth.py` the plots. The programs write these files themselves, but for the rows on one GPU, which were
entered from the log of a run of `bench/gpu_training.py`.

Absolute times depend on the machine and on who else uses it, so most figures are ratios: ours and a reference take
turns in one process, with the same weights and on the same bags, after a round that does not count. A figure is the
median of the rounds; the range is the lowest and highest of them. The references in `bench/reference` are the same
model written the obvious way: *padded* brings every sentence to 128 tokens and goes through the bags one by one; *no
padding* puts sentences of like length together and reduces all bags at once. Both convolve densely and learn by
automatic differentiation. Each program first shows that ours and the reference agree and stops where they do not.
Where a note says nothing else, sizes are those of FB-NYT: 300-d words, filters of widths 2 to 5, 100 of each, 53
relations, 39 tokens a sentence, 1.87 sentences a bag, 50,000 words by Zipf's law."""

MEMORY = """## Memory

`sayso check`, `sayso predict` and `sayso extract` take a corpus of any size. What the sentences of a pair say together
cannot be known before the last line is read, so sentences that are too many to hold (2 million tokens) are put on disk
as numbers, filed by pair on 1,024 shelves, and taken back some shelves at a time, each pair whole. `check` files the
hashes from which it counts distinct sentences, pairs and facts, so its counts stay exact. Temporary files go where
`TMPDIR` says: about 220 bytes a sentence for `predict`, 24 for `check` and 16 for each fact that a line claims. What
still grows is what a person named or asked for: the ids and names of the distinct entities, some 300 bytes each, and 28
bytes for each fact that is found. `sayso extract` files sentences by pair on disk, with their words. `sayso prepare`
writes one store and holds all of it while it does. The tables of products with words are bounded by a setting
(`--table-memory`) and float32: half precision would move logits by more than 1e-4 ([library.md](library.md))."""

GROWTH_TEXT = """## How cost grows

The slope is that of the last step on logarithmic axes: 1 is linear, 0 does not grow at all. Commands include their
start-up, which is most of their time on a small corpus. Memory of commands is the peak of the whole process; memory of
the others is what they take on top of the model and the data."""


def shown(value: float | None) -> str:
    """Return a number with three or four digits that count."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def results_table(rows: Sequence[Row]) -> list[str]:
    """Return all figures with their targets."""
    lines = ["| what | ours | reference | ratio | unit | range | target | |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        verdict = {True: "met", False: "**not met**", None: ""}[row["met"]]
        low, high = row["spread"]
        lines.append(
            f"| {row['name']} | {shown(row['ours'])} | {shown(row['reference'])} | {shown(row['ratio'])}"
            f" | {row['unit']} | {shown(low)} … {shown(high)} | {row['target'] or '–'} | {verdict} |"
        )
    return lines


def notes(rows: Sequence[Row]) -> list[str]:
    """Return how each figure was measured, and why a target is not met."""
    return [f"- {row['name']}: {row['note']}." for row in rows if row["note"]]


def measured_on(rows: Sequence[Row]) -> str:
    """Return the machines and versions that the rows name."""
    machines = sorted({row["machine"] for row in rows})
    versions = sorted({", ".join(f"{name} {number}" for name, number in row["versions"].items()) for row in rows})
    return f"Measured on {'; '.join(machines)}, with {'; '.join(versions)}."


def curves(points: Sequence[Row], axis: str) -> dict[str, list[Row]]:
    """Return the points of each line of a plot."""
    lines: dict[str, list[Row]] = {}
    for point in points:
        if point["axis"] == axis:
            lines.setdefault(point["what"], []).append(point)
    return lines


def slope(line: Sequence[Row], what: str) -> float:
    """Return the slope of the last step on logarithmic axes; values below 1 MB count as 1 MB."""
    least = 1.0 if what == "megabytes" else 1e-9
    (x0, y0), (x1, y1) = ((point["size"], max(point[what], least)) for point in line[-2:])
    return math.log(y1 / y0) / math.log(x1 / x0)


def growth_table(points: Sequence[Row], axis: str) -> list[str]:
    """Return the points and slopes of one plot."""
    lines = ["| | size | seconds | MB | slope of time | slope of memory |", "|---|---|---|---|---|---|"]
    for what, line in curves(points, axis).items():
        for point in line:
            slopes = ["", ""]
            if point is line[-1] and len(line) > 1:
                slopes = [f"{slope(line, 'seconds'):.2f}", f"{slope(line, 'megabytes'):.2f}"]
            figures = f"{point['size']:,} | {shown(point['seconds'])} | {point['megabytes']:,.0f}"
            lines.append(f"| {what} | {figures} | {slopes[0]} | {slopes[1]} |")
    return lines


def growth_said(points: Sequence[Row], axis: str) -> str:
    """Return in words which costs grew linearly at the last step, which less and which more."""
    kinds: dict[str, list[str]] = {"less than linear": [], "linear": [], "more than linear": []}
    for name, line in curves(points, axis).items():
        for what, label in (("seconds", "time"), ("megabytes", "memory")):
            steep = slope(line, what)
            kind = "linear" if abs(steep - 1) <= LINEAR else "less than linear" if steep < 1 else "more than linear"
            kinds[kind].append(f"{label} of {name}")
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names) + "."


def plot_name(axis: str) -> str:
    """Return the file name of a plot."""
    return f"speed-{axis.replace(' ', '-')}.svg"


def page() -> str:
    """Return the whole page."""
    rows, growth = (json.loads(path.read_text(encoding="utf-8")) for path in (RESULTS, GROWTH))
    lines = [TOP, "", measured_on(rows), "", *results_table(rows), "", *notes(rows), "", MEMORY, "", GROWTH_TEXT, ""]
    lines += [f"{measured_on([growth])} Threads: {growth['threads']}.", ""]
    for axis, title in AXES.items():
        lines += [f"### {title}", "", f"![Time and memory against the {title.lower()}]({plot_name(axis)})", ""]
        lines += [REASONS[axis], "", f"At the last step {growth_said(growth['points'], axis)}", ""]
        lines += [*growth_table(growth["points"], axis), ""]
    return "\n".join(lines)


def draw() -> None:
    """Write the plots, the same bytes for the same points."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams |= {"svg.hashsalt": "sayso", "font.size": 9, "svg.fonttype": "none"}
    points = json.loads(GROWTH.read_text(encoding="utf-8"))["points"]
    for axis, title in AXES.items():
        figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        for panel, what, label in zip(panels, ("seconds", "megabytes"), ("seconds", "MB"), strict=True):
            for name, line in curves(points, axis).items():
                values = [max(point[what], 1.0 if what == "megabytes" else 0.0) for point in line]
                text = f"{name} (slope {slope(line, what):.2f})"
                panel.loglog([point["size"] for point in line], values, marker="o", markersize=4, label=text)
            panel.set_xlabel(title.lower())
            panel.set_ylabel(label)
            panel.grid(visible=True, which="major", alpha=0.3)
            panel.legend(fontsize=8)
        figure.savefig(ROOT / "docs" / plot_name(axis), metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    draw()
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
