"""Extraction from a corpus to a folder of facts, stage by stage, and the facts of a finished extraction."""

import hashlib
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sayso.engine import Engine, num_processes, worth_processes
from sayso.errors import BadInputError, as_command, option
from sayso.extract.folder import (
    SHARDS,
    FolderMode,
    copy_extraction,
    extraction_folder,
    keep_types,
    prepare_folder,
    refuse_other_since,
    remove_results,
)
from sayso.extract.forms import FORMS, ExportContext
from sayso.extract.gather import Gatherer, read_records, refuse_other_division, remove_from
from sayso.extract.known import KnownFacts, known_facts
from sayso.extract.predict import Origin, origin_of
from sayso.extract.settings import FORMAT, ExtractInputs, ExtractSettings
from sayso.extract.shard import ShardPredictor, merged_facts, read_shard_record, shard_file
from sayso.facts.corpus_facts import frame_of
from sayso.facts.fact import ExtractedFact, Status
from sayso.io.checksum import FILES, sums_of
from sayso.model.ensemble import load_parts
from sayso.readers.file_piece import corpus_files, first_bad_lines, new_pieces
from sayso.readers.read import refuse_unknown_form
from sayso.readers.tables import TypeTable, read_entity_types, read_triples
from sayso.records import OnProgress, Relation, no_progress
from sayso.train.device import choose_device
from sayso.train.held_out import read_kb_prior

_NUM_BAD_SHOWN = 20
_MOST_PIECES = 2_048
"""Maximum number of pieces for a corpus in few files: a shard is read from all pieces, and small reads are slow."""
_LEAST_BYTES = 8 * 2**20
"""Processes on this machine take longer to start than a smaller corpus takes to extract."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What to write: names of formats, statuses to keep (empty: all), and a table of Wikidata ids."""

    forms: Sequence[str] = ("jsonl",)
    only: Collection[Status] = ()
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The facts in an extraction folder, most probable first, read from disk a few at a time.

    `known` has the facts to compare with (None: no comparison), `only` the statuses to keep (empty: all).
    """

    folder: Path
    manifest: dict[str, Any]
    known: KnownFacts | None = None
    only: Collection[Status] = ()

    def __iter__(self) -> Iterator[ExtractedFact]:
        """Yield the facts."""
        files = [shard_file(self.folder, number) for number in range(self.manifest["num_shards"])]
        facts = merged_facts(files)
        for fact in self.known.compare_all(facts) if self.known else facts:
            if not self.only or fact.status in self.only:
                yield fact

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per fact and the columns of `ExtractedFact.to_dict`."""
        return frame_of(fact.to_dict() for fact in self)


def extract(
    inputs: ExtractInputs,
    settings: ExtractSettings,
    out: Path,
    mode: FolderMode = "new",
    since: Path | None = None,
    output: Output = Output(),
    engine: Engine = map,
    on_progress: OnProgress = no_progress,
) -> Extraction:
    """Extract the facts of a corpus into a folder, and return them.

    Args:
        inputs: The run, the corpus, entity types and a knowledge base.
        settings: The threshold, the mechanism and how the work is divided.
        out: The output folder.
        mode: `new` refuses a folder with results; `resume` continues after an interruption or after the corpus
            has grown, predicting only pairs with new sentences; `overwrite` starts over.
        since: An earlier extraction to continue in the new folder `out`.
        output: The files to write.
        engine: Maps over shards, in this process or on a cluster.
        on_progress: Called with the stage, done, total and a note.

    Returns:
        An iterable of the facts; its `manifest` has the counts.

    Raises:
        UserError: an input or the folder cannot be used.
    """
    refuse_unknown_form(settings.form)
    files, model = corpus_files(inputs.corpus), load_parts(inputs.run)
    known = _known(inputs, settings, model.relations)
    types = read_entity_types(inputs.types, [each.name for each in model.relations]) if inputs.types else None
    origin = origin_of(inputs.run, model)
    identity = {"format": FORMAT, "model": origin.model_fingerprint, **settings.identity()}
    folder, earlier = extraction_folder(out), extraction_folder(since) if since else None
    if earlier:
        refuse_other_since(earlier, identity)
        folder.refuse_occupied()
    folder.refuse_foreign()
    with folder.locked():
        if earlier:
            folder.clear()
            copy_extraction(earlier, folder)
        num_bytes = sum(file.stat().st_size for file in files)
        manifest = prepare_folder(folder, "resume" if since else mode, identity, settings.num_shards, num_bytes)
        manifest |= {"threshold_chosen": settings.chosen.to_dict()} if settings.chosen else {}
        stages = _Stages(inputs, settings, folder.path.resolve(), manifest["num_shards"], engine, on_progress)
        is_new = mode != "resume" and not since
        with folder.refusable(f"{SHARDS}/*.jsonl") if is_new else nullcontext():
            gathered = stages.gather(files)
            # Not earlier: if gathering refuses a changed corpus, the old results must be kept.
            removed = [name for name in remove_results(folder.path) if name not in output.forms]
            predicted = stages.predict(gathered["num_pieces"], origin, types)
        manifest |= {"run": str(inputs.run), "corpus": str(inputs.corpus), **gathered, **predicted}
        extraction = Extraction(folder=out, manifest=manifest, known=known)
        on_progress("writing", 0, 0)
        manifest |= {"removed": removed, **write_results(extraction, output)}
        folder.write(manifest | {"is_finished": True})
    return replace(extraction, manifest=manifest | {"is_finished": True}, only=output.only)


