"""`sayso extract`: extract facts from a whole corpus, with their evidence."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sayso.cli.console import about_length, note, print_result, print_table, resumable, say_next, stages
from sayso.cli.options import (
    AsJson,
    Device,
    EngineOptions,
    MaxBad,
    NoVerify,
    Quantize,
    Run,
    SentenceForm,
    TableMemory,
    Wikidata,
    settings_from,
    store_of,
    with_settings,
)
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.extract.folder import FolderMode
    from sayso.extract.new_facts import NewFactThresholds
    from sayso.extract.run import Extraction
    from sayso.extract.settings import ExtractInputs
    from sayso.extract.threshold import ChosenThreshold

_NUM_SHOWN, _WIDTH = 10, 70
_ROOM = 130
"""Minimum terminal width for showing the evidence; in a narrower one each fact would take six lines."""


FactsFormat = StrEnum("FactsFormat", ["jsonl", "parquet", "tsv", "jsonld", "quickstatements"])


class OnlyStatus(StrEnum):  # typer does not support lists of Literal
    """Comparison of a fact with the knowledge base."""

    new = "new"
    known = "known"
    contradicts = "contradicts"


@with_settings
def extract(
    run: Run,
    corpus: Annotated[
        Path,
        typer.Argument(metavar="CORPUS", help="Sentences: a file, a folder of shards, or a built corpus."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the facts; must be empty or missing.")],
    kb: Annotated[
        Path | None, typer.Option(help="Known facts, as triples; by default those of a built corpus.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Minimum probability of a fact; 0.5 by default.")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=1.0,
            help="Choose thresholds for this precision: of new facts if the run has folds (`prepare --folds`), else on"
            " validation pairs, where precision is higher than for new facts.",
        ),
    ] = None,
    kb_completeness: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=0.99,
            help="Fraction of the true facts that the knowledge base has, for --precision; 0.5 by default.",
        ),
    ] = None,
    decisions: Annotated[
        list[Path] | None,
        typer.Option(help="Decisions on a random sample of new facts, instead of --kb-completeness; may be repeated."),
    ] = None,
    use_kb_prior: Annotated[
        bool,
        typer.Option(
            "--kb-prior/--no-kb-prior",
            help="Lower the probability of a new fact if the knowledge base already has another object for the subject,"
            " or another subject for the object; how much was learned from folds.",
        ),
    ] = True,
    data: Annotated[Path | None, typer.Option(help="The run's store, for --precision without folds.")] = None,
    formats: Annotated[
        list[FactsFormat] | None,
        typer.Option("--format", help="Format of the facts; may be repeated; jsonl by default."),
    ] = None,
    only: Annotated[
        list[OnlyStatus] | None, typer.Option(help="Write only new, known or contradicting facts; may be repeated.")
    ] = None,
    wikidata: Wikidata = None,
    types: Annotated[Path | None, typer.Option(help="Entity types; by default those of a built corpus.")] = None,
    method: Annotated[str, typer.Option(help="Mechanism that ranks the evidence.")] = "shapley",
    max_evidence: Annotated[int, typer.Option("--evidence", min=1, help="Maximum sentences kept per fact.")] = 5,
    since: Annotated[
        Path | None, typer.Option(help="Continue from an earlier extraction: predict only what is new.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue after an interruption, or with files added since.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove the existing facts and start over.")] = False,
    num_shards: Annotated[int, typer.Option("--shards", min=0, help="Number of shards; 0: from the corpus size.")] = 0,
    form: SentenceForm = "auto",
    max_bad_share: MaxBad = 0.001,
    device: Device = "auto",
    quantize: Quantize = "none",
    table_memory: TableMemory = 512,
    *,
    engine: EngineOptions,
    gpus: Annotated[float, typer.Option("--worker-gpus", min=0.0, help="For ray: GPUs per worker.")] = 0.0,
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Extract facts from a corpus of any size, with ranked evidence, support and provenance.

    With a knowledge base, each fact is labelled as known, new, or contradicting (for functional relations). Memory use
    is constant; an interrupted extraction continues with --resume.

    Example: `sayso extract runs/demo corpora/mine --out facts --precision 0.9 --data stores/mine --format parquet`
    """
    from sayso.extract.forms import FORMS
    from sayso.extract.run import Output
    from sayso.extract.run import extract as extract_facts
    from sayso.extract.settings import ExtractSettings
    from sayso.facts.export import read_ids

    if resume + overwrite + (since is not None) > 1:
        raise UserError(
            "use only one of --resume (continue), --overwrite (start over) and --since (continue in a new folder)"
        )
    settings = settings_from(ExtractSettings, locals())
    if chosen := _chosen_thresholds(run, _Asked(threshold, precision, kb_completeness, decisions or [], data)):
        settings = replace(settings, threshold=chosen.threshold, chosen=chosen)
    output = Output(
        forms=[each.value for each in formats or (FactsFormat.jsonl,)],
        only=[each.value for each in only or ()],
        ids=read_ids(wikidata) if wikidata else {},
    )
    inputs = _inputs(run, corpus, kb, types)
    if only and inputs.kb is None:
        raise UserError("--only requires a knowledge base to compare with: add --kb")
    with resumable(out, "--resume"), engine.open(gpus) as opened, stages() as show:
        mode: FolderMode = "resume" if resume else "overwrite" if overwrite else "new"
        found = extract_facts(inputs, settings, out, mode, since, output, opened, show)
    print_result(as_json, found.manifest, lambda: _print(found))
    _print_notes(found)
    files = {name: str(out / FORMS[name].file_name) for name in output.forms}
    has_facts = "jsonl" in files and found.manifest["num_written"] > 0
    store = data or store_of(run)
    review = [as_command("sayso", "serve", "--data", store, "--facts", out)] if has_facts and store else []
    say_next(", ".join(files.values()), *review, hint="to add documents later: the same command with --resume")


