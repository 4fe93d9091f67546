"""`sayso invent`: a made-up corpus with known truth, to try things on."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import print_json, print_table, say_next, stages
from sayso.errors import as_command

if TYPE_CHECKING:
    from sayso.invent import InventSettings, InventSummary


class SizeName(StrEnum):
    """Sizes with a name."""

    toy = "toy"
    demo = "demo"
    fbnyt = "fbnyt"


def invent(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; must not hold anything yet.")],
    size: Annotated[
        SizeName, typer.Option(help="toy: 1,500 + 500 sentences; demo: 12,000 + 4,000; fbnyt: 522,611 + 172,448.")
    ] = SizeName.demo,
    seed: Annotated[int, typer.Option(help="The same seed and settings make the same files.")] = 13,
    train_sentences: Annotated[int | None, typer.Option(min=10, help="Instead of the size's.")] = None,
    test_sentences: Annotated[int | None, typer.Option(min=10, help="Instead of the size's.")] = None,
    direct_sentences: Annotated[int | None, typer.Option(min=0, help="Instead of the size's.")] = None,
    documents: Annotated[int | None, typer.Option(min=0, help="Instead of the size's.")] = None,
    na: Annotated[float, typer.Option(min=0.0, max=0.99, help="Share of sentences whose pair has no relation.")] = 0.6,
    irrelevant: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of sentences of positive bags that do not say so.")
    ] = 0.4,
    unsupported: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of positive bags in which no sentence says so.")
    ] = 0.1,
    name_shortcut: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="How strongly names go with relations in training, not in test.")
    ] = 0.5,
    unseen_wording: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the wordings that only test has.")
    ] = 0.3,
    shared: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of NA sentences that also serve a related pair.")
    ] = 0.05,
    raw: Annotated[
        bool, typer.Option("--raw", help="Instead: documents, names and a KB with facts withheld, for `sayso build`.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an invented corpus that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Make up a corpus whose every sentence has a known truth: training, test, rationales, types, graph, documents.

    With --raw the same world is written as people have theirs: news articles (200, 1,600 or 46,000), a knowledge base
    that lacks the facts of the test pairs, names and types; and the truth, to score against. Where nothing else is said
    a raw corpus has --na 0.3, --name-shortcut 0 and --unseen-wording 0.

    Example: `sayso invent demo/corpus --size toy --name-shortcut 1`
    """
    from sayso.invent import InventSettings, raw_settings
    from sayso.invent import invent as make_corpus

    options = {
        "seed": seed,
        "train_sentences": train_sentences,
        "test_sentences": test_sentences,
        "direct_sentences": direct_sentences,
        "documents": documents,
        "na_share": na,
        "irrelevant_share": irrelevant,
        "unsupported_share": unsupported,
        "name_shortcut": name_shortcut,
        "unseen_wording_share": unseen_wording,
        "shared_share": shared,
    }
    if raw:
        given = {name: value for name, value in options.items() if _is_given(context, name.removesuffix("_share"))}
        _write_raw(out, raw_settings(size.value, **given), overwrite, as_json)
        return
    settings = InventSettings.of_size(
        size.value, **{name: value for name, value in options.items() if value is not None}
    )
    with stages() as show:
        summary = make_corpus(out, settings, overwrite=overwrite, on_progress=show)
    if as_json:
        print_json(_record(summary, settings))
    else:
        _print(summary)
    say_next(str(out), as_command("sayso", "check", out / "train.jsonl", "--relations", out / "relations.tsv"))


def _is_given(context: typer.Context, option: str) -> bool:
    """Say whether the user gave the option: documents have defaults of their own."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def _write_raw(out: Path, settings: "InventSettings", overwrite: bool, as_json: bool) -> None:
    from sayso.invent import invent_raw

    counts = invent_raw(out, settings, overwrite=overwrite)._asdict()
    if as_json:
        print_json({**counts, "folder": str(out), "seed": settings.seed})
    else:
        rows = [[name.replace("_", " "), number] for name, number in counts.items() if name != "folder"]
        print_table("invented", ["", "number"], rows)
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
