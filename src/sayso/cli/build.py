"""`sayso build`: documents and a knowledge base to a corpus, by distant supervision."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import print_json, print_table, remark, say_next, stages
from sayso.cli.ending import interrupted
from sayso.cli.engine import Address, EngineName, EngineOption, Workers, opened
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.documents.folder import BuildMode


class Ambiguous(StrEnum):
    """What to do with a name that several entities have."""

    skip = "skip"
    document = "document"
    types = "types"


class Case(StrEnum):
    """How names may be written."""

    capitals = "capitals"
    exact = "exact"
    ignore = "ignore"


class Finder(StrEnum):
    """What finds names."""

    names = "names"
    spacy = "spacy"


def build(
    documents: Annotated[Path, typer.Option(help="Folder of .txt and .html, JSON lines (id, text), or one text.")],
    kb: Annotated[Path, typer.Option(help="Facts: head id, relation, tail id, with tabs.")],
    names: Annotated[Path, typer.Option(help="Names: id, name, other names, with tabs or as JSON lines.")],
    out: Annotated[Path, typer.Option(help="Folder of the corpus; must not hold anything yet.")],
    types: Annotated[Path | None, typer.Option(help="Entity types, JSON or TSV; others are guessed.")] = None,
    relations: Annotated[
        Path | None, typer.Option(help="Relation inventory; without it, the relations of the facts.")
    ] = None,
    na: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the unrelated pairs that training sees as NA.")
    ] = 0.25,
    ambiguous: Annotated[
        Ambiguous, typer.Option(help="Names of several entities: skip, or decide by document or by types.")
    ] = Ambiguous.skip,
    case: Annotated[
        Case, typer.Option(help="capitals: a name's capitals must be there, more may be; or exact, ignore.")
    ] = Case.capitals,
    stop_names: Annotated[Path | None, typer.Option(help="Further names to pass over, one a line.")] = None,
    finder: Annotated[
        Finder, typer.Option(help="names: the KB's own; spacy: spaCy with them as a ruler.")
    ] = Finder.names,
    spacy_model: Annotated[str, typer.Option(help="A spaCy model whose named entities go before the names.")] = "",
    guess_types: Annotated[bool, typer.Option(help="Guess the types of entities without one.")] = True,
    max_pairs: Annotated[int, typer.Option(min=1, help="Most pairs that one sentence gives.")] = 30,
    max_tokens: Annotated[int, typer.Option(min=5, help="Longer sentences are left out.")] = 300,
    max_document_mb: Annotated[int, typer.Option(min=1, help="Larger documents are left out.")] = 32,
    only_utf8: Annotated[
        bool, typer.Option(help="Leave out what is not UTF-8 instead of reading Windows-1252.")
    ] = False,
    max_bad: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of unusable documents above which the build stops.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Decides which unrelated pairs are NA.")] = 13,
    append: Annotated[bool, typer.Option("--append", help="Add documents, or go on after an interruption.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the corpus that is there, start over.")
    ] = False,
    engine: EngineOption = EngineName.local,
    address: Address = "",
    workers: Workers = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest.")] = False,
) -> None:
    """Build a corpus: sentences split, names found, pairs aligned with the facts of a knowledge base.

    Writes sentences for training (`OUT/train`), those of the other pairs (`OUT/rest`), types and relations.

    Example: `sayso build --documents articles --kb kb.tsv --names names.tsv --types types.json --out corpora/mine`
    """
    from sayso.documents.build import build as build_corpus
    from sayso.documents.settings import BuildInputs, BuildSettings

    if spacy_model and finder != Finder.spacy:
        raise UserError("--spacy-model is for --finder spacy")
    inputs = BuildInputs(
        documents=documents, kb=kb, names=names, types=types, relations=relations, stop_names=stop_names
    )
    settings = BuildSettings(
        seed=seed,
        na_share=na,
        finder=finder.value,
        spacy_model=spacy_model,
        case=case.value,
        ambiguous=ambiguous.value,
        max_pairs=max_pairs,
        max_tokens=max_tokens,
        max_document_mb=max_document_mb,
        only_utf8=only_utf8,
        guess_types=guess_types,
    )
    try:
        with opened(engine, address, workers) as chosen, stages() as show:
            manifest = build_corpus(inputs, settings, out, show, _mode(append, overwrite), max_bad, chosen)
    except KeyboardInterrupt as error:
        raise interrupted(
            error, f"interrupted; all that is done is in {out}: the same command with --append goes on"
        ) from None
    if as_json:
        print_json(manifest)
    else:
        _print(manifest)
    typed = ("--types", out / "types.json") if manifest["types"]["given"] else ()
    tables = ("--relations", out / "relations.jsonl", *typed)
    check = as_command("sayso", "check", out / "train", *tables)
    vectors = as_command("sayso", "vectors", "train", out / "train", "--out", "words.bin")
    prepare = as_command(
        "sayso", "prepare", "--train", out / "train", *tables, "--vectors", "words.bin", "--out", "STORE"
    )
    say_next(str(out), check, vectors, prepare)


def _mode(append: bool, overwrite: bool) -> "BuildMode":
    if append and overwrite:
        raise UserError("--append and --overwrite exclude each other: go on, or start over")
    return "append" if append else "overwrite" if overwrite else "new"


def _print(manifest: dict[str, Any]) -> None:
    rows = [[name, number] for name, number in manifest["counts"].items() if number]
    print_table("what is there", ["", "number"], rows)
    documents, lines = _about_documents(manifest["documents"]), _about_lines(manifest["counts"])
    for line in (*documents, *_about_names(manifest), *_about_knowledge(manifest), *lines):
        remark(line)
    types = manifest["types"]
    if types["num_learnt_from"]:
        right = "none right" if types["accuracy"] is None else f"{types['accuracy']:.0%} of those right"
        remark(
            f"types: {types['types']:,} guessed (guessed_types.tsv); on {types['num_held_out']:,} typed entities held"
            f" out, {types['share_guessed']:.0%} would be guessed, {right}"
        )


def _about_documents(documents: dict[str, Any]) -> list[str]:
    lines = [f"documents: {documents['num_new']:,} new, {documents['num_already_there']:,} there already"]
    if documents["num_changed"]:
        named = ", ".join(documents["changed"])
        lines.append(
            f"documents: {documents['num_changed']:,} not taken, because their id is there with another text: {named}"
            " (give a changed document a new id, or start over with --overwrite)"
        )
    lines += [f"documents left out: {number:,}: {reason}" for reason, number in documents["left_out"].items()]
    return [*lines, *documents["first_bad"]]


def _about_lines(counts: dict[str, int]) -> list[str]:
    if counts["lines with a relation"]:
        return []
    return [
        "nothing to learn from: no sentence names two entities that the facts relate; do --names and --kb use the same"
        " ids, and are names written as in the documents (--case ignore for lower case)?"
    ]


def _about_names(manifest: dict[str, Any]) -> list[str]:
    names, counts = manifest["names"], manifest["counts"]
    lines = [f"names: {names['names']:,} of {names['entities']:,} entities, {names['ambiguous']:,} of several entities"]
    for reason, number in names["stopped"].items():
        lines.append(f"names passed over: {number:,} ({reason})")
    if names["first_stopped"]:
        lines.append(f"names passed over, the first: {', '.join(names['first_stopped'])}")
    if counts.get("ambiguous names"):
        most = ", ".join(f"{name} ({number:,})" for name, number in list(manifest["ambiguous"].items())[:5])
        lines.append(
            f"ambiguous: {counts['ambiguous names']:,} times, {counts['ambiguous names resolved']:,} resolved"
            f" (--ambiguous {manifest['settings']['ambiguous']}); most often {most}"
        )
    return lines


def _about_knowledge(manifest: dict[str, Any]) -> list[str]:
    knowledge = manifest["knowledge"]
    lines = [f"facts: {knowledge['facts']:,} of {knowledge['pairs']:,} pairs, {knowledge['relations']:,} relations"]
    for kind, number in knowledge["odd"].items():
        lines.append(f"facts {kind}: {number:,}, the first is {knowledge['first_odd'][kind][0]}")
    return lines
