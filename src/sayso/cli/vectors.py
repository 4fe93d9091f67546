"""`sayso vectors`: word vectors of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from sayso.cli.console import print_json, remark, say, say_next
from sayso.errors import as_command
from sayso.seeding import drawn_seed

app = typer.Typer(help="Train word vectors.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Train word vectors."""


@app.command()
def train(
    corpora: Annotated[list[Path], typer.Argument(metavar="CORPUS", help="Sentences in any form, plain or gzip.")],
    out: Annotated[Path, typer.Option(help="File to write: word2vec text, or binary if it ends in .bin.")],
    width: Annotated[int, typer.Option(help="Numbers a vector.")] = 300,
    window: Annotated[int, typer.Option(help="Words to either side that count as context.")] = 5,
    epochs: Annotated[int, typer.Option(help="Passes over the text.")] = 5,
    min_count: Annotated[int, typer.Option(help="Words that occur less often get no vector.")] = 2,
    seed: Annotated[int | None, typer.Option(help="Seed; drawn and printed if not given.")] = None,
    workers: Annotated[int, typer.Option(help="Threads; more than one is faster but not repeatable.")] = 1,
    max_bad: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of bad lines above which nothing is trained.")
    ] = 0.001,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train skip-gram vectors on the sentences of a corpus, each distinct sentence once.

    Needs the extra `vectors` (gensim).

    Example: `sayso vectors train train.txt.gz --out words.bin`
    """
    from sayso.embeddings.skip_gram import SkipGramSettings, train_skip_gram

    seed = _announced(seed)
    settings = SkipGramSettings(
        width=width, window=window, epochs=epochs, min_count=min_count, seed=seed, workers=workers
    )
    report = train_skip_gram(corpora, out, settings, max_bad, on_progress=remark)
    if report.num_bad:
        remark(f"{report.num_bad:,} bad lines were left out; see `sayso check`")
    if as_json:
        print_json({"words": report.num_words, "sentences": report.num_sentences, "seed": seed})
    else:
        say(f"{report.num_words:,} words of {report.num_sentences:,} distinct sentences")
    files = ("--train", corpora[0], *_tables_beside(corpora[0]), "--vectors", out, "--out", "STORE")
    say_next(str(out), as_command("sayso", "prepare", *files))


def _tables_beside(corpus: Path) -> list[object]:
    """Return the options that name relations and types, where `build` or `invent` wrote them beside the sentences."""
    from sayso.documents.folder import RELATIONS, types_of
    from sayso.io.folder_kind import kind_of

    folder = corpus.parent
    kind = kind_of(folder)
    if kind == "invented":
        return ["--relations", folder / "relations.tsv", "--types", folder / "types.json"]
    if kind == "corpus":
        types = types_of(folder, None)
        return ["--relations", folder / RELATIONS, *(("--types", types) if types else ())]
    return []


def _announced(seed: int | None) -> int:
    """Return the seed, or a drawn one that is printed so that the run can be repeated."""
    if seed is None:
        seed = drawn_seed()
        remark(f"seed {seed}")
    return seed
