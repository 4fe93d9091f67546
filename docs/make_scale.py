"""Writes the figures of docs/scale.md: what bench/scale.json measured, and a plan computed from that.

python bench/scale.py && python docs/make_scale.py
"""

import json
import re
from pathlib import Path
from textwrap import wrap
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, RESULTS = ROOT / "docs" / "scale.md", ROOT / "bench" / "scale.json"

PLAN_SENTENCES = 1_000_000_000
PLAN_SHARDS, PLAN_PIECES = 4_096, 2_048
CORES = 32
DISK_BYTES_A_SECOND = 1e9
ONE = "Ray, 1 worker"


def paragraph(*words: str) -> list[str]:
    """Return the words as lines of a page, and an empty line."""
    return [*wrap(" ".join(words), 120), ""]


def measured(result: dict[str, Any]) -> list[str]:
    """Return what was measured, on what, as a table and a few sentences."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    about = (
        f"{result['machine']}, {versions}; {result['num_sentences']:,} drawn sentences of the sizes of FB-NYT",
        "(39 tokens each, a model of the paper's size), and invented articles for `build`. Other work was on the",
        f"machine (load {result['load_average']:.1f} when it began): sentences a second suffer from that, processor",
        "time hardly does.",
    )
    lines = [
        *paragraph(*about),
        f"| sentences a second | this process | {ONE} | Ray, 2 workers | processor time a sentence | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for stage, engines in result["stages"].items():
        rates = " | ".join(f"{each['rate']:,.0f}" for each in engines.values())
        one = engines[ONE]
        lines.append(f"| {stage} | {rates} | {one['cpu_us']:.0f} µs | {one['peak_mb']:,.0f} MB |")
    sizes = (
        f"The last two columns are those of {ONE}. A sentence takes {result['input_bytes']:.0f} bytes as JSON line",
        f"and {result['shuffled_bytes']:.0f} in the shuffle; a fact {result['fact_bytes']:.0f} bytes, and",
        f"{result['fact_us']:.0f} µs to write. A judging worker's memory grows by",
        f"{result['worker_bytes_a_sentence']:,.0f} bytes for each sentence of a shard; most of the rest is the model",
        "with the tables of products that make it fast.",
    )
    return [*lines, "", *paragraph(*sizes)[:-1]]


def plan(result: dict[str, Any]) -> list[str]:
    """Return the plan as a table, each row with what it is computed from, and what it comes to."""
    num, shard = PLAN_SENTENCES, PLAN_SENTENCES / PLAN_SHARDS
    hours = {stage: num * each[ONE]["cpu_us"] / 3.6e9 for stage, each in result["stages"].items()}
    shuffled, facts = num * result["shuffled_bytes"], num * result["facts"]
    more = (shard - result["shard_sentences"]) * result["worker_bytes_a_sentence"] / 2**20
    worker_gb = (result["worker_mb"] + more) / 1024
    segment = shuffled / PLAN_PIECES / PLAN_SHARDS / 1e3
    writing = facts * result["fact_us"] / 3.6e9
    rows = [
        ("corpus as JSON lines", f"{num * result['input_bytes'] / 1e9:,.0f} GB", "bytes a line"),
        ("shuffled", f"{shuffled / 1e9:,.0f} GB, written once and read once", "bytes in the shuffle"),
        ("one read in the shuffle", f"{segment:,.0f} kB", f"{PLAN_PIECES:,} pieces, {PLAN_SHARDS:,} shards"),
        ("sentences in a shard", f"{shard:,.0f}", f"{PLAN_SHARDS:,} shards"),
        ("memory of a judging worker", f"{worker_gb:.1f} GB", "the peak measured, and what a sentence adds"),
        ("gather", f"{hours['gather']:,.0f} core-hours", "processor time"),
        ("judge", f"{hours['judge']:,.0f} core-hours", "processor time"),
        ("facts", f"{facts / 1e6:,.0f} million, {facts * result['fact_bytes'] / 1e9:,.0f} GB", "facts a sentence"),
        ("write, one process", f"{writing:.1f} hours", "time a fact"),
        ("build, where there are documents only", f"{hours['build']:,.0f} core-hours", "processor time"),
    ]
    extracting = hours["gather"] + hours["judge"]
    moved = 2 * shuffled / DISK_BYTES_A_SECOND / 60
    table = [f"| {what} | {how_much} | {source} |" for what, how_much, source in rows]
    comes_to = (
        f"Extraction is {extracting:,.0f} core-hours: {extracting / CORES:.1f} hours on a machine of {CORES} such",
        f"cores, {60 * extracting / CORES / 8:.0f} minutes on eight of them, and {writing:.1f} hours of writing after",
        f"that. The shuffle keeps a shared disk of {DISK_BYTES_A_SECOND / 1e9:.0f} GB a second busy for {moved:.0f}",
        f"minutes. {CORES} workers on a machine need {CORES * worker_gb:.0f} GB of memory.",
    )
    return ["| | | from |", "|---|---|---|", *table, "", *paragraph(*comes_to)[:-1]]


def page() -> str:
    """Return the page with its figures."""
    text, result = PAGE.read_text(), json.loads(RESULTS.read_text())
    for name, lines in (("measured", measured(result)), ("plan", plan(result))):
        block = "\n".join([f"<!-- {name} -->", *lines, f"<!-- /{name} -->"])
        text = re.sub(rf"<!-- {name} -->.*<!-- /{name} -->", lambda _, block=block: block, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
