"""`sayso check`: count the contents of a corpus and list its bad lines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.console import note, print_result, print_table, say, stages
from sayso.cli.options import AsJson, MaxBad, SentenceForm
from sayso.readers.files import size_of
from sayso.readers.read import Tally, read_sentences, refuse_unknown_form
from sayso.readers.tables import read_entity_types, read_inventory, refuse_no_type

if TYPE_CHECKING:
    from sayso.readers.survey import Surveyor

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
        list[Path], typer.Argument(metavar="FILE", help="Sentences, plain or gzip, or a folder of shards; - is stdin.")
    ],
    form: SentenceForm = "auto",
    relations: Annotated[Path | None, typer.Option(help="Relations; lines with any other relation are bad.")] = None,
    types: Annotated[Path | None, typer.Option(help="Entity types, to count entities without one.")] = None,
    max_bad: MaxBad = 0.001,
    as_json: AsJson = False,
) -> None:
    """Count the contents of a corpus and list its bad lines.

    Reads NRE files, JSON lines (OpenNRE's and ours), KBP37 / SemEval blocks and CrowdTruth lines.

    Example: `sayso check train.txt.gz test.txt.gz --relations relation2id.txt --types entity_types.json`
    """
    from sayso.readers.survey import summarise

    refuse_unknown_form(form)
    known = {relation.name for relation in read_inventory(relations)} if relations else None
    kinds = read_entity_types(types, known or ()) if types else {}
    read = [_read(path, form, known) for path in files]
    if types:
        refuse_no_type(types, kinds, set().union(*(surveyor.entities for surveyor, _ in read)))
    typed = {entity for entity, names in kinds.items() if names} if types else None
    reports = [_report(summarise([surveyor], typed), [tally]) for surveyor, tally in read]
    whole = _report(summarise([surveyor for surveyor, _ in read], typed), [tally for _, tally in read])
    by_file = list(zip(files, reports, strict=True))
    columns = {path.name: report for path, report in by_file} | ({"together": whole} if len(files) > 1 else {})
    record = {**whole, "files": [{"file": str(path), **report} for path, report in by_file]}
    print_result(as_json, record, lambda: _print(columns, [tally for _, tally in read]))
    if any(tally.has_too_many_bad(max_bad) for _, tally in read):
        note(f"sayso: more than {max_bad:.2%} of the lines are bad")
        raise typer.Exit(2)


def _read(path: Path, form: str, known: set[str] | None) -> "tuple[Surveyor, Tally]":
    from sayso.readers.survey import Surveyor

    surveyor, tally, size = Surveyor(), Tally(path, form), size_of(path)
    with stages() as show:
        for sentence in read_sentences(path, tally, known, lambda done: show(f"reading {path}", done, size)):
            surveyor.add(sentence)
    return surveyor, tally


def _report(survey: dict[str, Any], tallies: list[Tally]) -> dict[str, Any]:
    return survey | {
        "mentions_not_found": sum(tally.num_bad_with("is not in the sentence") for tally in tallies),
        "bad_lines": sum(tally.num_bad for tally in tallies),
        "format": ", ".join(sorted({tally.form for tally in tallies})),
    }


def _print(columns: dict[str, dict[str, Any]], tallies: list[Tally]) -> None:
    rows: list[list[object]] = [["format", *(report["format"] for report in columns.values())]]
    rows += [[label, *(report[key] for report in columns.values())] for key, label in _LABELS.items()]
    print_table("corpus", ["", *columns], rows)
    for tally in tallies:
        for line in tally.shown:
            say(line)
        if tally.num_bad > len(tally.shown):
            say(f"{tally.path}: {tally.num_bad - len(tally.shown):,} more bad lines")
