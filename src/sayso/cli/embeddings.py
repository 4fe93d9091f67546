"""`sayso vectors` and `sayso entities`: train word vectors and entity vectors."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import new_path, note, print_result, say_next
from sayso.cli.options import AsJson, Device, MaxBad, settings_from
from sayso.errors import as_command
from sayso.io.atomic import refuse_unwritable_path
from sayso.io.folder import kind_of
from sayso.readers.tables import read_triples
from sayso.seeding import drawn_seed

if TYPE_CHECKING:
    from sayso.embeddings.graph import Graph

vectors = typer.Typer(help="Train word vectors.", no_args_is_help=True)
entities = typer.Typer(help="Train entity vectors.", no_args_is_help=True)
vectors.callback()(lambda: None)  # keeps `train` a subcommand although it is the only one
entities.callback()(lambda: None)

_Vectors = Annotated[Path, typer.Option(help="Word2vec file to write: binary if it ends in .bin, else text.")]
_Seed = Annotated[int | None, typer.Option(help="Seed; by default a random one, which is printed.")]


@vectors.command("train")
def train_words(
    corpora: Annotated[
        list[Path],
        typer.Argument(metavar="CORPUS", help="Sentences in any format, a built corpus, or documents; plain or gzip."),
    ],
    out: _Vectors,
    width: Annotated[int, typer.Option(help="Dimension of the vectors.")] = 300,
    window: Annotated[int, typer.Option(help="Words of context on either side.")] = 5,
    epochs: Annotated[int, typer.Option(help="Passes over the text.")] = 5,
    min_count: Annotated[int, typer.Option(help="Words that occur less often get no vector.")] = 2,
    seed: _Seed = None,
    workers: Annotated[int, typer.Option(help="Threads; with more than one, results vary from run to run.")] = 1,
    max_bad: MaxBad = 0.001,
    as_json: AsJson = False,
) -> None:
    """Train skip-gram vectors on the sentences of a corpus or of documents; each distinct sentence counts once.

    Needs the extra `vectors` (gensim).

    Example: `sayso vectors train train.txt.gz --out words.bin`
    """
    from sayso.documents.document import holds_documents
    from sayso.embeddings.skip_gram import SkipGramSettings, train_skip_gram

    seed = _given_or_drawn(seed)
    report = train_skip_gram(corpora, out, settings_from(SkipGramSettings, locals()), max_bad, on_note=note)
    if report.num_bad:
        note(f"{report.num_bad:,} bad lines were left out; see `sayso check`")
    record = {"words": report.num_words, "sentences": report.num_sentences, "seed": seed}
    print_result(as_json, record, f"{report.num_words:,} words from {report.num_sentences:,} distinct sentences")
    if holds_documents(corpora[0]):
        say_next(str(out), hint=f"to use them, add {as_command('--vectors', out)} to `sayso prepare`")
        return
    files = ("--train", corpora[0], *_tables_next_to(corpora[0]), "--vectors", out, "--out", new_path("store"))
    say_next(str(out), as_command("sayso", "prepare", *files))


def _tables_next_to(corpus: Path) -> list[object]:
    """Return the options for the relations and types that `build` or `invent` wrote next to the sentences."""
    from sayso.documents.corpus import RELATIONS, types_of

    folder = corpus.parent
    kind = kind_of(folder)
    if kind == "invented":
        return ["--relations", folder / "relations.tsv", "--types", folder / "types.json"]
    if kind == "corpus":
        types = types_of(folder, None)
        return ["--relations", folder / RELATIONS, *(("--types", types) if types else ())]
    return []


def _given_or_drawn(seed: int | None) -> int:
    """Return the seed, or print and return a random one."""
    if seed is None:
        seed = drawn_seed()
        note(f"seed {seed}")
    return seed


@entities.command("train")
def train_entities(
    triples: Annotated[
        Path, typer.Argument(metavar="TRIPLES", help="Facts as TSV: head, relation, tail; plain or gzip.")
    ],
    out: _Vectors,
    exclude: Annotated[
        list[Path] | None, typer.Option(help="Pairs to exclude: test sentences, or two columns of ids.")
    ] = None,
    exclude_store: Annotated[
        Path | None, typer.Option(help="Store whose validation and test pairs are excluded.")
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Leave out facts about excluded pairs instead of failing.")
    ] = False,
    width: Annotated[int, typer.Option(help="Dimension of the vectors.")] = 100,
    epochs: Annotated[
        int,
        typer.Option(help="Maximum passes over the facts; fewer if ranks stop improving."),
    ] = 30,
    seed: _Seed = None,
    device: Device = "auto",
    max_bad: MaxBad = 0.001,
    as_json: AsJson = False,
) -> None:
    """Train TransE vectors on the facts of a knowledge graph.

    A fact between the two entities of a test pair would leak the answer: with the test files as `--exclude`, such facts
    are an error. Facts about validation pairs inflate validation scores: exclude them with `--exclude-store` and a
    store made from the same files with the same seed.

    Example: `sayso entities train kg.tsv.gz --exclude test.txt.gz --out entities.bin`
    """
    from sayso.embeddings.transe import TransESettings, train_transe
    from sayso.embeddings.word2vec import refuse_unwritable, write_word_vectors

    seed = _given_or_drawn(seed)
    settings = settings_from(TransESettings, locals())
    refuse_unwritable_path(out)
    graph, left_out = _read(triples, exclude or [], exclude_store, drop, max_bad)
    refuse_unwritable(graph.entity_ids)
    started = time.monotonic()
    about = "epoch {0.number}: loss {0.loss:.3f}, held-out MRR {0.held_out_mrr:.3f}"
    found = train_transe(graph, settings, on_epoch=lambda epoch: note(about.format(epoch)))
    seconds = time.monotonic() - started
    write_word_vectors(out, graph.entity_ids, found.entity_ED, binary=out.suffix == ".bin")
    counts = {"entities": graph.num_entities, "facts": len(graph.fact_F3), "seed": seed, "seconds": seconds}
    held_out = {"held_out_mrr": found.held_out_mrr, "held_out_facts": found.num_held_out}
    record = {**counts, **held_out, "best_epoch": found.best_epoch, "facts_left_out": left_out}
    text = f"filtered MRR {found.held_out_mrr:.3f} on {found.num_held_out:,} held-out facts (epoch {found.best_epoch})"
    print_result(as_json, record, f"{graph.num_entities:,} entities; {text}; {seconds:.1f} s")
    say_next(str(out), hint=f"to use them, add {as_command('--entity-vectors', out)} to `sayso prepare`")


def _read(
    path: Path, exclude: list[Path], store: Path | None, drop: bool, max_bad: float
) -> "tuple[Graph, dict[str, int]]":
    """Return the graph without facts about excluded pairs, and their count; raise on such facts unless `drop`."""
    from sayso.embeddings.graph import Exclusion, number_facts, read_pairs, unordered
    from sayso.store.store import Store

    exclusions = {"excluded": Exclusion(read_pairs(exclude, max_bad))} if exclude else {}
    if store:
        opened = Store(store)
        ids = opened.entities["id"].to_pylist()
        for part in (part for part in ("test", "validation") if part in opened.parts):
            pairs = opened.part(part).pairs
            exclusions[part] = Exclusion({unordered(ids[head], ids[tail]) for head, tail in pairs})
    triples = read_triples(path)
    for exclusion in exclusions.values():
        triples = exclusion.keep(triples)
    graph = number_facts(triples)
    for name, exclusion in exclusions.items():
        if not drop:
            exclusion.refuse_any(path)
        note(f"left out {exclusion.num_left_out:,} facts about the {len(exclusion.pairs):,} {name} pairs")
    if not exclusions:
        note("no --exclude: facts about test pairs, if any, are used for training")
    note(f"{len(graph.fact_F3):,} facts, {graph.num_entities:,} entities, {graph.num_relations:,} relations")
    return graph, {name: exclusion.num_left_out for name, exclusion in exclusions.items()}
