"""The tables of docs/results/experiments.md: from JSON lines in results/ to Markdown."""

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sayso.evaluate.chart import COLOURS, Series, figure_svg
from sayso.metrics.interval import NUM_RESAMPLES, bootstrap
from sayso.reproduce.paper import MECHANISMS, VARIANTS

RESULTS = Path(__file__).parent.parent / "results"
FLOOR = RESULTS / "given" / "floor.json"
"""Results of a different implementation of the same model, kept separately with their origin."""
Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Return the runs in a JSON lines file."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def spread(values: Iterable[float]) -> str:
    """Return mean ± standard deviation of values between 0 and 1, times 100."""
    scaled = [100 * value for value in values]
    sd = statistics.stdev(scaled) if len(scaled) > 1 else float("nan")
    return f"{statistics.mean(scaled):.1f} ± {sd:.1f}"


def by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Return the rows in groups, in order of first appearance."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def variants_in_order(names: Iterable[str]) -> list[str]:
    """Return the variants as the paper lists them, without +E first."""
    return sorted(names, key=VARIANTS.index)


def dropout_table(rows: list[Row], now: Path = RESULTS / "fbnyt.json") -> list[str]:
    """Return validation AP with dropout per token and per distinct token, and test AP next to the floor."""
    lines = [
        "| variant | seeds | validation AP, each token | each distinct token | test AP now | floor |",
        "|---|---|---|---|---|---|",
    ]
    groups = by(rows, lambda row: row["variant"])
    found = {row["variant"]: row for row in json.loads(now.read_text())["extraction"]}
    floor, gains = read_floor(), []
    for name in variants_in_order(groups):
        before, after = groups[name], found[name]
        mean = 100 * statistics.mean(row["validation"]["average_precision"] for row in before)
        now_mean, test = 100 * after["validation"]["average_precision"], after["average_precision"]
        gains.append(now_mean - mean)
        lines.append(
            f"| {name} | {len(before)} | {mean:.1f} | {now_mean:.1f}"
            f" | {100 * test['mean']:.1f} ± {100 * test['sd']:.1f} | {floor[name]} |"
        )
    error = statistics.stdev(gains) / len(gains) ** 0.5
    lines += ["", f"Mean difference over the variants: {statistics.mean(gains):+.2f} ± {error:.2f} (standard error)."]
    return [*lines, "", *floor_lines(found, floor)]


def read_floor() -> dict[str, float]:
    """Return the floor's test AP x100 by variant."""
    floor: dict[str, float] = json.loads(FLOOR.read_text())["test_average_precision"]
    return floor


def floor_lines(found: dict[str, Row], floor: dict[str, float]) -> list[str]:
    """Return a line for each variant whose mean is more than two standard deviations below the floor."""
    lines = []
    for name, row in found.items():
        mean, sd = (100 * row["average_precision"][kind] for kind in ("mean", "sd"))
        if mean < floor[name] - 2 * sd:
            lines.append(f"- {name}: {mean:.1f} lies more than two standard deviations ({sd:.1f}) below {floor[name]}.")
    return lines or ["- No variant's mean lies more than two standard deviations below the floor."]


def validation_table(rows: list[Row]) -> list[str]:
    """Return validation metrics by setting: how the defaults were chosen."""
    lines = ["| variant | change | seeds | validation AUC@0.4 | validation AP |", "|---|---|---|---|---|"]
    groups = by(rows, lambda row: (row["variant"], ", ".join(row["changes"]) or "as shipped"))
    for (variant, change), runs in sorted(groups.items()):
        lines.append(
            f"| {variant} | {change} | {len(runs)}"
            f" | {spread(row['validation']['area_up_to_recall_0_4'] for row in runs)}"
            f" | {spread(row['validation']['average_precision'] for row in runs)} |"
        )
    return lines


