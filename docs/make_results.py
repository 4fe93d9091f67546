"""Writes docs/results.md from the committed files in results/: no figure of its tables is typed."""

import json
from pathlib import Path

from result_tables import RESULTS, TABLES, read_rows, shortcut_charts

from sayso.reproduce.block import Figure, to_markdown
from sayso.reproduce.document import FIGURES, document_of

PAGE = Path(__file__).with_name("results.md")
FIGURE_FOLDER = Path(__file__).with_name("results")
ORIGIN = (
    "Made from the committed files in `results/` by `make docs`: tables, figures and claims from what runs left there.",
    "The paragraphs about them were written by hand.",
)
SCALES = {"shortcut": ", AP and AUC x100", "size": ", AP x100", "stated": ""}
"""How a table's figures are to be read; x100 if not said here."""


def section(path: Path) -> list[str]:
    """Return the part of the page for one file of results, as its first line asks."""
    head, *every = read_rows(path)
    rows = [row for row in every if "diverged" not in row]
    lines = [f"## {head['title']}", "", *head["text"], ""]
    lines += TABLES[head["table"]](rows)
    seeds = sorted({row["seed"] for row in rows})
    devices = ", ".join(sorted({row["device"] for row in rows}))
    lines += [
        "",
        f"Data: {', '.join(sorted({row['data'] for row in rows}))} (store"
        f" {', '.join(sorted({row['data_fingerprint'] for row in rows}))}); seeds {', '.join(map(str, seeds))};"
        f" {len(rows)} runs, {sum(row['seconds'] for row in rows):,.0f} s of training together, on {devices}.",
        f"From `results/{path.name}`; mean ± standard deviation over seeds{SCALES.get(head['table'], ', x100')}.",
        "",
    ]
    lines += [
        f"- Diverged and in no mean: {row['variant']}, seed {row['seed']}, {row['data']}: {row['diverged']}."
        for row in every
        if "diverged" in row
    ]
    return lines


def reproduction(path: Path) -> tuple[list[str], dict[str, str]]:
    """Return the part of the page for one reproduction, with the notes beside it if there are any, and its figures.

    What the notes say before their first heading stands at the top of the part.
    """
    files = {name: f"results/{path.stem}-{name}.svg" for name in FIGURES}
    blocks = document_of(json.loads(path.read_text()), files, is_alone=True)
    notes = path.with_suffix(".md")
    about, heading, why = (notes.read_text() if notes.exists() else "").partition("### ")
    title, first, rest = to_markdown(blocks, top=2).partition("\n\n")
    text = f"{title}{first}{about}{rest}\n{heading}{why}"
    figures = {Path(block.file).name: block.svg + "\n" for block in blocks if isinstance(block, Figure)}
    return text.splitlines(), figures


def experiments(results: Path) -> list[Path]:
    """Return the files of JSON lines in the order of the numbers that their names begin with."""
    return sorted(results.glob("*.jsonl"), key=lambda path: (int(path.stem.partition("-")[0]), path.name))


def page(results: Path = RESULTS) -> str:
    """Return the whole page: reproductions of the paper first, then what led to them."""
    lines = ["# Results", "", *ORIGIN, ""]
    for path in sorted(results.glob("*.json")):
        lines += [*reproduction(path)[0], ""]
    for path in experiments(results):
        lines += section(path)
    return "\n".join(lines)


def drawings(results: Path = RESULTS) -> dict[str, str]:
    """Return the text of every figure of the page, by file."""
    found = {}
    for path in sorted(results.glob("*.json")):
        found |= reproduction(path)[1]
    for path in experiments(results):
        head, *rows = read_rows(path)
        if head["table"] == "shortcut":
            finished = [row for row in rows if "diverged" not in row]
            found |= {file: svg + "\n" for file, (_, svg) in shortcut_charts(finished).items()}
    return found


if __name__ == "__main__":
    PAGE.write_text(page())
    FIGURE_FOLDER.mkdir(exist_ok=True)
    for file, svg in drawings().items():
        (FIGURE_FOLDER / file).write_text(svg)
    print(f"wrote {PAGE}")
