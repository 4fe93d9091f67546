"""What names that go with relations in training do: test AP and tau of variants over the strength of that shortcut.

The invented corpus says how strongly parts of names and relations go together in training (`--name-shortcut`, from 0 to
1); in test they never do. With `--setting parts` no joined name (`port_x`) has a vector of its own, so that each is the
mean of its parts and the shortcut is in plain sight of every model that reads names; with `--setting noisy` moreover no
sentence of half the related pairs says so, so that there is something to gain from names. `large` is for more sentences.

The stores are made first (`prepare`, which needs gensim), then the runs (`run`), perhaps elsewhere.
Killed, `run` goes on where it stood.

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
            "In training, names go with relations as strongly as the first column says; in test they never do. The paper's argument",
            "predicts that a model that reads names (the plain one, and +FE) loses on test as the shortcut grows, and that one that",
            "reads types instead (+F) does not. Every sentence's truth is known, so every τ has all tuples there are.",
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
        "title": "The name shortcut in plain sight",
        "table": "shortcut",
        "text": [
            "What goes with a relation is a part of a name (`port_x`, a surname), and a joined name is one token. Where it has a vector of",
            "its own, a model cannot see the part. Here joined names have none, so each is the mean of the vectors of its parts; all else",
            "is as in the table above.",
        ],
    },
    "noisy": {
        "title": "The name shortcut where half the labels are wrong",
        "table": "shortcut",
        "text": [
            "As in the table above, but in half of the related pairs no sentence says so, and 70 % of their sentences are irrelevant: where",
            "the sentences do not tell, a model can only fit its training data by the names.",
        ],
    },
}
NOISE = ("--unsupported", 0.5, "--irrelevant", 0.7)
BY_PARTS = ("parts", "noisy")
"""Settings in which joined names have no vectors."""


def store_of(stores: Path, strength: float) -> Path:
    """Return where the store of a strength lies."""
    return stores / f"shortcut-{strength:g}"


def prepare(arguments: argparse.Namespace) -> None:
    """Invent a corpus for each strength and make its store, with word vectors of its own."""
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
    """Make the store of an invented corpus, with all that its variants without +E need."""
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
    """Write the vectors anew, without those of joined names."""
    found = read_word_vectors(path)
    kept = [row for row, word in enumerate(found.words) if "_" not in word.strip("_")]
    write_word_vectors(path, [found.words[row] for row in kept], found.matrix[kept], binary=True)


def sayso(*words: object) -> None:
    """Run a command as a user does."""
    subprocess.run([sys.executable, "-m", "sayso", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def run(arguments: argparse.Namespace) -> None:
    """Make all runs of each strength and write a line for each."""
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
    """Make the runs that are not there yet on one store; return a line for each."""
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
        num_workers=arguments.runs,
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
    """Return what reads the arguments that experiments of two stages share."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["prepare", "run"])
    parser.add_argument("--stores", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs") / name)
    parser.add_argument("--out", type=Path, default=Path("results") / results)
    parser.add_argument("--variants", default=variants)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=0, help="runs side by side; 0: by device")
    parser.add_argument("--device", default="auto")
    return parser


def main() -> None:
    """Read the arguments and do one of the two."""
    parser = stages_of(__doc__, "shortcut", "7-shortcut.jsonl", "CNNs+ATT,CNNs+ATT+F,CNNs+ATT+FE,CNNs+ATT+LD")
    parser.add_argument("--size", default="demo", help="of `sayso invent`")
    parser.add_argument("--train-sentences", type=int, default=0, help="instead of the size's")
    parser.add_argument("--setting", choices=list(HEADS), default="joined", help="of names and labels")
    parser.add_argument("--width", type=int, default=50, help="of the word vectors")
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--epochs", type=int, default=None, help="at most; else the paper's")
    arguments = parser.parse_args()
    {"prepare": prepare, "run": run}[arguments.stage](arguments)


if __name__ == "__main__":
    main()
