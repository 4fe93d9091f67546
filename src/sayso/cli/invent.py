"""`sayso invent`: write an invented corpus with known ground truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sayso.cli.console import print_result, print_table, say_next, stages
from sayso.cli.options import AsJson, fields_from
from sayso.errors import as_command

if TYPE_CHECKING:
    from sayso.invent import InventSettings, InventSummary

_COUNT = "Count; the default depends on --size."


def invent(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; must be empty or missing.")],
    size: Annotated[
        Literal["toy", "demo", "fbnyt"],
        typer.Option(help="toy: 1,500 + 500 sentences; demo: 12,000 + 4,000; fbnyt: 522,611 + 172,448."),
    ] = "demo",
    seed: Annotated[int, typer.Option(help="The same seed and settings give the same files.")] = 13,
    train_sentences: Annotated[int | None, typer.Option(min=10, help=_COUNT)] = None,
    test_sentences: Annotated[int | None, typer.Option(min=10, help=_COUNT)] = None,
    direct_sentences: Annotated[int | None, typer.Option(min=0, help=_COUNT)] = None,
    documents: Annotated[int | None, typer.Option(min=0, help=_COUNT)] = None,
    na_share: Annotated[
        float, typer.Option("--na", min=0.0, max=0.99, help="Share of sentences whose pair has no relation.")
    ] = 0.6,
    irrelevant_share: Annotated[
        float,
        typer.Option("--irrelevant", min=0.0, max=1.0, help="Share of irrelevant sentences in positive bags."),
    ] = 0.4,
    unsupported_share: Annotated[
        float,
        typer.Option("--unsupported", min=0.0, max=1.0, help="Share of positive bags without a rationale."),
    ] = 0.1,
    name_shortcut: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How strongly names predict relations in training, but not in test.")
    ] = 0.5,
    unseen_wording_share: Annotated[
        float, typer.Option("--unseen-wording", min=0.0, max=0.9, help="Share of wordings that occur only in test.")
    ] = 0.3,
    shared_share: Annotated[
        float,
        typer.Option("--shared", min=0.0, max=1.0, help="Share of NA sentences that also name a related pair."),
    ] = 0.05,
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
    from sayso.invent import InventSettings, raw_settings
    from sayso.invent import invent as make_corpus

    options = fields_from(InventSettings, locals())
    if raw:
        given = {name: value for name, value in options.items() if _is_given(context, name)}
        _write_raw(out, raw_settings(size, **given), overwrite, as_json)
        return
    settings = InventSettings.of_size(size, **options)
    with stages() as show:
        summary = make_corpus(out, settings, overwrite=overwrite, on_progress=show)
    print_result(as_json, _record(summary, settings), lambda: _print(summary))
    say_next(str(out), as_command("sayso", "check", out / "train.jsonl", "--relations", out / "relations.tsv"))


def _is_given(context: typer.Context, option: str) -> bool:
    """Return whether the user gave the option."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def _write_raw(out: Path, settings: "InventSettings", overwrite: bool, as_json: bool) -> None:
    from sayso.invent import invent_raw

    counts = invent_raw(out, settings, overwrite=overwrite)._asdict()
    rows = [[name.replace("_", " "), number] for name, number in counts.items() if name != "folder"]
    record = {**counts, "folder": str(out), "seed": settings.seed}
    print_result(as_json, record, lambda: print_table("invented", ["", "number"], rows))
    files: list[object] = ["--documents", out / "documents.jsonl", "--kb", out / "kb.tsv", "--names", out / "names.tsv"]
    files += ["--types", out / "types.json", "--relations", out / "relations.tsv"]
    say_next(str(out), as_command("sayso", "build", *files, "--out", "CORPUS"))


def _record(summary: "InventSummary", settings: "InventSettings") -> dict[str, Any]:
    return {
        "folder": str(summary.folder),
        "seed": settings.seed,
        "entities": summary.num_entities,
        "facts_of_the_world": summary.num_facts,
        **{name: counts._asdict() for name, counts in summary.parts.items()},
    }


def _print(summary: "InventSummary") -> None:
    train, test = (summary.parts[name]._asdict() for name in ("train", "test"))
    rows = [[name.replace("_", " "), train[name], test[name]] for name in train]
    print_table(f"invented: {summary.num_entities:,} entities", ["", "train", "test"], rows)
