"""Write the measurements in docs/scale.md from bench/scale.json, and a plan computed from them.

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
DISK_BYTES_PER_SECOND = 1e9
ONE = "Ray, 1 worker"


def paragraph(*words: str) -> list[str]:
    """Return the text wrapped into lines, and an empty line."""
    return [*wrap(" ".join(words), 120), ""]


def measured(result: dict[str, Any]) -> list[str]:
    """Return the measurements and the machine, as a table and a few sentences."""
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    about = (
        f"{result['machine']}, {versions}; {result['num_sentences']:,} random sentences as",
        "long as FB-NYT's (39 tokens each), a model as large as the paper's, and invented articles for `build`. The",
        f"machine was not idle (load {result['load_average']:.1f} at the start), which lowers sentences per second but",
        "hardly affects CPU time.",
    )
    lines = [
        *paragraph(*about),
        f"| sentences per second | this process | {ONE} | Ray, 2 workers | CPU time per sentence | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for stage, engines in result["stages"].items():
        rates = " | ".join(f"{each['rate']:,.0f}" for each in engines.values())
        one = engines[ONE]
        lines.append(f"| {stage} | {rates} | {one['cpu_us']:.0f} µs | {one['peak_mb']:,.0f} MB |")
    sizes = (
        f"The last two columns are for {ONE}. A sentence takes {result['input_bytes']:.0f} bytes as a JSON line and",
        f"{result['shuffled_bytes']:.0f} in the shuffle; a fact takes {result['fact_bytes']:.0f} bytes, and",
        f"{result['fact_us']:.0f} µs to write. The memory of a predicting worker grows by",
        f"{result['worker_bytes_per_sentence']:,.0f} bytes per sentence of a shard; most of the rest is the model with",
        "its tables of word products.",
    )
    return [*lines, "", *paragraph(*sizes)[:-1]]


def plan(result: dict[str, Any]) -> list[str]:
    """Return the plan as a table, each row with what it is computed from, and the totals."""
    num, shard = PLAN_SENTENCES, PLAN_SENTENCES / PLAN_SHARDS
    hours = {stage: num * each[ONE]["cpu_us"] / 3.6e9 for stage, each in result["stages"].items()}
    shuffled, facts = num * result["shuffled_bytes"], num * result["facts"]
    more = (shard - result["shard_sentences"]) * result["worker_bytes_per_sentence"] / 2**20
    worker_gb = (result["worker_mb"] + more) / 1024
    segment = shuffled / PLAN_PIECES / PLAN_SHARDS / 1e3
    writing = facts * result["fact_us"] / 3.6e9
    rows = [
        ("corpus as JSON lines", f"{num * result['input_bytes'] / 1e9:,.0f} GB", "bytes per line"),
        ("shuffled", f"{shuffled / 1e9:,.0f} GB, written once and read once", "bytes in the shuffle"),
        ("one read in the shuffle", f"{segment:,.0f} kB", f"{PLAN_PIECES:,} pieces, {PLAN_SHARDS:,} shards"),
        ("sentences in a shard", f"{shard:,.0f}", f"{PLAN_SHARDS:,} shards"),
        ("memory of a predicting worker", f"{worker_gb:.1f} GB", "measured peak, and bytes per sentence"),
        ("gather", f"{hours['gather']:,.0f} core-hours", "CPU time"),
        ("predict", f"{hours['predict']:,.0f} core-hours", "CPU time"),
        ("facts", f"{facts / 1e6:,.0f} million, {facts * result['fact_bytes'] / 1e9:,.0f} GB", "facts per sentence"),
        ("write, one process", f"{60 * writing:.0f} minutes", "time per fact"),
        ("build, if there are only documents", f"{hours['build']:,.0f} core-hours", "CPU time"),
    ]
    extracting = hours["gather"] + hours["predict"]
    moved = 2 * shuffled / DISK_BYTES_PER_SECOND / 60
    table = [f"| {what} | {how_much} | {source} |" for what, how_much, source in rows]
    totals = (
        f"Extraction takes {extracting:,.0f} core-hours: {60 * extracting / CORES:.0f} minutes on one {CORES}-core",
        f"machine, or {60 * extracting / CORES / 8:.0f} minutes on eight such machines, plus {60 * writing:.0f}",
        "minutes to write the result.",
        f"The shuffle keeps a shared disk of {DISK_BYTES_PER_SECOND / 1e9:.0f} GB/s busy for {moved:.0f} minutes.",
        f"{CORES} workers on one machine need {CORES * worker_gb:.0f} GB of memory.",
    )
    return ["| | | from |", "|---|---|---|", *table, "", *paragraph(*totals)[:-1]]


def page() -> str:
    """Return the page with the measurements filled in."""
    text, result = PAGE.read_text(), json.loads(RESULTS.read_text())
    for name, lines in (("measured", measured(result)), ("plan", plan(result))):
        block = "\n".join([f"<!-- {name} -->", *lines, f"<!-- /{name} -->"])
        text = re.sub(rf"<!-- {name} -->.*<!-- /{name} -->", lambda _, block=block: block, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
