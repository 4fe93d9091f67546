"""`sayso invent`: write an invented corpus with known ground truth; `sayso check`: count the contents of a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sayso.cli.console import new_path, note, print_result, print_table, say, say_next, stages
from sayso.cli.options import AsJson, MaxBad, SentenceForm, with_settings
from sayso.errors import as_command
from sayso.invent.settings import InventSettings
from sayso.readers.files import parts_of
from sayso.readers.read import refuse_unknown_form


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


if TYPE_CHECKING:
    from sayso.readers.survey import Survey

_LABELS = {
    "sentences": "sentences",
    "distinct_sentences": "… distinct",
    "duplicate_sentences": "… repeated within a pair",
    "na_sentences": "… without a relation (NA)",
    "mentions_repeated": "… that name an entity twice",
    "pairs": "pairs",
    "positive_pairs": "… with a relation",
    "facts": "facts (pair, relation)",
    "relations": "relations",
    "entities": "entities",
    "untyped_entities": "… without a type",
    "length_median": "tokens per sentence, median",
    "length_max": "… maximum",
    "bag_size_mean": "sentences per pair, mean",
    "bag_size_max": "… maximum",
    "bags_of_one": "pairs with one sentence",
    "mentions_not_found": "mentions not found",
    "bad_lines": "bad lines",
}


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Sentences, plain or gzip, a folder of shards, or a built corpus; - is stdin."
        ),
    ],
    form: SentenceForm = "auto",
    relations: Annotated[
        Path | None,
        typer.Option(help="Relations; lines with any other relation are bad. By default those of a built corpus."),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(help="Entity types, to count entities without one; by default those of a built corpus."),
    ] = None,
    max_bad: MaxBad = 0.001,
    as_json: AsJson = False,
) -> None:
    """Count the contents of a corpus and list its bad lines.

    Reads NRE files, JSON lines (OpenNRE's and ours), KBP37 / SemEval blocks and CrowdTruth lines.

    Example: `sayso check train.txt.gz test.txt.gz --relations relation2id.txt --types entity_types.json`
    """
    from sayso.readers.survey import survey_files

    refuse_unknown_form(form)
    files, relations, types = _of_corpora(files, relations, types)
    with stages() as show:
        survey = survey_files(files, form, relations, types, show)
    print_result(as_json, survey.record, lambda: print_survey(survey))
    if any(tally.has_too_many_bad(max_bad) for tally in survey.tallies):
        note(f"sayso: more than {max_bad:.2%} of the lines are bad")
        raise typer.Exit(2)


def _of_corpora(
    files: list[Path], relations: Path | None, types: Path | None
) -> tuple[list[Path], Path | None, Path | None]:
    """Return the files, with the parts of built corpora in place of their folders, and the first corpus's tables."""
    from sayso.documents.corpus import relations_of, types_of

    for corpus in files:
        relations, types = relations_of(corpus, relations), types_of(corpus, types)
    return [part for path in files for part in parts_of(path)], relations, types


def print_survey(survey: "Survey") -> None:
    """Print the counts and the bad lines."""
    columns = {path.name: report for path, report in survey.files}
    columns |= {"together": survey.whole} if len(survey.files) > 1 else {}
    rows: list[list[object]] = [["format", *(report["format"] for report in columns.values())]]
    rows += [[label, *(report[key] for report in columns.values())] for key, label in _LABELS.items()]
    print_table("corpus", ["", *columns], rows)
    for tally in survey.tallies:
        for line in tally.shown:
            say(line)
        if tally.num_bad > len(tally.shown):
            say(f"{tally.path}: {tally.num_bad - len(tally.shown):,} more bad lines")
