"""Speed of `sayso build`: finding names, compared with spaCy's entity ruler, and the whole command."""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figure import amount, at_least, at_most, ratio, record
from measure import SAYSO, run, side_by_side
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.knowledge import Names, read_names
from sayso.documents.spacy_finder import SpacyFinder
from sayso.documents.split import split
from sayso.engine.processes import num_cores
from sayso.invent.names import Coiner

NUM_NAMES = 100_000
SHARE_FOR_SPACY = 20
"""spaCy only reads every twentieth document; speeds are per sentence."""
COPIES = 10
REPEATS = 3


def with_more_names(names: Names) -> Names:
    """Return the names plus NUM_NAMES made-up ones of one to three words."""
    rng = random.Random(13)
    words = Coiner((), rng).words(NUM_NAMES // 5)
    coined: dict[str, None] = {}
    while len(coined) < NUM_NAMES:
        coined[" ".join(rng.choices(words, k=rng.choice((1, 2, 2, 2, 3))))] = None
    return names | {f"more.{number}": (name,) for number, name in enumerate(coined)}


def copied(lines: list[str]) -> Iterator[str]:
    """Yield every document under several ids."""
    for copy in range(COPIES):
        for line in lines:
            record = json.loads(line)
            yield json.dumps(record | {"id": f"{record['id']}/{copy}"}) + "\n"


def main() -> None:
    """Invent documents, find names in them, and build corpora from them."""
    with tempfile.TemporaryDirectory() as name:
        raw, folder = Path(name) / "raw", Path(name)
        run(SAYSO, "invent", raw, "--raw", "--size", "demo")
        lines = (raw / "documents.jsonl").read_text().splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        few = texts[::SHARE_FOR_SPACY]
        names = with_more_names(read_names(raw / "names.tsv"))
        gazetteer = Gazetteer(names)
        ruler = SpacyFinder(gazetteer, names)
        seconds = side_by_side(
            {
                "ours": lambda: [gazetteer.find(text) for text in texts],
                "spaCy": lambda: [ruler.find(text) for text in few],
            },
            REPEATS,
        )
        num_sentences = sum(len(split(text)) for text in texts)
        speed = [num_sentences / each for each in seconds["ours"]]
        spacy_speed = [sum(len(split(text)) for text in few) / each for each in seconds["spaCy"]]
        tables = [
            word
            for option, file in (("--kb", "kb.tsv"), ("--names", "names.tsv"), ("--types", "types.json"))
            for word in (option, raw / file)
        ]
        (folder / "more.jsonl").write_text("".join(copied(lines)))
        build = (SAYSO, "build", *tables, "--out", folder / "out", "--overwrite", "--documents")
        once = [run(*build, raw / "documents.jsonl") for _ in range(REPEATS)]
        often = [run(*build, folder / "more.jsonl") for _ in range(REPEATS)]
    note = f"{num_sentences:,} invented sentences, {gazetteer.num_names:,} names, one thread"
    built = f"{COPIES * num_sentences:,} invented sentences, start-up and types included, all {num_cores()} cores"
    whole_speed = [COPIES * num_sentences / each[0] for each in often]
    record(
        [
            amount("names found", speed, "sentences/s", at_least(20_000), note),
            ratio("names found, vs. spaCy's entity ruler", speed, spacy_speed, "sentences/s", None, note),
            amount("build", whole_speed, "sentences/s", at_least(20_000), built),
            ratio(
                f"build, peak memory with {COPIES} times the documents",
                [each[1] for each in often],
                [each[1] for each in once],
                "MB",
                at_most(1.3),
                f"{built}; the largest process counts",
            ),
        ]
    )


if __name__ == "__main__":
    main()