class _Asked(NamedTuple):
    """The options that select which facts to extract."""

    threshold: float | None
    precision: float | None
    kb_completeness: float | None
    decisions: list[Path]
    data: Path | None

    def refuse_contradictions(self) -> None:
        """Raise `UserError` if an option is used without one that it requires, or with one that it excludes."""
        if self.precision is None:
            for name in ("data", "kb_completeness", "decisions"):
                if getattr(self, name):
                    option = f"--{name.replace('_', '-')}"
                    raise UserError(f"{option} requires --precision: add a precision, or leave out {option}")
        elif self.threshold is not None:
            raise UserError("use either --threshold or --precision, not both")
        elif self.kb_completeness is not None and self.decisions:
            raise UserError("use either --kb-completeness or --decisions, not both")


def _chosen_thresholds(run: Path, asked: _Asked) -> "ChosenThreshold | NewFactThresholds | None":
    """Return the thresholds for the precision, and print the expected precision; None if no precision is given."""
    asked.refuse_contradictions()
    if asked.precision is None:
        return None
    from sayso.extract.new_facts import thresholds_of_run

    found = thresholds_of_run(run, asked.precision, asked.kb_completeness, asked.decisions)
    if found is not None:
        print_thresholds(found)
        return found
    if asked.kb_completeness is not None or asked.decisions:
        raise UserError(
            f"{run}: trained without folds, which --kb-completeness and --decisions require:"
            " train it on a store made with `sayso prepare --folds 5`"
        )
    if asked.data is None:
        raise UserError(
            "--precision requires a run with folds (`sayso prepare --folds 5`), or the store that the run was trained"
            " on: add --data STORE"
        )
    from sayso.extract.threshold import choose_on_validation

    chosen = choose_on_validation(run, asked.data, asked.precision)
    print_thresholds(chosen)
    return chosen


def print_thresholds(chosen: "ChosenThreshold | NewFactThresholds") -> None:
    """Print how the thresholds were chosen, and the expected precision."""
    for line in (chosen.text, chosen.limits):
        note(line)
    for each in getattr(chosen, "relations", ()):
        note(f"  {each.relation}: {each.text}")


def _inputs(run: Path, corpus: Path, kb: Path | None, types: Path | None) -> "ExtractInputs":
    """Return the inputs; the defaults of --kb and --types are those of a built corpus."""
    from sayso.documents.corpus import FACTS, built_corpus, types_of
    from sayso.extract.settings import ExtractInputs

    if built_corpus(corpus):
        kb = kb or corpus / FACTS
    return ExtractInputs(run=run, corpus=corpus, kb=kb, types=types_of(corpus, types))


def print_extraction(found: "Extraction") -> None:
    """Print the first facts, and what was read, left out and found."""
    _print(found)
    _print_notes(found)


def _print_notes(found: "Extraction") -> None:
    for line in _notes(found.manifest):
        note(line)
    if found.known and not found.known.objects:
        note("no fact in the knowledge base has one of the model's relations: do both use the same relation names?")


def _print(found: "Extraction") -> None:
    columns, rows = ["head", "relation", "tail", "probability", "status", "first evidence"], []
    for fact in islice(found, _NUM_SHOWN):
        sentence = fact.quotes[0].edited(fact.head_name, fact.tail_name)
        quote = sentence if len(sentence) <= _WIDTH else f"{sentence[: _WIDTH - 1]}…"
        head, tail = fact.marked_names
        rows.append([head, fact.relation, tail, f"{fact.probability:.3f}", fact.status or "–", quote])
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < _ROOM:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    print_table(f"the first of {found.manifest['num_written']:,} facts", columns, rows, num_text=6)


def _about_new(manifest: dict[str, Any]) -> str:
    """Return what is known about the precision of the new facts, if there are any."""
    from sayso.facts.file import WITHHELD

    chosen = manifest["threshold_chosen"]
    if not chosen or "new" not in manifest["status"]:
        return ""
    if chosen["measured_on"] != WITHHELD:
        return " (the precision of the new ones was not measured)"
    low, high = chosen["interval"]
    return f" (expected precision of the new ones {chosen['precision']:.2f}, 90 %: {low:.2f} to {high:.2f})"


def _notes(manifest: dict[str, Any]) -> Iterator[str]:
    """Yield lines about what was read, left out and found."""
    yield (
        f"{manifest['num_sentences']:,} sentences of {manifest['num_pairs']:,} pairs;"
        f" {manifest['num_predicted']:,} pairs predicted now, {manifest['num_repeated']:,} repeated sentences left out"
    )
    yield from about_length(manifest["num_too_far_apart"], manifest["num_cut"])
    if manifest["num_bad"]:
        yield f"{manifest['num_bad']:,} bad lines left out (first: {manifest['first_bad'][0]})"
    if not manifest["num_facts"] and manifest["num_pairs"]:
        yield f"no fact reaches {manifest['threshold']:g}: try a lower --threshold, with --overwrite"
    if manifest["status"]:
        counts = ", ".join(f"{number:,} {name}" for name, number in manifest["status"].items())
        yield f"facts: {counts}{_about_new(manifest)}"
    if number := manifest["num_with_new_entity"]:
        yield f"facts with a new entity, which the knowledge base does not have: {number:,}; precision was not measured"
    for name, number in manifest["num_left_out"].items():
        if number:
            why = "are not Wikidata's (see --wikidata)" if name == "quickstatements" else "contain a tab or line break"
            yield f"{name}: {number:,} facts were left out because their ids {why}"
    if manifest["removed"]:
        yield f"removed because they may be outdated: {', '.join(manifest['removed'])} (see --format)"
