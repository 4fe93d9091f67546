"""Effect of a name shortcut: test AP and tau of variants by how strongly names predict relations in training.

The invented corpus controls how strongly parts of names predict relations in training (`--name-shortcut`, 0 to 1); in
test they never do. With `--setting parts`, joined names (`port_x`) have no vectors of their own but the mean of their
parts, so every model that reads names can see the shortcut. With `--setting noisy`, in addition, no sentence states the
relation of half the related pairs, so names help in training. `large` is for more sentences.

First make the stores (`prepare`, which needs gensim), then train (`run`, possibly on a different machine).
An interrupted `run` continues where it stopped.

    python experiments/shortcut.py prepare --stores stores/shortcut --size demo
    python experiments/shortcut.py run --stores stores/shortcut --work runs/shortcut --out results/7-shortcut.jsonl
    python experiments/shortcut.py prepare --stores stores/parts --size demo --setting parts
    python experiments/shortcut.py run --stores stores/parts --setting parts --work runs/parts --out results/8-parts.jsonl
"""

import argparse
import subprocess
import sys
from pathlib import Path

from rows import Row, row_of, write_rows

from sayso.cli.progress import shown_overview
from sayso.embeddings.word2vec import read_word_vectors, write_word_vectors
from sayso.reproduce.folder import ReproductionFolder
from sayso.reproduce.paper import variants_named
from sayso.reproduce.plan import PlanSettings, make_plan
from sayso.reproduce.run import Request, reproduce
from sayso.store.store import Store

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
HEADS: dict[str, Row] = {
    "joined": {
        "title": "The name shortcut on the invented corpus",
        "table": "shortcut",
        "text": [
            "In training, names predict relations as strongly as the first column says; in test they never do. The paper's argument",
            "predicts that a model that reads names (the plain one, and +FE) loses on test as the shortcut grows, and that one that",
            "reads types instead (+F) does not. The ground truth for every sentence is known, so every τ uses all tuples.",
        ],
    },
    "large": {
        "title": "The name shortcut on a larger corpus",
        "table": "shortcut",
        "text": [
            "As in “The name shortcut on the invented corpus”, with eight times the training sentences and at most 6 epochs.",
        ],
    },
    "parts": {
        "title": "The name shortcut, with names split into parts",
        "table": "shortcut",
        "text": [
            "A part of a name (`port_x`, a surname) predicts the relation, but a joined name is one token. If it has a vector of",
            "its own, a model cannot see the part. Here joined names get the mean of the vectors of their parts; everything else",
            "is as in the table above.",
        ],
    },
    "noisy": {
        "title": "The name shortcut with half the labels wrong",
        "table": "shortcut",
        "text": [
            "As in the table above, but for half of the related pairs no sentence states the relation, and 70 % of their sentences are irrelevant: if",
            "the sentences do not help, a model can only fit its training data by the names.",
        ],
    },
}
NOISE = ("--unsupported", 0.5, "--irrelevant", 0.7)
BY_PARTS = ("parts", "noisy")
"""Settings in which joined names have no vectors."""


def store_of(stores: Path, strength: float) -> Path:
    """Return the path of the store for a strength."""
    return stores / f"shortcut-{strength:g}"


def prepare(arguments: argparse.Namespace) -> None:
    """Invent a corpus for each strength and make its store, with its own word vectors."""
    for strength in arguments.strengths:
        corpus = arguments.stores / f"corpus-{strength:g}"
        noise = NOISE if arguments.setting == "noisy" else ()
        size = ("--size", arguments.size)
        if arguments.train_sentences:
            size += ("--train-sentences", arguments.train_sentences)
        sayso("invent", corpus, *size, "--name-shortcut", strength, *noise, "--overwrite")
        vectors = arguments.stores / f"words-{strength:g}.bin"
        sayso("vectors", "train", corpus / "train.jsonl", "--out", vectors, "--width", arguments.width, "--seed", 13)
        if arguments.setting in BY_PARTS:
            drop_joined(vectors)
        prepare_store(corpus, vectors, store_of(arguments.stores, strength))


