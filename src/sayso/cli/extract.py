"""`sayso extract`: the facts of a whole corpus, each with the sentences that its prediction rests on."""

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.complete import sentence_forms
from sayso.cli.console import print_json, print_table, remark, say_next, stages
from sayso.cli.ending import interrupted
from sayso.cli.engine import Address, EngineName, EngineOption, WorkerGpus, Workers, opened
from sayso.cli.verify import NoVerify
from sayso.errors import UserError, as_command

if TYPE_CHECKING:
    from sayso.extract.extraction import Extraction
    from sayso.extract.folder import FolderMode
    from sayso.extract.settings import ExtractInputs
    from sayso.extract.threshold import ChosenThreshold
    from sayso.facts.fact import ExtractedFact

_NUM_SHOWN, _WIDTH = 10, 70
_ROOM = 130
"""Columns of a terminal that take the evidence too; in a narrower one every fact would be six lines."""


class FactForm(StrEnum):
    """Forms of files."""

    jsonl = "jsonl"
    parquet = "parquet"
    tsv = "tsv"
    jsonld = "jsonld"
    quickstatements = "quickstatements"


class Wanted(StrEnum):
    """What the knowledge base says of a fact."""

    new = "new"
    known = "known"
    contradicts = "contradicts"


def extract(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a model's.")],
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="Sentences: a file, a folder of shards, or what `build` made.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the facts; must not hold anything yet.")],
    kb: Annotated[
        Path | None, typer.Option(help="Facts that are known, as triples; those of a built corpus if not named.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Probability from which a fact counts; 0.5 if not given.")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            max=1.0,
            help="Choose the threshold for this precision on validation pairs; new facts have a lower one.",
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The run's store, for --precision.")] = None,
    form: Annotated[
        list[FactForm] | None, typer.Option("--format", help="Form of the result, several for several; jsonl.")
    ] = None,
    only: Annotated[
        list[Wanted] | None, typer.Option(help="Write only facts that are new, known or contradicting; repeatable.")
    ] = None,
    wikidata: Annotated[
        Path | None, typer.Option(help="Your ids and Wikidata's, with a tab between, for quickstatements.")
    ] = None,
    types: Annotated[Path | None, typer.Option(help="Entity types; those of a built corpus if not named.")] = None,
    method: Annotated[str, typer.Option(help="Mechanism that ranks the evidence.")] = "shapley",
    evidence: Annotated[int, typer.Option(min=1, help="Sentences kept with a fact, the first in rank.")] = 5,
    since: Annotated[
        Path | None, typer.Option(help="An earlier extraction to go on from; only what is new is predicted.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after an interruption, or with what the corpus has got since.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the facts that are there, start over.")
    ] = False,
    shards: Annotated[int, typer.Option(min=0, help="Shards of pairs; 0 decides by the size.")] = 0,
    sentence_form: Annotated[
        str, typer.Option("--form", autocompletion=sentence_forms, help="Form of the sentences; auto looks at them.")
    ] = "auto",
    max_bad: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of bad lines above which nothing is predicted.")
    ] = 0.001,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    table_memory: Annotated[
        int, typer.Option(min=0, metavar="MIB", help="Each worker's memory for tables that make CPU prediction fast.")
    ] = 512,
    engine: EngineOption = EngineName.local,
    address: Address = "",
    workers: Workers = 0,
    gpus: WorkerGpus = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest.")] = False,
    _no_verify: NoVerify = False,
) -> None:
    """Extract facts from a corpus of any size: predicted pair by pair, with ranked evidence, support and provenance.

    With a knowledge base, each fact is marked as known, new, or contradicting it (relations that the inventory declares
    functional). Memory stays flat; a killed run goes on with --resume.

    Example: `sayso extract runs/demo corpora/mine --out facts --precision 0.9 --data stores/mine --format parquet`
    """
    from sayso.extract.forms import FORMS
    from sayso.extract.run import Output
    from sayso.extract.run import extract as extract_facts
    from sayso.extract.settings import ExtractSettings
    from sayso.facts.quick_statements import read_ids

    mode = _mode(resume, overwrite, since)
    cut, chosen = _threshold(run, data, threshold, precision)
    settings = ExtractSettings(
        threshold=cut,
        chosen=chosen,
        method=method,
        max_evidence=evidence,
        num_shards=shards,
        form=sentence_form,
        max_bad_share=max_bad,
        device=device,
        table_memory=table_memory,
    )
    output = Output(
        forms=[each.value for each in form or (FactForm.jsonl,)],
        only=[each.value for each in only or ()],
        ids=read_ids(wikidata) if wikidata else {},
    )
    inputs = _inputs(run, corpus, kb, types)
    if only and inputs.kb is None:
        raise UserError("--only needs a knowledge base to compare with: name one with --kb")
    try:
        with opened(engine, address, workers, gpus) as chosen_engine, stages() as show:
            found = extract_facts(inputs, settings, out, mode, since, output, chosen_engine, show)
    except KeyboardInterrupt as error:
        raise interrupted(
            error, f"interrupted; all that is done is in {out}: the same command with --resume goes on"
        ) from None
    _report(found, as_json)
    files = {name: str(out / FORMS[name].file_name) for name in output.forms}
    has_facts = "jsonl" in files and found.manifest["num_written"] > 0
    review = [as_command("sayso", "serve", "--data", data or "STORE", "--facts", out)] * has_facts
    say_next(", ".join(files.values()), *review, note="for more documents, the same command with --resume")


