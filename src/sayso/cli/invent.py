"""`sayso invent`: write an invented corpus with known ground truth."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from sayso.cli.console import new_path, print_result, print_table, say_next, stages
from sayso.cli.options import AsJson, with_settings
from sayso.errors import as_command
from sayso.invent.settings import InventSettings


@with_settings
def invent(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; must be empty or missing.")],
    size: Annotated[
        Literal["toy", "demo", "fbnyt"],
        typer.Option(help="toy: 1,500 + 500 sentences; demo: 12,000 + 4,000; fbnyt: 522,611 + 172,448."),
    ] = "demo",
    *,
    settings: InventSettings,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write documents, names and an incomplete KB instead, for `sayso build`.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing invented corpus.")] = False,
    as_json: AsJson = False,
) -> None:
    """Invent a corpus with known ground truth: sentences, rationales, types, knowledge graph, documents.

    With --raw, writes the inputs of `sayso build` instead: news articles (200, 1,600 or 46,000), names, types, a
    knowledge base without the facts about test pairs, and the ground truth. The defaults are then --na 0.3,
    --name-shortcut 0 and --unseen-wording 0.

    Example: `sayso invent demo/corpus --size toy --name-shortcut 1`
    """
    from sayso.invent.raw import raw_settings
    from sayso.invent.write import invent as make_corpus

    # Other defaults depend on the size.
    sources = {name: context.get_parameter_source(name) for name in vars(settings)}
    given = {name: getattr(settings, name) for name, source in sources.items() if source and source.name != "DEFAULT"}
    if raw:
        _write_raw(out, raw_settings(size, **given), overwrite, as_json)
        return
    settings = InventSettings.of_size(size, **given)
    with stages() as show:
        manifest = make_corpus(out, settings, overwrite=overwrite, on_progress=show)
    counts = {name: manifest[name] for name in ("entities", "facts_of_the_world")}
    record = {"folder": str(out), "seed": settings.seed, **counts, **manifest["parts"]}
    print_result(as_json, record, lambda: _print(record))
    say_next(str(out), as_command("sayso", "check", out / "train.jsonl", "--relations", out / "relations.tsv"))


def _write_raw(out: Path, settings: InventSettings, overwrite: bool, as_json: bool) -> None:
    from sayso.invent.raw import invent_raw

    counts = invent_raw(out, settings, overwrite=overwrite)
    rows = [[name.replace("_", " "), number] for name, number in counts.items()]
    print_result(
        as_json,
        {"folder": str(out), **counts, "seed": settings.seed},
        lambda: print_table("invented", ["", "number"], rows),
    )
    files: list[object] = ["--documents", out / "documents.jsonl", "--kb", out / "kb.tsv", "--names", out / "names.tsv"]
    files += ["--types", out / "types.json", "--relations", out / "relations.tsv"]
    say_next(str(out), as_command("sayso", "build", *files, "--out", new_path("corpus")))


def _print(record: dict[str, Any]) -> None:
    train, test = record["train"], record["test"]
    rows = [[name.replace("_", " "), train[name], test[name]] for name in train]
    print_table(f"invented: {record['entities']:,} entities", ["", "train", "test"], rows)
