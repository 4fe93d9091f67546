"""What more training sentences do for explanations, with and without distractors: τ over the size of the corpus.

The same invented corpus and name shortcut as `sayso invent --size fbnyt --name-shortcut 0.5`, with fewer training sentences;
`prepare` needs gensim. Killed, `run` goes on where it stood.

    python experiments/size.py prepare --stores stores/size
    python experiments/size.py run --stores stores/size --work runs/size --out results/12-size.jsonl
"""

import argparse

from rows import write_rows
from shortcut import prepare_store, rows_of_runs, sayso, stages_of

SIZES = (10_000, 30_000, 100_000)
MOST_EPOCHS, MOST_READ = 30, 1_200_000
"""Epochs, and sentences in all epochs together, that a run has at most; validation ends most of them before."""
SHORTCUT = ("--name-shortcut", 0.5)
HEAD = {
    "title": "More training sentences, and what is left for distractors to raise",
    "table": "size",
    "text": [
        "At FB-NYT's size LD does not raise τ of the invented corpus, at a fortieth of it LD does. The reading to be tested: with more sentences",
        "attention finds the rationales by itself, so that less and less is left for distractors to raise. Runs have at most 30 epochs and 1.2",
        "million sentences in all epochs together.",
    ],
}


def prepare(arguments: argparse.Namespace) -> None:
    """Invent a corpus of each size and make its store, with word vectors of its own."""
    for size in arguments.sizes:
        corpus, vectors = arguments.stores / f"corpus-{size}", arguments.stores / f"words-{size}.bin"
        sayso("invent", corpus, "--train-sentences", size, "--test-sentences", 10_000, "--overwrite", *SHORTCUT)
        sayso("vectors", "train", corpus / "train.jsonl", "--out", vectors, "--width", 50, "--seed", 13)
        prepare_store(corpus, vectors, arguments.stores / f"size-{size}")


def run(arguments: argparse.Namespace) -> None:
    """Make all runs of each size and write a line for each."""
    rows = []
    for size in arguments.sizes:
        arguments.epochs = min(MOST_EPOCHS, MOST_READ // size)
        name = f"invented corpus of {size:,} training sentences, name shortcut 0.5"
        found = rows_of_runs(arguments, arguments.stores / f"size-{size}", arguments.work / f"size-{size}", name)
        rows += [row | {"size": size} for row in found]
    write_rows(arguments.out, HEAD, rows)
    print(f"wrote {arguments.out}; next: make docs")


def main() -> None:
    """Read the arguments and do one of the two."""
    parser = stages_of(__doc__, "size", "12-size.jsonl", "CNNs+ATT,CNNs+ATT+LD")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    {"prepare": prepare, "run": run}[arguments.stage](arguments)


if __name__ == "__main__":
    main()
