"""Write docs/speed.md and its plots from bench/results.json and bench/growth.json."""

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
    "sentences": "Every line is read and predicted once, so time should be linear after start-up. Memory should be"
    " constant for `check`, `predict` and `extract`; `prepare` and training keep the corpus in memory.",
    "bag size": "The times are for one bag. A sentence is encoded and compared with each relation, never with another"
    " sentence, so time should be linear, and so should memory if the scores of all sentences are kept at once.",
    "relations": "Encoding does not depend on the relations, but scoring does: prediction should grow slowly at first."
    " Explaining gives every sentence four scores for each relation, so its memory should be linear.",
}
"""The expected growth, shown next to the measured one."""
LINEAR = 0.15
"""Maximum distance from 1 for a slope to be called linear."""
Row = dict[str, Any]

TOP = """# Speed

Generated from `bench/results.json` and `bench/growth.json` by `make docs`. `make bench` repeats the measurements of the
first table, and `python bench/growth.py` those of the plots. These programs write the two files, except for the rows
about one GPU, which are copied from the log of a run of `bench/gpu_training.py`.

Absolute times depend on the machine and its load, so most results are ratios: our code and a reference alternate in one
process, with the same weights and bags, after a warm-up round. A value is the median of the rounds; the range is their
minimum and maximum. The references in `bench/reference` are straightforward implementations of the same model: *padded*
pads every sentence to 128 tokens and loops over the bags; *no padding* batches sentences of similar length and reduces
all bags at once. Both use dense convolutions and automatic differentiation. Each program first checks that our results
and the reference's agree, and stops if they do not. Unless a note says otherwise, sizes are those of FB-NYT: 300-d
words, filters of widths 2 to 5, 100 of each, 53 relations, 39 tokens per sentence, 1.87 sentences per bag, 50,000 words
by Zipf's law. A name such as *train, CNNs+ATT vs. padded* says what is measured, and what it is compared with."""

MEMORY = """## Memory

`sayso check`, `sayso predict` and `sayso extract` accept a corpus of any size. The sentences of a pair may be anywhere
in the corpus, so if it has more than 2 million tokens, sentences are written to disk as integer ids, partitioned by
pair, and read back one group of partitions at a time. `check` partitions the hashes of sentences, pairs and facts in
the same way, so its counts are exact. Temporary files are in `TMPDIR`: about 220 bytes per sentence for `predict`, 24
for `check`, and 16 per labelled fact. Memory still grows with the number of distinct entities, about 300 bytes each,
and of predicted facts, 28 bytes each. `sayso prepare` keeps the whole store in memory while writing it.
`--table-memory` limits the tables of word products, which are float32: half precision would change logits by more than
1e-4 ([library.md](library.md))."""

GROWTH_TEXT = """## How cost grows

The slope is that of the last step on logarithmic axes: 1 is linear, 0 is constant. Times of commands include start-up,
which dominates on a small corpus. Memory of commands is the peak of the process; memory of the others is what they need
in addition to the model and the data."""


def shown(value: float | None) -> str:
    """Return a number with three or four significant digits."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def results_table(rows: Sequence[Row]) -> list[str]:
    """Return all results with their targets."""
    lines = ["| what | ours | reference | ratio | unit | range | target | |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        is_met = {True: "met", False: "**not met**", None: ""}[row["met"]]
        low, high = row["spread"]
        lines.append(
            f"| {row['name']} | {shown(row['ours'])} | {shown(row['reference'])} | {shown(row['ratio'])}"
            f" | {row['unit']} | {shown(low)} … {shown(high)} | {row['target'] or '–'} | {is_met} |"
        )
    return lines


def notes(rows: Sequence[Row]) -> list[str]:
    """Return how each result was measured, and why a target is not met; results with the same note share a line."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row["note"]:
            names.setdefault(row["note"], []).append(row["name"])
    return [f"- {', '.join(f'*{name}*' for name in of_note)}: {note}." for note, of_note in names.items()]


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


def growth_text(points: Sequence[Row], axis: str) -> str:
    """Return which times and memory grew less than, exactly or more than linearly in the last step."""
    adverbs = ("less than linearly", "linearly", "more than linearly")
    kinds: dict[str, list[str]] = {f"{label} grows {adverb}": [] for label in ("time", "memory") for adverb in adverbs}
    for name, line in curves(points, axis).items():
        for what, label in (("seconds", "time"), ("megabytes", "memory")):
            steep = slope(line, what)
            adverb = adverbs[1] if abs(steep - 1) <= LINEAR else adverbs[0] if steep < 1 else adverbs[2]
            kinds[f"{label} grows {adverb}"].append(f"*{name}*")
    return "; ".join(f"{kind} for {', '.join(names)}" for kind, names in kinds.items() if names) + "."


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
        lines += [REASONS[axis], "", f"In the last step, {growth_text(growth['points'], axis)}", ""]
        lines += [*growth_table(growth["points"], axis), ""]
    return "\n".join(lines)


def draw() -> None:
    """Write the plots, byte-identical for the same points."""
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
