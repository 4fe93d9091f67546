"""`sayso entities`: entity vectors from a knowledge graph."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import print_json, remark, say, say_next
from sayso.errors import as_command
from sayso.seeding import drawn_seed

if TYPE_CHECKING:
    from sayso.embeddings.graph import Exclusion, Graph
    from sayso.embeddings.transe import TransEEpoch

app = typer.Typer(help="Train entity vectors.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Train entity vectors."""


@app.command()
def train(
    triples: Annotated[
        Path, typer.Argument(metavar="TRIPLES", help="Facts: head, relation and tail with tabs between, plain or gzip.")
    ],
    out: Annotated[Path, typer.Option(help="File to write: word2vec text, or binary if it ends in .bin.")],
    exclude: Annotated[
        list[Path] | None, typer.Option(help="Test sentences (or two columns of ids) whose pairs must not be used.")
    ] = None,
    exclude_store: Annotated[
        Path | None, typer.Option(help="Store whose validation and test pairs must not be used either.")
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Leave facts of excluded pairs out instead of refusing.")
    ] = False,
    width: Annotated[int, typer.Option(help="Numbers a vector.")] = 100,
    epochs: Annotated[int, typer.Option(help="Passes over the facts, at most; stops when ranks no longer rise.")] = 30,
    seed: Annotated[int | None, typer.Option(help="Seed; drawn and printed if not given.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    max_bad: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of bad lines above which an excluded file is refused.")
    ] = 0.001,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Train TransE vectors from the facts of a knowledge graph.

    Facts that join a pair of the test set, in either direction, would give the answer away: name the test files with
    `--exclude`, and such facts are refused. Those of validation pairs make validation look better than test: name
    a store that was made of the same files with the same seed with `--exclude-store`.

    Example: `sayso entities train kg.tsv.gz --exclude test.txt.gz --out entities.bin`
    """
    from sayso.embeddings.transe import TransESettings, train_transe
    from sayso.embeddings.word2vec import refuse_unwritable, write_word_vectors
    from sayso.io.atomic import refuse_unwritable_path

    if seed is None:
        seed = drawn_seed()
        remark(f"seed {seed}")
    settings = TransESettings(width=width, epochs=epochs, seed=seed, device=device)
    refuse_unwritable_path(out)
    graph, left_out = _read(triples, _exclusions(exclude or [], exclude_store, max_bad), drop)
    refuse_unwritable(graph.entity_ids)
    started = time.monotonic()
    vectors = train_transe(graph, settings, on_epoch=_show)
    seconds = time.monotonic() - started
    write_word_vectors(out, graph.entity_ids, vectors.entity_ED, binary=out.suffix == ".bin")
    if as_json:
        found = {"entities": graph.num_entities, "facts": len(graph.fact_F3), "seed": seed, "seconds": seconds}
        held_out = {"held_out_mrr": vectors.held_out_mrr, "held_out_facts": vectors.num_held_out}
        print_json({**found, **held_out, "best_epoch": vectors.best_epoch, "facts_left_out": left_out})
    else:
        say(
            f"{graph.num_entities:,} entities; filtered MRR {vectors.held_out_mrr:.3f} on {vectors.num_held_out:,}"
            f" held-out facts (epoch {vectors.best_epoch}); {seconds:.1f} s"
        )
    say_next(str(out), as_command("sayso", "prepare", "--entity-vectors", out, "--train", "FILE", "--out", "STORE"))


def _exclusions(files: list[Path], store: Path | None, max_bad: float) -> "dict[str, Exclusion]":
    """Return the pairs that must not be used, by what they are; nothing that was not asked for."""
    from sayso.embeddings.graph import Exclusion, read_pairs, unordered
    from sayso.store.store import Store

    exclusions = {"excluded": Exclusion(read_pairs(files, max_bad))} if files else {}
    if store:
        opened = Store(store)
        ids = opened.entities["id"].to_pylist()
        for part in (part for part in ("test", "validation") if part in opened.parts):
            bags = opened.part(part)
            pairs = zip(bags.head_B.tolist(), bags.tail_B.tolist(), strict=True)
            exclusions[part] = Exclusion({unordered(ids[head], ids[tail]) for head, tail in pairs})
    return exclusions


def _read(path: Path, exclusions: "dict[str, Exclusion]", drop: bool) -> "tuple[Graph, dict[str, int]]":
    """Return the graph without facts of excluded pairs, and how many those are; refuse them unless to be dropped."""
    from sayso.embeddings.graph import number_facts
    from sayso.readers.fact import read_triples

    triples = read_triples(path)
    for exclusion in exclusions.values():
        triples = exclusion.keep(triples)
    graph = number_facts(triples)
    for name, exclusion in exclusions.items():
        if not drop:
            exclusion.refuse_any(path)
        remark(f"{exclusion.num_left_out:,} facts left out: they join one of {len(exclusion.pairs):,} {name} pairs")
    if not exclusions:
        remark("no --exclude: facts of test pairs, if there are any, are trained on")
    remark(f"{len(graph.fact_F3):,} facts, {graph.num_entities:,} entities, {graph.num_relations:,} relations")
    return graph, {name: exclusion.num_left_out for name, exclusion in exclusions.items()}


def _show(epoch: "TransEEpoch") -> None:
    remark(f"epoch {epoch.number}: loss {epoch.loss:.3f}, held-out MRR {epoch.held_out_mrr:.3f}")