def prepare_store(corpus: Path, vectors: Path, store: Path) -> None:
    """Make the store of an invented corpus, with everything that variants without +E need."""
    files = {
        "--train": "train.jsonl",
        "--test": "test.jsonl",
        "--relations": "relations.tsv",
        "--types": "types.json",
        "--direct": "direct.txt",
        "--marks": "rationales.jsonl",
    }
    named = [word for option, file in files.items() for word in (option, corpus / file)]
    sayso("prepare", *named, "--vectors", vectors, "--out", store, "--overwrite")


def drop_joined(path: Path) -> None:
    """Rewrite the vectors without those of joined names."""
    found = read_word_vectors(path)
    kept = [row for row, word in enumerate(found.words) if "_" not in word.strip("_")]
    write_word_vectors(path, [found.words[row] for row in kept], found.matrix[kept], binary=True)


def sayso(*words: object) -> None:
    """Run a sayso command."""
    subprocess.run([sys.executable, "-m", "sayso", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def run(arguments: argparse.Namespace) -> None:
    """Train all runs for each strength and write a line per run."""
    rows: list[Row] = []
    for strength in arguments.strengths:
        size = (
            f"{arguments.train_sentences:,} training sentences"
            if arguments.train_sentences
            else f"size {arguments.size}"
        )
        name = f"invented corpus, {size}, name shortcut {strength:g}"
        if arguments.setting in BY_PARTS:
            name += ", names by their parts"
        if arguments.setting == "noisy":
            name += ", half the labels wrong"
        store, out = store_of(arguments.stores, strength), arguments.work / f"shortcut-{strength:g}"
        more = {"strength": strength, "setting": arguments.setting}
        rows += [row | more for row in rows_of_runs(arguments, store, out, name)]
    write_rows(arguments.out, HEADS[arguments.setting], rows)
    print(f"wrote {arguments.out}; next: make docs")


def rows_of_runs(arguments: argparse.Namespace, store: Path, out: Path, name: str) -> list[Row]:
    """Train the missing runs on one store; return a line per run."""
    changes = () if arguments.epochs is None else (f"train.max_epochs={arguments.epochs}",)
    wish = PlanSettings(
        variants=variants_named(arguments.variants.split(",")),
        num_seeds=arguments.seeds,
        changes=changes,
        has_grid=False,
    )
    request = Request(
        store=store,
        out=out,
        name=name,
        plan=wish,
        device=arguments.device,
        num_workers=arguments.jobs,
        num_resamples=200,
        keeps_models=False,
    )
    print(name, file=sys.stderr)
    with shown_overview() as overview:
        reproduce(request, overview.begin, overview.update)
    opened = Store(store)
    outcomes = ReproductionFolder(out).done(make_plan(opened, wish).runs, opened.fingerprint)
    return [row_of(each, name, changes) for each in outcomes.values()]


def stages_of(about: str | None, name: str, results: str, variants: str) -> argparse.ArgumentParser:
    """Return a parser for the arguments that two-stage experiments share."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["prepare", "run"])
    parser.add_argument("--stores", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs") / name)
    parser.add_argument("--out", type=Path, default=Path("results") / results)
    parser.add_argument("--variants", default=variants)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=0, help="parallel runs; 0: depends on the device")
    parser.add_argument("--device", default="auto")
    return parser


def main() -> None:
    """Parse the arguments and run one of the two stages."""
    parser = stages_of(__doc__, "shortcut", "7-shortcut.jsonl", "CNNs+ATT,CNNs+ATT+F,CNNs+ATT+FE,CNNs+ATT+LD")
    parser.add_argument("--size", default="demo", help="size for `sayso invent`")
    parser.add_argument("--train-sentences", type=int, default=0, help="override the number of training sentences")
    parser.add_argument("--setting", choices=list(HEADS), default="joined", help="how names and labels are set up")
    parser.add_argument("--width", type=int, default=50, help="width of the word vectors")
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--epochs", type=int, default=None, help="maximum epochs; by default the config's")
    arguments = parser.parse_args()
    {"prepare": prepare, "run": run}[arguments.stage](arguments)


if __name__ == "__main__":
    main()