def _known(inputs: ExtractInputs, settings: ExtractSettings, relations: Sequence[Relation]) -> KnownFacts | None:
    if inputs.kb is None:
        return None
    prior = read_kb_prior(inputs.run) if settings.use_kb_prior else None
    return known_facts(read_triples(inputs.kb), relations, prior, settings.threshold_of(relations))


def write_results(extraction: Extraction, output: Output) -> dict[str, Any]:
    """Write the facts in the requested formats; return the counts by status, and how many each format leaves out."""
    counts = Counter((fact.status, bool(fact.new_entities)) for fact in extraction)
    status = Counter[str]()
    for (name, _), number in counts.items():
        status[name] += number
    wanted = replace(extraction, only=output.only)
    total = sum(number for name, number in status.items() if not output.only or name in output.only)
    context = ExportContext(total, f"{extraction.manifest['model']} {extraction.manifest['corpus_digest']}", output.ids)
    left_out = {
        name: FORMS[name].write(extraction.folder / FORMS[name].file_name, wanted, context) for name in output.forms
    }
    return {
        "status": {name: number for name, number in status.items() if name},
        "num_with_new_entity": sum(number for (_, has_new), number in counts.items() if has_new),
        "num_written": total,
        "num_left_out": left_out,
        FILES: sums_of(extraction.folder, (FORMS[name].file_name for name in output.forms)),
    }


@dataclass(frozen=True)
class _Stages:
    """The stages that an engine runs, and their shared settings."""

    inputs: ExtractInputs
    settings: ExtractSettings
    folder: Path
    num_shards: int
    engine: Engine
    on_progress: OnProgress

    def gather(self, files: Sequence[Path]) -> dict[str, Any]:
        """Gather the sentences of all files by shard; return the counts over all pieces."""
        records = read_records(self.folder)
        refuse_other_division(self.folder, len(records), self.num_shards)
        remove_from(self.folder, len(records))  # files of a killed run
        size = sum(file.stat().st_size for file in files)
        piece_bytes = max(self.settings.piece_bytes, size // _MOST_PIECES)
        pieces = new_pieces(files, records, self.settings.form, piece_bytes)
        done, rate = sum(record.piece.size for record in records), _Rate()
        engine = worth_processes(self.engine, size - done, _LEAST_BYTES)
        for record in engine(Gatherer(self.folder, self.num_shards), pieces):
            done += record.piece.size
            self.on_progress("gathering", done, size, rate.note(record.num_good))
        records, max_share = read_records(self.folder), self.settings.max_bad_share
        num_good, num_bad = sum(each.num_good for each in records), sum(each.num_bad for each in records)
        if num_bad > max_share * (num_good + num_bad):
            raise BadInputError(
                f"{next(first_bad_lines(records))} ({num_bad:,} of {num_good + num_bad:,} lines are bad, more than"
                f" {max_share:.2%}: repair them, or allow more with {option('max_bad_share', '--max-bad')};"
                f" see `{as_command('sayso', 'check', self.inputs.corpus)}`)"
            )
        digest = hashlib.sha256("".join(sorted(each.sha256 for each in records)).encode())
        return {
            "corpus_digest": digest.hexdigest()[:16],
            "num_pieces": len(records),
            "num_sentences": num_good,
            "num_bad": num_bad,
            "first_bad": list(islice(first_bad_lines(records), _NUM_BAD_SHOWN)),
        }

    def predict(self, num_pieces: int, origin: Origin, types: TypeTable | None) -> dict[str, Any]:
        """Predict the shards with new data, and return the counts over all shards."""
        predictor = ShardPredictor(
            folder=self.folder,
            run=self.inputs.run.resolve(),
            origin=origin,
            settings=self.settings,
            num_pieces=num_pieces,
            types=keep_types(self.folder, types),
        )
        now = {number: read_shard_record(shard_file(self.folder, number)) for number in range(self.num_shards)}
        waiting = [number for number, record in now.items() if not predictor.is_done(record)]
        rate, total = _Rate(), Counter(num_predicted=0, num_repeated=0, num_too_far_apart=0, num_cut=0)
        engine = self._predicting_engine(len(waiting))
        table_memory = self.settings.table_memory // num_processes(engine)
        predictor = replace(predictor, settings=replace(self.settings, table_memory=table_memory))
        for done, record in enumerate(engine(predictor, waiting), self.num_shards - len(waiting) + 1):
            now[record.number] = record
            self.on_progress("extracting", done, self.num_shards, rate.note(record.num_sentences))
            total.update({name: getattr(record, name) for name in total})
        for each in now.values():
            assert each, "every shard is done"
            total.update(num_pairs=each.num_pairs, num_facts=each.num_facts)
        return dict(total)

    def _predicting_engine(self, num_waiting: int) -> Engine:
        """Return the engine, or this process for little work or if the model is on a GPU, which would hold copies."""
        num_bytes = sum(record.piece.size for record in read_records(self.folder)) * num_waiting // self.num_shards
        device = self.settings.device
        is_on_cpu = device == "cpu" or (device == "auto" and choose_device(device).type == "cpu")
        least = _LEAST_BYTES if is_on_cpu else sys.maxsize
        return worth_processes(self.engine, num_bytes, least)


class _Rate:
    def __init__(self) -> None:
        self._began, self._num = time.monotonic(), 0

    def note(self, num: int) -> str:
        """Return the progress note after this many more sentences."""
        self._num += num
        rate = self._num / max(time.monotonic() - self._began, 1e-9)
        return f"{self._num:,} sentences, {rate:,.0f} per second"
