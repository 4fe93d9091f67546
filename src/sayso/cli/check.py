"""`sayso check`: count the contents of a corpus and list its bad lines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.console import note, print_result, print_table, say, stages
from sayso.cli.options import AsJson, MaxBad, SentenceForm
from sayso.readers.files import parts_of
from sayso.readers.read import refuse_unknown_form

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
