"""Sentences per second from raw JSON lines to written facts: read, group, predict, sort, write."""

import json
import tempfile
from itertools import islice
from pathlib import Path

from drawn import draw_table, make_extractor, save_drawn_model, write_lines
from figure import amount, at_least, record
from measure import seconds_of, threads
from sayso.io.atomic import atomic_file
from sayso.library import Model, load
from sayso.readers.read import Tally, read_sentences

NUM_SENTENCES = 60_000
REPEATS = 3
SHARE_WITH_A_FACT = 0.05
"""Share of pairs with a predicted fact; the threshold is chosen accordingly."""


def extract(model: Model, lines: Path, out: Path, threshold: float) -> None:
    """Do what `sayso predict` does after loading the model."""
    facts = model.predict_corpus(read_sentences(lines, Tally(lines)), threshold)
    with atomic_file(out) as file:
        file.writelines(json.dumps(fact.to_dict(), ensure_ascii=False) + "\n" for fact in facts)


def find_threshold(model: Model, lines: Path) -> float:
    """Return a threshold that yields about as many facts as a real corpus."""
    few = islice(read_sentences(lines, Tally(lines)), 5_000)
    found = model.predict_corpus(few, threshold=0.0)
    return float(found.found_F["probability"][int(SHARE_WITH_A_FACT * found.num_pairs)])


def main() -> None:
    """Write a random file and model, and predict the file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "lines.jsonl", draw_table(NUM_SENTENCES))
        save_drawn_model(folder / "model", make_extractor("attention"))
        model = load(folder / "model")
        threshold = find_threshold(model, folder / "lines.jsonl")
        seconds = [
            seconds_of(lambda: extract(model, folder / "lines.jsonl", folder / "facts.jsonl", threshold))
            for _ in range(REPEATS + 1)
        ][1:]
        num_facts = len((folder / "facts.jsonl").read_text().splitlines())
    note = (
        f"{NUM_SENTENCES:,} JSON lines, {num_facts:,} facts, {threads()}; the model is loaded and"
        " its tables are filled in advance"
    )
    speed = [NUM_SENTENCES / each for each in seconds]
    record([amount("JSON lines to written facts", speed, "sentences/s", at_least(15_000), note)])


if __name__ == "__main__":
    main()
