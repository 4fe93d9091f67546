"""The toy corpus with a test part and people's marks on it, and a run trained on it."""

import json
from pathlib import Path

from sayso.store.inputs import Inputs, PrepareSettings
from sayso.store.prepare import prepare
from toy_run import MAX_TOKENS, corpus_lines, make_store

NUM_TEST_PAIRS = 6


def evaluation_lines() -> list[str]:
    """Return sentences of pairs that training does not have: capitals, birthplaces and pairs without a relation."""
    columns = [line.split("\t") for line in corpus_lines()[: 6 * NUM_TEST_PAIRS]]
    return ["\t".join((f"x{head}", f"x{tail}", *rest)) for head, tail, *rest in columns]


def mark_line(line: str, label: str, **other: str) -> str:
    """Return the mark on a sentence of the corpus for its own relation; `other` replaces values."""
    head, tail, _, _, relation, sentence = line.split("\t")[:6]
    record = {"head": head, "tail": tail, "relation": relation, "sentence": sentence, "label": label}
    return json.dumps(record | other)


def make_marked_store(folder: Path) -> Path:
    """Return a store with a test part: of each capital the first sentence is the rationale, the others are not."""
    make_store(folder)
    types = json.loads((folder / "types.json").read_text())
    (folder / "types.json").write_text(json.dumps(types | {f"x{name}": kinds for name, kinds in types.items()}))
    lines = evaluation_lines()
    (folder / "test.txt").write_text("\n".join(lines) + "\n")
    capitals = [line for line in lines if line.split("\t")[4] == "capital"]
    marks = [mark_line(line, "rationale" if "is the capital" in line else "irrelevant") for line in capitals]
    (folder / "marks.jsonl").write_text("\n".join(marks) + "\n")
    inputs = Inputs(
        train=folder / "train.txt",
        test=folder / "test.txt",
        types=folder / "types.json",
        vectors=folder / "words.bin",
        entity_vectors=folder / "entities.bin",
        marks=(folder / "marks.jsonl",),
    )
    settings = PrepareSettings(validation_share=0.3, max_tokens=MAX_TOKENS)
    prepare(inputs, settings, folder / "marked", lambda *_: None)
    return folder / "marked"
