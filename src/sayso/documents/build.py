"""Documents and a knowledge base to a corpus folder: the whole way, stage by stage."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from sayso.documents.document import read_documents, size_of
from sayso.documents.folder import FACTS, GUESSED, RELATIONS, TYPES, Mode, corpus_folder, write_manifest
from sayso.documents.guess_type import Guesses, guess_types
from sayso.documents.intake import Intake
from sayso.documents.settings import BuildSettings
from sayso.documents.shard import CONTEXTS, ShardBuilder, ShardRecord, read_records, remove_unfinished, shards, total
from sayso.documents.tables import BuildInputs, Tables, identity_of, read_tables
from sayso.engine.base import Engine, map_locally
from sayso.io.atomic import atomic_file
from sayso.records import OnProgress

SHARD_DOCUMENTS, SHARD_CHARACTERS = 2_000, 4_000_000
MAX_BAD_SHARE = 0.05


def build(
    inputs: BuildInputs,
    settings: BuildSettings,
    out: Path,
    on_progress: OnProgress,
    mode: Mode = "new",
    max_bad_share: float = MAX_BAD_SHARE,
    engine: Engine = map_locally,
) -> dict[str, Any]:
    """Write the corpus of the documents into the folder and return its manifest.

    A shard that is done stays done: after a kill, `append` goes on with the documents that are missing.
    """
    on_progress("reading names and facts", 0, 0)
    tables, identity = read_tables(inputs, settings), identity_of(inputs, settings)
    build_shard = tables.shard_builder(out.resolve())  # before the folder is touched: what it needs may be missing
    with corpus_folder(out, mode, identity):
        records, intake = read_records(out), Intake()
        remove_unfinished(out, records)
        _write_knowledge(out, tables)
        for record in _build_shards(inputs.documents, settings, build_shard, records, intake, engine, on_progress):
            records.append(record)
        intake.refuse_too_many_left_out(inputs.documents, max_bad_share)
        on_progress("guessing types", 0, 0)
        guesses = _guess_types(out, tables)
        manifest = {"is_finished": True, **identity, **_report(tables, records, intake, guesses)}
        write_manifest(out, manifest)
    return manifest


def _build_shards(
    documents: Path,
    settings: BuildSettings,
    build_shard: ShardBuilder,
    before: Iterable[ShardRecord],
    intake: Intake,
    engine: Engine,
    on_progress: OnProgress,
) -> Iterator[ShardRecord]:
    """Yield the records of shards with the documents that are not there yet."""
    there: dict[str, str] = {}
    first = 0
    for record in before:
        there |= record.documents
        first = max(first, record.number + 1)
    size, done, num_sentences, began = size_of(documents), 0, 0, time.monotonic()

    def on_bytes(position: int) -> None:
        nonlocal done
        done = position

    new = intake.new_ones(read_documents(documents, settings, on_bytes), there)
    waiting = shards(new, first, SHARD_DOCUMENTS, SHARD_CHARACTERS)
    for record in engine(build_shard, waiting):
        num_sentences += record.counts.get("sentences", 0)
        rate = num_sentences / max(time.monotonic() - began, 1e-9)
        on_progress("building", done, size, f"{num_sentences:,} sentences, {rate:,.0f} a second")
        yield record


def _write_knowledge(out: Path, tables: Tables) -> None:
    with atomic_file(out / RELATIONS) as file:
        for name, definition, example, is_functional in tables.knowledge.relations:
            record = {"name": name, "definition": definition, "example": example, "functional": is_functional}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    with atomic_file(out / FACTS) as file:
        for (head_id, tail_id), relations in tables.knowledge.facts.items():
            file.writelines(f"{head_id}\t{relation}\t{tail_id}\n" for relation in relations)


def _guess_types(out: Path, tables: Tables) -> Guesses:
    """Write the types, given and guessed, and return the guesses."""
    guesses = Guesses({})
    if tables.with_guesses:
        guesses = guess_types(partial(_context_lines, out), tables.names, tables.types, tables.settings.seed)
    types = {entity_id: list(given) for entity_id, given in tables.types.items()}
    types |= {entity_id: [guess.type] for entity_id, guess in guesses.types.items()}
    with atomic_file(out / TYPES) as file:
        file.write(json.dumps(types, indent=0, ensure_ascii=False) + "\n")
    with atomic_file(out / GUESSED) as file:
        for entity_id, guess in guesses.types.items():
            file.write(f"{entity_id}\t{guess.type}\t{guess.probability:.3f}\n")
    return guesses


def _context_lines(out: Path) -> Iterator[str]:
    for path in sorted((out / CONTEXTS).glob("[0-9]*")):
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from file


def _report(tables: Tables, records: Iterable[ShardRecord], intake: Intake, guesses: Guesses) -> dict[str, Any]:
    # Of names that are met equally often the first counts, whichever shard was done first.
    records = sorted(records, key=lambda record: record.number)
    ambiguous: Counter[str] = Counter()
    for record in records:
        ambiguous.update(record.ambiguous)
    knowledge, gazetteer = tables.knowledge, tables.gazetteer
    return {
        "counts": total(records),
        "shards": len(records),
        "documents": asdict(intake) | {"left_out": dict(intake.left_out)},
        "ambiguous": dict(ambiguous.most_common(20)),
        "names": {
            "entities": len(tables.names),
            "names": gazetteer.num_names,
            "ambiguous": gazetteer.num_ambiguous,
            "stopped": gazetteer.stopped.counts,
            "first_stopped": gazetteer.stopped.shown,
        },
        "knowledge": {
            "relations": len(knowledge.relations),
            "facts": knowledge.num_facts,
            "pairs": len(knowledge.facts),
            "odd": knowledge.oddities.counts,
            "first_odd": knowledge.oddities.shown,
        },
        "types": {"given": len(tables.types), **guesses._asdict(), "types": len(guesses.types)},
    }