def direct_table(rows: list[Row]) -> list[str]:
    """Return DirectSup's mean weights by source of the sentence, and the effect of freeing them."""
    lines = [
        "| variant | change | test AP | validation AP | mean α in positive bags | in NA bags | direct positives"
        " | direct negatives |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups = by(rows, lambda row: (row["variant"], ", ".join(row["changes"]) or "as shipped"))
    for (variant, change), runs in sorted(groups.items()):
        names = ("positive_bags", "na_bags", "direct_positives", "direct_negatives")
        weights = [
            f"{statistics.mean(row['weights'][name] for row in runs):.2f}" if "weights" in runs[0] else "–"
            for name in names
        ]
        lines.append(
            f"| {variant} | {change} | {spread(row['test']['average_precision'] for row in runs)}"
            f" | {spread(row['validation']['average_precision'] for row in runs)} | {' | '.join(weights)} |"
        )
    return lines


def tau_cell(runs: list[Row], marks: str, mechanism: str, band: str) -> str:
    """Return the mean ± standard deviation of pooled τ over the seeds that have tuples there."""
    return mean_and_sd([row["tau"][marks][mechanism][band]["pooled"] for row in runs])


def mean_and_sd(found: Iterable[float | None]) -> str:
    """Return mean ± standard deviation of the values that are not None."""
    values = [value for value in found if value is not None]
    if not values:
        return "–"
    sd = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{sd}"


def shortcut_table(rows: list[Row]) -> list[str]:
    """Return test AP and τ on H of each variant at each strength of the shortcut; the figure shows the same."""
    (marks,) = rows[0]["tau"]
    columns = ["test AP", "test AUC@0.4", *(f"τ of {short} on H" for short in MECHANISMS.values())]
    lines = [f"| shortcut | variant | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    for (strength, name), runs in by(rows, lambda row: (row["strength"], row["variant"])).items():
        cells = [spread(row["test"][kind] for row in runs) for kind in ("average_precision", "area_up_to_recall_0_4")]
        cells += [tau_cell(runs, marks, mechanism, "H") for mechanism in MECHANISMS]
        lines.append(f"| {strength:g} | {name} | {' | '.join(cells)} |")
    figures = [f"![{title}]({file})" for file, (title, _) in shortcut_charts(rows).items()]
    return [*lines, "", *figures]


def shortcut_charts(rows: list[Row]) -> dict[str, tuple[str, str]]:
    """Return the title and the SVG text of each figure over the strength of the shortcut, by file."""
    (marks,) = rows[0]["tau"]

    def chart(title: str, value: Callable[[Row], float | None], y_low: float) -> tuple[str, str]:
        lines = []
        for place, (name, runs) in enumerate(by(rows, lambda row: row["variant"]).items()):
            means = {
                strength: statistics.mean(known)
                for strength, each in by(runs, lambda row: row["strength"]).items()
                if (known := [found for row in each if (found := value(row)) is not None])
            }
            lines.append(Series(name, list(means), list(means.values()), COLOURS[place]))
        return title, figure_svg(lines, "strength of the name shortcut", title, title, is_alone=True, y_low=y_low)

    setting = rows[0].get("setting", "joined")
    stem = "shortcut" if setting == "joined" else f"shortcut-{setting}"
    found = {f"{stem}-average-precision.svg": chart("test AP", lambda row: row["test"]["average_precision"], 0.0)}
    for mechanism, short in MECHANISMS.items():
        found[f"{stem}-tau-{mechanism}.svg"] = chart(
            f"τ of {short} on H", lambda row, name=mechanism: row["tau"][marks][name]["H"]["pooled"], -1.0
        )
    return found


def names_table(rows: list[Row]) -> list[str]:
    """Return test AP by how many of a pair's entities occur in training, and areas with repeated NA pairs."""
    groups = by(rows, lambda row: row["variant"])
    kinds, times = list(rows[0]["by_names"]), list(rows[0]["area_with_na_times"])
    sizes = [f"{kind} ({rows[0]['by_names'][kind]['num_facts']:,} facts)" for kind in kinds]
    columns = [*(f"AP, {size}" for size in sizes), *(f"AUC@0.4, NA × {number}" for number in times)]
    lines = [f"| variant | seeds | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    for name in variants_in_order(groups):
        runs = groups[name]
        cells = [spread(row["by_names"][kind]["average_precision"] for row in runs) for kind in kinds]
        cells += [spread(row["area_with_na_times"][number] for row in runs) for number in times]
        lines.append(f"| {name} | {len(runs)} | {' | '.join(cells)} |")
    return lines


def stated_table(rows: list[Row]) -> list[str]:
    """Return τ on H and L by the number of sentences that state a fact, and each group's share of the tuples."""
    columns = list(dict.fromkeys(map(_column, rows[0]["groups"])))
    lines = [f"| variant | mechanism | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    for name, runs in by(rows, lambda row: row["variant"]).items():
        groups = by((group for row in runs for group in row["groups"]), lambda group: group["mechanism"])
        for mechanism, short in MECHANISMS.items():
            taus = by(groups[mechanism], _column)
            cells = [mean_and_sd([group["tau"] for group in taus[column]]) for column in columns]
            lines.append(f"| {name} | {short} | {' | '.join(cells)} |")
        sizes = by(groups["attention"], _column)
        total = sum(group["num_tuples"] for group in groups["attention"])
        shares = [f"{sum(group['num_tuples'] for group in sizes[column]) / total:.1%}" for column in columns]
        lines.append(f"| {name} | share of the tuples | {' | '.join(shares)} |")
    return lines


def _column(group: Row) -> str:
    return f"{group['band']}, {group['stating']}"


def size_table(rows: list[Row]) -> list[str]:
    """Return test AP and τ on H of each variant at each size of the training corpus."""
    (marks,) = rows[0]["tau"]
    columns = ["seeds", "test AP", *(f"τ of {short} on H" for short in MECHANISMS.values())]
    lines = [f"| training sentences | variant | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    for (size, name), runs in by(rows, lambda row: (row["size"], row["variant"])).items():
        cells = [str(len(runs)), spread(row["test"]["average_precision"] for row in runs)]
        cells += [tau_cell(runs, marks, mechanism, "H") for mechanism in MECHANISMS]
        lines.append(f"| {size:,} | {name} | {' | '.join(cells)} |")
    return lines


def encoder_table(rows: list[Row]) -> list[str]:
    """Return AP and pooled τ of each setting on validation and test, as means over its seeds."""
    columns = [
        "setting",
        "runs",
        "AP (validation)",
        "τ (validation)",
        "AP (test)",
        "τ of attention",
        "τ of Shapley values",
    ]
    lines = [f"| {' | '.join(columns)} |", "|---|" + "---|" * (len(columns) - 1)]
    for name, runs in by(rows, lambda row: row["name"]).items():
        cells = [name, str(len(runs))]
        for part, measure, scale in (
            ("validation", "average_precision", 100),
            ("validation", "attention", 1),
            ("test", "average_precision", 100),
            ("test", "attention", 1),
            ("test", "shapley", 1),
        ):
            found = [scale * run[part][measure] for run in runs if part in run]
            cells.append(f"{statistics.mean(found):.{1 if scale > 1 else 2}f}" if found else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def marks_table(rows: list[Row]) -> list[str]:
    """Return AP, τ and comprehensiveness of each setting and part, then recall of withheld facts, as means."""
    lines = [
        "| setting | part | runs | AP | τ of attention | per fact | on H | comprehensiveness |",
        "|---|---|---|---|---|---|---|---|",
    ]
    folds = ["", "| setting | folds | AP | recall among the first 20 | 60 | 200 |", "|---|---|---|---|---|---|"]
    for name, runs in by(rows, lambda row: row["name"]).items():
        part = "test" if "test" in runs[0] else "validation"
        found = [run[part] for run in runs]
        average = f"{100 * statistics.mean(each['average_precision'] for each in found):.1f}"
        if "recall" in found[0]:
            recalls = (
                f"{100 * statistics.mean(each['recall'][num] for each in found):.1f}" for num in ("20", "60", "200")
            )
            folds.append(f"| {name} | {len(runs)} | {average} | {' | '.join(recalls)} |")
            continue
        cells = [average]
        of_attention = [each["attention"] for each in found]
        for band, figure in (("all", "pooled"), ("all", "per_fact_mean"), ("H", "pooled")):
            cells.append(_mean(each["tau"].get(band, {}).get(figure) for each in of_attention))
        cells.append(_mean(each.get("comprehensiveness") for each in of_attention))
        lines.append(f"| {name} | {part} | {len(runs)} | {' | '.join(cells)} |")
    return lines + (folds if len(folds) > 3 else [])


def _mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.mean(known):.2f}" if known else ""


def incomplete_table(rows: list[Row]) -> list[str]:
    """Return how many withheld facts are among the most probable new ones, by setting of the loss.

    The difference to the base loss among the first 300 has the interval of a paired bootstrap over the withheld facts.
    """
    columns = [
        "withheld",
        "variant",
        "loss",
        "runs",
        "with a sentence",
        "in the first 100",
        "in the first 300",
        "300: minus base",
    ]
    lines = [f"| {' | '.join(columns)} |", "|---|" + "---|" * (len(columns) - 1)]
    groups = by(rows, lambda row: (row["fold"] == "all", row["variant"]))
    for (is_final, variant), of_variant in sorted(groups.items(), key=lambda item: item[0][0]):
        settings = by(
            of_variant, lambda row: "base" if row["method"] == "base" else f"{row['method']} {row['value']:g}"
        )
        for setting, runs in settings.items():
            stated = statistics.mean(sum(rank is not None for rank in run["ranks"]) for run in runs)
            found = [statistics.mean(sum(_found(run, top)) for run in runs) for top in (100, 300)]
            change = "" if setting == "base" else _change(runs, settings["base"], 300)
            source = "withheld.tsv" if is_final else "a fifth of kb.tsv"
            cells = [source, variant, setting, len(runs), f"{stated:.0f}", *(f"{each:.1f}" for each in found), change]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines


def _found(run: Row, top: int) -> list[bool]:
    return [rank is not None and rank <= top for rank in run["ranks"]]


def _change(runs: list[Row], base: list[Row], top: int) -> str:
    """Return the mean difference in facts found, paired by fold and seed, with its interval over facts."""
    pairs = zip(_in_pairs(runs), _in_pairs(base), strict=True)
    change_XF = [np.subtract(_found(run, top), _found(other, top), dtype=float) for run, other in pairs]
    # Seeds rank the same facts, folds rank different ones.
    of_fold = by(zip(_in_pairs(runs), change_XF, strict=True), lambda pair: pair[0]["fold"])  # type: ignore[arg-type]
    change_F = np.concatenate([np.mean([change for _, change in group], axis=0) for group in of_fold.values()])
    totals = bootstrap(len(change_F), lambda weight_F: float(weight_F @ change_F) / len(of_fold), NUM_RESAMPLES)
    low, high = np.percentile(totals, [2.5, 97.5])
    return f"{change_F.sum() / len(of_fold):+.1f} [{low:+.1f}, {high:+.1f}]"


def _in_pairs(runs: list[Row]) -> list[Row]:
    return sorted(runs, key=lambda run: (run["fold"], run["seed"]))


TABLES: dict[str, Callable[[list[Row]], list[str]]] = {
    "dropout": dropout_table,
    "validation": validation_table,
    "direct": direct_table,
    "shortcut": shortcut_table,
    "names": names_table,
    "stated": stated_table,
    "size": size_table,
    "incomplete": incomplete_table,
    "encoder": encoder_table,
    "marks": marks_table,
}
"""Tables that the first line of a file can request."""
