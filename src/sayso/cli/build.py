"""`sayso build`: build a corpus from documents and a knowledge base, by distant supervision."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sayso.cli.console import note, print_result, print_table, resumable, say_next, stages
from sayso.cli.options import Address, AsJson, EngineName, Workers, open_engine, settings_from
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.documents.folder import BuildMode


def build(
    documents: Annotated[
        Path, typer.Option(help="Documents: a folder of .txt and .html, JSON lines (id, text), or one text file.")
    ],
    kb: Annotated[Path, typer.Option(help="Facts as TSV: head id, relation, tail id.")],
    names: Annotated[Path, typer.Option(help="Names as TSV or JSON lines: id, name, other names.")],
    out: Annotated[Path, typer.Option(help="Folder for the corpus; must be empty or missing.")],
    types: Annotated[Path | None, typer.Option(help="Entity types, JSON or TSV; missing types are guessed.")] = None,
    relations: Annotated[Path | None, typer.Option(help="Relations; by default those in the facts.")] = None,
    na_share: Annotated[
        float, typer.Option("--na", min=0.0, max=1.0, help="Share of the unrelated pairs used for training, as NA.")
    ] = 0.25,
    ambiguous: Annotated[
        Literal["skip", "document", "types"],
        typer.Option(help="Names shared by several entities: skip them, or resolve them by document or by type."),
    ] = "skip",
    case: Annotated[
        Literal["capitals", "exact", "ignore"],
        typer.Option(help="capitals: at least the name's capitals; exact: same case; ignore: any case."),
    ] = "capitals",
    stop_names: Annotated[Path | None, typer.Option(help="More names to skip, one per line.")] = None,
    finder: Annotated[
        Literal["names", "spacy"],
        typer.Option(help="names: search for the names; spacy: spaCy with the names as rules."),
    ] = "names",
    spacy_model: Annotated[str, typer.Option(help="spaCy model whose named entities take precedence.")] = "",
    guess_types: Annotated[bool, typer.Option(help="Guess the types of entities without one.")] = True,
    max_pairs: Annotated[int, typer.Option(min=1, help="Maximum pairs per sentence.")] = 30,
    max_tokens: Annotated[int, typer.Option(min=5, help="Longer sentences are left out.")] = 300,
    max_document_mb: Annotated[int, typer.Option(min=1, help="Larger documents are left out.")] = 32,
    only_utf8: Annotated[
        bool, typer.Option(help="Leave out documents that are not UTF-8 instead of reading Windows-1252.")
    ] = False,
    max_bad: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Fail if more than this share of the documents is unusable.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed for sampling the unrelated pairs used for training.")] = 13,
    append: Annotated[bool, typer.Option("--append", help="Add documents, or continue after an interruption.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove the existing corpus and start over.")] = False,
    engine: EngineName = "local",
    address: Address = "",
    workers: Workers = 0,
    as_json: AsJson = False,
) -> None:
    """Build a corpus: split documents into sentences, find the names, label the pairs from a knowledge base.

    Writes the training sentences (`OUT/train`), those for other pairs (`OUT/rest`), types and relations.

    Example: `sayso build --documents articles --kb kb.tsv --names names.tsv --types types.json --out corpora/mine`
    """
    from sayso.documents.build import build as build_corpus
    from sayso.documents.settings import BuildInputs, BuildSettings

    if spacy_model and finder != "spacy":
        raise UserError("--spacy-model requires --finder spacy")
    inputs, settings = settings_from(BuildInputs, locals()), settings_from(BuildSettings, locals())
    with resumable(out, "--append"), open_engine(engine, address, workers) as chosen, stages() as show:
        manifest = build_corpus(inputs, settings, out, show, _mode(append, overwrite), max_bad, chosen)
    print_result(as_json, manifest, lambda: _print(manifest))
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
        raise UserError("use either --append (continue) or --overwrite (start over), not both")
    return "append" if append else "overwrite" if overwrite else "new"


def _print(manifest: dict[str, Any]) -> None:
    rows = [[name, number] for name, number in manifest["counts"].items() if number]
    print_table("corpus", ["", "number"], rows)
    documents, lines = _about_documents(manifest["documents"]), _about_lines(manifest["counts"])
    for line in (*documents, *_about_names(manifest), *_about_knowledge(manifest), *lines):
        note(line)
    types = manifest["types"]
    if types["num_learnt_from"]:
        right = "none correctly" if types["accuracy"] is None else f"{types['accuracy']:.0%} of those correctly"
        note(
            f"types: {types['types']:,} guessed (guessed_types.tsv); of {types['num_held_out']:,} held-out typed"
            f" entities, {types['share_guessed']:.0%} are guessed, {right}"
        )


def _about_documents(documents: dict[str, Any]) -> list[str]:
    lines = [f"documents: {documents['num_new']:,} new, {documents['num_already_there']:,} already there"]
    if documents["num_changed"]:
        named = ", ".join(documents["changed"])
        lines.append(
            f"documents: {documents['num_changed']:,} skipped, their ids already exist with different text: {named}"
            " (give a changed document a new id, or start over with --overwrite)"
        )
    lines += [f"documents left out: {number:,}: {reason}" for reason, number in documents["left_out"].items()]
    return [*lines, *documents["first_bad"]]


def _about_lines(counts: dict[str, int]) -> list[str]:
    if counts["lines with a relation"]:
        return []
    return [
        "nothing to learn from: no sentence names two entities that a fact relates; do --names and --kb use the same"
        " ids, and do the documents spell the names in the same way (--case ignore for lower-case text)?"
    ]


def _about_names(manifest: dict[str, Any]) -> list[str]:
    names, counts = manifest["names"], manifest["counts"]
    lines = [f"names: {names['names']:,} for {names['entities']:,} entities, {names['ambiguous']:,} ambiguous"]
    for reason, number in names["stopped"].items():
        lines.append(f"names skipped: {number:,} ({reason})")
    if names["first_stopped"]:
        lines.append(f"names skipped, for example: {', '.join(names['first_stopped'])}")
    if counts.get("ambiguous names"):
        most = ", ".join(f"{name} ({number:,})" for name, number in list(manifest["ambiguous"].items())[:5])
        lines.append(
            f"ambiguous: {counts['ambiguous names']:,} times, {counts['ambiguous names resolved']:,} resolved"
            f" (--ambiguous {manifest['settings']['ambiguous']}); most often {most}"
        )
    return lines


def _about_knowledge(manifest: dict[str, Any]) -> list[str]:
    knowledge = manifest["knowledge"]
    lines = [f"facts: {knowledge['facts']:,} about {knowledge['pairs']:,} pairs, {knowledge['relations']:,} relations"]
    for kind, number in knowledge["odd"].items():
        lines.append(f"facts {kind}: {number:,}, the first is {knowledge['first_odd'][kind][0]}")
    return lines
