"""Writes docs/results.md and the pages beside it from the committed files in results/: no figure is typed."""

import json
from pathlib import Path

from result_tables import RESULTS, TABLES, read_rows, shortcut_charts

from sayso.reproduce.block import Figure, Table, to_markdown
from sayso.reproduce.document import FIGURES, document_of
from sayso.reproduce.tables import claim_tables, extraction_table

PAGE = Path(__file__).with_name("results.md")
DETAILS = Path(__file__).with_name("results")
ORIGIN = (
    "Made from the committed files in `results/` by `make docs`: tables, figures and claims from what runs left there.",
    "The paragraphs about them were written by hand.",
)
SCALES = {"shortcut": ", AP and AUC x100", "size": ", AP x100", "stated": ""}
"""How a table's figures are to be read; x100 if not said here."""


def section(path: Path) -> list[str]:
    """Return the part of the experiments' page for one file of results, as its first line asks."""
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
        f"- Diverged, excluded from all means: {row['variant']}, seed {row['seed']}, {row['data']}: {row['diverged']}."
        for row in every
        if "diverged" in row
    ]
    return lines


def reproduction(path: Path) -> tuple[str, dict[str, str]]:
    """Return the page of one reproduction, with the notes beside it if there are any, and its figures.

    What the notes say before their first heading stands at the top of the page.
    """
    files = {name: f"{path.stem}-{name}.svg" for name in FIGURES}
    blocks = document_of(json.loads(path.read_text()), files, is_alone=True)
    about, why = notes_of(path)
    title, first, rest = to_markdown(blocks).partition("\n\n")
    figures = {block.file: block.svg + "\n" for block in blocks if isinstance(block, Figure)}
    return f"{title}\n\n{' '.join(ORIGIN)}{first}{about}{rest}\n{why}", figures


def notes_of(path: Path) -> tuple[str, str]:
    """Return what the notes beside a reproduction say about its data, and why its claims come out as they do."""
    notes = path.with_suffix(".md")
    about, heading, why = (notes.read_text() if notes.exists() else "").partition("### ")
    return about, f"## {why}" if heading else ""


def in_short(path: Path) -> list[str]:
    """Return a reproduction's part of the main page: what it rests on, the claims, and how well facts are found."""
    summary = json.loads(path.read_text())
    about, _ = notes_of(path)
    claims = next(block for block in claim_tables(summary) if isinstance(block, Table))
    lines = [f"## {summary['name']}", "", about.strip(), ""]
    lines += [to_markdown([claims, extraction_table(summary)]).strip(), ""]
    return [*lines, f"All readings, τ by mechanism and figures: [{path.stem}](results/{path.stem}.md).", ""]


def experiments(results: Path) -> list[Path]:
    """Return the files of JSON lines in the order of the numbers that their names begin with."""
    return sorted(results.glob("*.jsonl"), key=lambda path: (int(path.stem.partition("-")[0]), path.name))


def page(results: Path = RESULTS) -> str:
    """Return the main page: each reproduction of the paper in short, and the list of experiments."""
    lines = ["# Results", "", *ORIGIN, ""]
    for path in sorted(results.glob("*.json")):
        lines += in_short(path)
    if titles := [read_rows(path)[0]["title"] for path in experiments(results)]:
        lines += [
            "## Experiments",
            "",
            "What led to these settings and figures ([all of them](results/experiments.md)):",
            "",
        ]
        lines += [f"- {title}" for title in titles]
    return "\n".join(lines).rstrip() + "\n"


def details(results: Path = RESULTS) -> dict[str, str]:
    """Return the text of every page and figure beside the main page, by file."""
    found, sections = {}, []
    for path in sorted(results.glob("*.json")):
        text, figures = reproduction(path)
        found |= {f"{path.stem}.md": text, **figures}
    for path in experiments(results):
        sections += section(path)
        head, *rows = read_rows(path)
        if head["table"] == "shortcut":
            finished = [row for row in rows if "diverged" not in row]
            found |= {file: svg + "\n" for file, (_, svg) in shortcut_charts(finished).items()}
    if sections:
        found["experiments.md"] = "\n".join(["# Experiments", "", *ORIGIN, "", *sections])
    return found


if __name__ == "__main__":
    PAGE.write_text(page())
    DETAILS.mkdir(exist_ok=True)
    for file, text in details().items():
        (DETAILS / file).write_text(text)
    print(f"wrote {PAGE} and {DETAILS}")