def _mode(resume: bool, overwrite: bool, since: Path | None) -> "FolderMode":
    if resume + overwrite + (since is not None) > 1:
        raise UserError("--resume, --overwrite and --since exclude each other: go on, start over, or go on elsewhere")
    return "resume" if resume else "overwrite" if overwrite else "new"


def _threshold(
    run: Path, data: Path | None, threshold: float | None, precision: float | None
) -> "tuple[float, ChosenThreshold | None]":
    """Return the threshold, and how it was chosen where a precision is wanted."""
    if precision is None and data is not None:
        raise UserError("--data is for --precision: name a precision, or leave the store out")
    if precision is None:
        return 0.5 if threshold is None else threshold, None
    if threshold is not None:
        raise UserError("give either --threshold or --precision")
    if data is None:
        raise UserError("--precision needs the store that the run was made from: name it with --data")
    from sayso.extract.threshold import choose_on_validation

    chosen = choose_on_validation(run, data, precision)
    remark(chosen.text)
    remark(chosen.limits)
    return chosen.threshold, chosen


def _inputs(run: Path, corpus: Path, kb: Path | None, types: Path | None) -> "ExtractInputs":
    """Return the inputs; a corpus that was built brings its facts and types with it."""
    from sayso.documents.folder import FACTS, TYPES, read_manifest
    from sayso.extract.settings import ExtractInputs

    if manifest := read_manifest(corpus):
        if not manifest["is_finished"]:
            raise UserError(f"{corpus}: `sayso build` was interrupted here: let it go on with --append first")
        kb, types = kb or corpus / FACTS, types or corpus / TYPES
    return ExtractInputs(run=run, corpus=corpus, kb=kb, types=types)


def _report(found: "Extraction", as_json: bool) -> None:
    from itertools import islice

    manifest = found.manifest
    if as_json:
        print_json(manifest)
    else:
        rows = [
            [fact.head_name, fact.relation, fact.tail_name, f"{fact.probability:.3f}", fact.status or "–", _quote(fact)]
            for fact in islice(found, _NUM_SHOWN)
        ]
        columns = ["head", "relation", "tail", "probability", "status", "first evidence"]
        if sys.stdout.isatty() and shutil.get_terminal_size().columns < _ROOM:
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        print_table(f"the first of {manifest['num_written']:,} facts", columns, rows, num_text=6)
    for line in _remarks(manifest):
        remark(line)
    if found.known and not found.known.tails:
        remark("no fact of the knowledge base has a relation of the model: are the relations named alike?")


def _quote(fact: "ExtractedFact") -> str:
    sentence = fact.quotes[0].sentence
    return sentence if len(sentence) <= _WIDTH else f"{sentence[: _WIDTH - 1]}…"


def _remarks(manifest: dict[str, Any]) -> list[str]:
    """Return a line for what was seen, left out, and found."""
    lines = [
        f"{manifest['num_sentences']:,} sentences of {manifest['num_pairs']:,} pairs;"
        f" {manifest['num_predicted']:,} pairs predicted now, {manifest['num_repeated']:,} repeated sentences left out"
    ]
    if manifest["num_too_far_apart"]:
        lines.append(f"{manifest['num_too_far_apart']:,} sentences left out: their mentions are too far apart")
    if manifest["num_bad"]:
        lines.append(f"{manifest['num_bad']:,} bad lines left out, the first is {manifest['first_bad'][0]}")
    if not manifest["num_facts"] and manifest["num_pairs"]:
        lines.append(f"no fact reaches {manifest['threshold']:g}: try a lower --threshold, with --overwrite")
    if manifest["status"]:
        counts = ", ".join(f"{number:,} {name}" for name, number in manifest["status"].items())
        is_chosen = manifest["threshold_chosen"] and "new" in manifest["status"]
        lines.append(f"facts: {counts}" + (" (the precision of the new ones was not measured)" if is_chosen else ""))
    for name, number in manifest["num_left_out"].items():
        if number:
            why = "not Wikidata's: --wikidata FILE translates yours" if name == "quickstatements" else "not of one line"
            lines.append(f"{name}: {number:,} facts are left out, because their ids are {why}")
    if manifest["removed"]:
        lines.append(f"removed, because they may not hold any longer: {', '.join(manifest['removed'])} (see --format)")
    return lines
