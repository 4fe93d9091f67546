"""`sayso build`: build a corpus from documents and a knowledge base, by distant supervision."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from sayso.cli.console import new_path, note, print_result, print_table, resumable, say_next, stages
from sayso.cli.options import AsJson, EngineOptions, with_settings
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.errors import UserError, as_command


@with_settings
def build(
    inputs: BuildInputs,
    out: Annotated[Path, typer.Option(help="Folder for the corpus; must be empty or missing.")],
    settings: BuildSettings,
    *,
    max_bad: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Fail if more than this fraction of the documents are unusable.")
    ] = 0.05,
    append: Annotated[bool, typer.Option("--append", help="Add documents, or continue after an interruption.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove the existing corpus and start over.")] = False,
    engine: EngineOptions,
    as_json: AsJson = False,
) -> None:
    """Build a corpus: split documents into sentences, find the names, label the pairs from a knowledge base.

    Writes the training sentences (`OUT/train`), those for other pairs (`OUT/rest`), types and relations.

    Example: `sayso build --documents articles --kb kb.tsv --names names.tsv --types types.json --out corpora/mine`
    """
    from sayso.documents.build import build as build_corpus
    from sayso.documents.corpus import BuildMode

    if append and overwrite:
        raise UserError("use either --append (continue) or --overwrite (start over), not both")
    with resumable(out, "--append"), engine.open() as opened, stages() as show:
        mode: BuildMode = "append" if append else "overwrite" if overwrite else "new"
        manifest = build_corpus(inputs, settings, out, show, mode, max_bad, opened)
    print_result(as_json, manifest, lambda: print_corpus(manifest))
    words, store = new_path("words.bin"), new_path("store")
    check = as_command("sayso", "check", out)
    vectors = as_command("sayso", "vectors", "train", out, "--out", words)
    prepare = as_command("sayso", "prepare", "--train", out, "--vectors", words, "--out", store)
    say_next(str(out), check, vectors, prepare)


def print_corpus(manifest: dict[str, Any]) -> None:
    """Print the counts of a manifest, and what the user should know about them."""
    print_table("corpus", ["", "number"], [[name, number] for name, number in manifest["counts"].items() if number])
    for line in chain(_about_documents(manifest), _about_names(manifest), _about_facts(manifest)):
        note(line)
    types = manifest["types"]
    if types["num_learnt_from"]:
        right = "none correctly" if types["accuracy"] is None else f"{types['accuracy']:.0%} of those correctly"
        note(
            f"types: {types['types']:,} guessed (guessed_types.tsv); of {types['num_held_out']:,} held-out entities"
            f" with a known type, {types['share_guessed']:.0%} get a guess, {right}"
        )


def _about_documents(manifest: dict[str, Any]) -> Iterator[str]:
    documents = manifest["documents"]
    yield f"documents: {documents['num_new']:,} new, {documents['num_already_there']:,} already built"
    if documents["num_changed"]:
        named = ", ".join(documents["changed"])
        yield (
            f"documents: {documents['num_changed']:,} skipped because their ids already exist with different text:"
            f" {named} (give a changed document a new id, or start over with --overwrite)"
        )
    for reason, number in documents["left_out"].items():
        yield f"documents left out: {number:,}: {reason}"
    yield from documents["first_bad"]
    if manifest["counts"]["sentences too long"]:
        most = ", ".join(f"{name} ({number:,})" for name, number in list(manifest["too_long"].items())[:5])
        yield (
            f"sentences left out: {manifest['counts']['sentences too long']:,} of more than"
            f" {manifest['settings']['max_tokens']:,} tokens (--max-tokens); most in: {most}"
        )


def _about_names(manifest: dict[str, Any]) -> Iterator[str]:
    names, counts = manifest["names"], manifest["counts"]
    yield f"names: {names['names']:,} for {names['entities']:,} entities, {names['ambiguous']:,} ambiguous"
    for reason, number in names["stopped"].items():
        yield f"names skipped: {number:,} ({reason})"
    if names["first_stopped"]:
        yield f"names skipped, for example: {', '.join(names['first_stopped'])}"
    if names["unspaced"]:
        yield (
            f"names in a script without spaces between words: {names['unspaced']:,}, found only between spaces or"
            f" punctuation (first: {', '.join(names['first_unspaced'])}); such documents need mentions from another"
            " tool"
        )
    if counts.get("ambiguous names"):
        most = ", ".join(f"{name} ({number:,})" for name, number in list(manifest["ambiguous"].items())[:5])
        yield (
            f"ambiguous names: {counts['ambiguous names']:,} occurrences, {counts['ambiguous names resolved']:,}"
            f" resolved (--ambiguous {manifest['settings']['ambiguous']}); most frequent: {most}"
        )
    if counts.get("new entities"):
        new = manifest["new_entities"]
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in new["kinds"].items())
        most = ", ".join(f"{name} ({number:,})" for name, number in list(new["most_frequent"].items())[:5])
        yield f"new entities: {new['entities']:,} ({kinds}), listed in new_entities.tsv; in most sentences: {most}"
    if counts.get("doubtful links"):
        most = ", ".join(f"{reason} ({number:,})" for reason, number in list(manifest["doubtful"].items())[:5])
        done = "dropped" if manifest["settings"]["doubtful"] == "drop" else "kept"
        yield (
            f"doubtful links: {counts['doubtful links']:,} of {counts['names']:,} names, {done} (--doubtful), listed in"
            f" doubtful/; most frequent: {most}"
        )


def _about_facts(manifest: dict[str, Any]) -> Iterator[str]:
    knowledge = manifest["knowledge"]
    yield f"facts: {knowledge['facts']:,} about {knowledge['pairs']:,} pairs, {knowledge['relations']:,} relations"
    for kind, number in knowledge["odd"].items():
        yield f"facts {kind}: {number:,} (first: {knowledge['first_odd'][kind][0]})"
    if not manifest["counts"]["lines with a relation"]:
        yield (
            "nothing to learn from: no sentence names two entities that a fact links; do --names and --kb use the"
            " same ids, and do the documents spell the names in the same way (--case ignore for lower-case text)?"
        )
