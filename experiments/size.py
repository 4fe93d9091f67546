"""Effect of corpus size on explanations, with and without distractors: τ by number of training sentences.

The same invented corpus and name shortcut as `sayso invent --size fbnyt --name-shortcut 0.5`, with fewer training sentences;
`prepare` needs gensim. An interrupted `run` continues where it stopped.

    python experiments/size.py prepare --stores stores/size
    python experiments/size.py run --stores stores/size --work runs/size --out results/12-size.jsonl
"""

import argparse

from rows import write_rows
from shortcut import prepare_store, rows_of_runs, sayso, stages_of

SIZES = (10_000, 30_000, 100_000)
MOST_EPOCHS, MOST_READ = 30, 1_200_000
"""Maximum epochs, and maximum sentences over all epochs; most runs stop earlier."""
SHORTCUT = ("--name-shortcut", 0.5)
HEAD = {
    "title": "Distractors help less with more training sentences",
    "table": "size",
    "text": [
        "On an invented corpus of FB-NYT's size LD does not raise τ; on a fortieth of it LD does. The hypothesis to test: with more sentences,",
        "attention finds the rationales by itself, so distractors have less and less to add. Runs have at most 30 epochs and 1.2",
        "million sentences over all epochs.",
    ],
}


def prepare(arguments: argparse.Namespace) -> None:
    """Invent a corpus of each size and make its store, with its own word vectors."""
    for size in arguments.sizes:
        corpus, vectors = arguments.stores / f"corpus-{size}", arguments.stores / f"words-{size}.bin"
        sayso("invent", corpus, "--train-sentences", size, "--test-sentences", 10_000, "--overwrite", *SHORTCUT)
        sayso("vectors", "train", corpus / "train.jsonl", "--out", vectors, "--width", 50, "--seed", 13)
        prepare_store(corpus, vectors, arguments.stores / f"size-{size}")


def run(arguments: argparse.Namespace) -> None:
    """Train all runs for each size and write a line per run."""
    rows = []
    for size in arguments.sizes:
        arguments.epochs = min(MOST_EPOCHS, MOST_READ // size)
        name = f"invented corpus of {size:,} training sentences, name shortcut 0.5"
        found = rows_of_runs(arguments, arguments.stores / f"size-{size}", arguments.work / f"size-{size}", name)
        rows += [row | {"size": size} for row in found]
    write_rows(arguments.out, HEAD, rows)
    print(f"wrote {arguments.out}; next: make docs")


def main() -> None:
    """Parse the arguments and run one of the two stages."""
    parser = stages_of(__doc__, "size", "12-size.jsonl", "CNNs+ATT,CNNs+ATT+LD")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    {"prepare": prepare, "run": run}[arguments.stage](arguments)


if __name__ == "__main__":
    main()
