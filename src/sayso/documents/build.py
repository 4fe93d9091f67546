"""Build a corpus folder from documents and a knowledge base."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sayso import __version__
from sayso.documents.corpus import (
    CONTEXTS,
    FACTS,
    GUESSED,
    RELATIONS,
    TYPES,
    BuildMode,
    BuiltShard,
    ShardBuilder,
    corpus_folder,
    read_records,
    remove_unfinished,
    shards,
    total,
)
from sayso.documents.document import Document, LeftOut, read_documents, size_of
from sayso.documents.entity_graph import EntityGraph
from sayso.documents.gazetteer import Gazetteer, read_stop_names
from sayso.documents.knowledge import (
    Aligner,
    Exceptions,
    Knowledge,
    Names,
    names_of_ids,
    read_exceptions,
    read_knowledge,
    read_names,
)
from sayso.documents.link import Linker
from sayso.documents.new_entity import NewEntities
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.documents.type_guess import Guesses, guess_types
from sayso.engine import Engine, worth_processes
from sayso.errors import BadInputError, option
from sayso.input_file import holds_no, refuse_missing
from sayso.io.atomic import atomic_file, write_text
from sayso.readers.files import sha256_of
from sayso.readers.tables import TypeTable, read_entity_types, read_triples
from sayso.records import OnProgress

FORMAT = 2
SHARD_DOCUMENTS, SHARD_CHARACTERS = 2_000, 4_000_000
MAX_BAD_SHARE = 0.05
_NUM_SHOWN, _LEAST_BYTES = 10, 2**20  # fewer bytes are built while processes would start


@dataclass(frozen=True, kw_only=True)
class BuildTables:
    """Names, facts and types in memory, and a trie of the names."""

    settings: BuildSettings
    names: Names
    knowledge: Knowledge
    types: TypeTable
    gazetteer: Gazetteer
    exceptions: Exceptions | None = None

    @property
    def with_guesses(self) -> bool:
        """Whether types are guessed: only if some are given."""
        return bool(self.types) and self.settings.guess_types

    def shard_builder(self, folder: Path) -> ShardBuilder:
        """Return a builder that writes shards into the folder according to the settings."""
        settings, find = self.settings, self.gazetteer.find
        if settings.finder == "spacy":
            from sayso.documents.spacy_finder import SpacyFinder

            find = SpacyFinder(self.gazetteer, self.names, settings.spacy_model, settings.new_entities).find
        linker = Linker(
            self.names, EntityGraph(self.knowledge.facts, self.types), settings.ambiguous, settings.doubtful
        )
        aligner = Aligner(self.knowledge.facts, settings.na_share, settings.seed, settings.max_pairs)
        tables = self.names, settings.max_tokens, self.with_guesses, self.exceptions
        return ShardBuilder(folder, find, linker, aligner, *tables, settings.reading)


def read_tables(inputs: BuildInputs, settings: BuildSettings) -> BuildTables:
    """Read the tables, after checking that all files exist."""
    refuse_missing((inputs.documents, *inputs.tables().values()))
    names = read_names(inputs.names) if inputs.names else names_of_ids(_ids(inputs), inputs.kb)
    stop_names = read_stop_names(inputs.stop_names) if inputs.stop_names else frozenset[str]()
    knowledge = read_knowledge(inputs.kb, names, inputs.relations)
    relations = [relation.name for relation in knowledge.relations]
    return BuildTables(
        settings=settings,
        names=names,
        knowledge=knowledge,
        types=read_entity_types(inputs.types, relations) if inputs.types else {},
        gazetteer=Gazetteer(names, settings.case, stop_names),
        exceptions=read_exceptions(inputs.exceptions) if inputs.exceptions else None,
    )


def _ids(inputs: BuildInputs) -> Iterator[str]:
    """Yield the ids of the entities in the facts and types."""
    for head_id, _, tail_id in read_triples(inputs.kb):
        yield from (head_id, tail_id)
    yield from read_entity_types(inputs.types) if inputs.types else ()


def identity_of(inputs: BuildInputs, settings: BuildSettings) -> dict[str, Any]:
    """Return the version, settings and input hashes that must match for a run to append to a corpus."""
    digests = {name: sha256_of(path) for name, path in inputs.tables().items()}
    return {"format": FORMAT, "sayso": __version__, "settings": asdict(settings), "inputs": digests}


@dataclass
class DocumentTally:
    """Counts of the documents in one run (new, already built, changed, left out), with the first few of each kind."""

    num_new: int = 0
    num_already_there: int = 0
    num_changed: int = 0
    changed: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    num_bad: int = 0
    first_bad: list[str] = field(default_factory=list)
    first_passed_over: list[str] = field(default_factory=list)

    def new_ones(self, items: Iterable[Document | LeftOut], known: dict[str, str]) -> Iterator[Document]:
        """Yield the documents that are not built yet, and add them to `known` (id to fingerprint).

        A document with a known id but different text is counted as changed and not built again.
        """
        for item in items:
            if isinstance(item, LeftOut):
                self._leave_out(item)
            elif item.id not in known:
                known[item.id] = item.fingerprint
                self.num_new += 1
                yield item
            elif known[item.id] == item.fingerprint:
                self.num_already_there += 1
            else:
                self.num_changed += 1
                self.changed += [item.id] if len(self.changed) < _NUM_SHOWN else []

    def _leave_out(self, item: LeftOut) -> None:
        # Reasons are counted without their numbers, which differ from document to document.
        self.left_out[re.sub(r"(?<![\w-])[0-9]+(?:,[0-9]{3})*", "…", item.reason)] += 1
        self.num_bad += item.is_fault
        shown = self.first_bad if item.is_fault else self.first_passed_over
        if len(shown) < _NUM_SHOWN:
            shown.append(f"{item.where}: {item.reason}")

    def refuse_too_many_left_out(self, path: Path, max_share: float) -> None:
        """Raise `BadInputError` if no document is usable or more than `max_share` are bad, not counting empty ones."""
        num_used, num_bad = self.num_new + self.num_already_there + self.num_changed, self.num_bad
        first = "".join(f" (first: {shown})" for shown in (self.first_bad + self.first_passed_over)[:1])
        if not num_used and not self.left_out:
            raise holds_no(path, "documents")
        if not num_used:
            raise BadInputError(f"{path}: no usable documents{first}")
        if num_bad > max_share * (num_used + num_bad):
            append = option('mode="append"', "--append")
            raise BadInputError(
                f"{path}: {num_bad:,} of {num_used + num_bad:,} documents cannot be used, more than {max_share:.0%}"
                f" (fix them, or allow more with {option('max_bad_share', '--max-bad')};"
                f" {append} continues from the finished shards){first}"
            )


def build(
    inputs: BuildInputs,
    settings: BuildSettings,
    out: Path,
    on_progress: OnProgress,
    mode: BuildMode = "new",
    max_bad_share: float = MAX_BAD_SHARE,
    engine: Engine = map,
) -> dict[str, Any]:
    """Build a corpus from the documents, write it into the folder and return its manifest.

    Finished shards are kept; after an interruption, `append` builds the missing documents.
    """
    on_progress("reading names and facts", 0, 0)
    tables, identity = read_tables(inputs, settings), identity_of(inputs, settings)
    build_shard = tables.shard_builder(out.resolve())  # before the folder is touched: spaCy may be missing
    with corpus_folder(out, mode, identity) as folder:
        records, tally = read_records(out), DocumentTally()
        remove_unfinished(out, records)
        _write_knowledge(out, tables)
        records += _build_shards(inputs.documents, settings, build_shard, records, tally, engine, on_progress)
        tally.refuse_too_many_left_out(inputs.documents, max_bad_share)
        on_progress("guessing types", 0, 0)
        guesses = _guess_types(out, tables, new := NewEntities(out))
        manifest = {"is_finished": True, **identity, **_report(tables, records, tally, guesses)}
        folder.write(manifest := manifest | {"new_entities": new.report()})
    return manifest


def _build_shards(
    documents: Path,
    settings: BuildSettings,
    build_shard: ShardBuilder,
    before: Sequence[BuiltShard],
    tally: DocumentTally,
    engine: Engine,
    on_progress: OnProgress,
) -> list[BuiltShard]:
    """Build shards from the documents that are not built yet; return their records."""
    known = {document_id: digest for record in before for document_id, digest in record.documents.items()}
    first = max((record.number + 1 for record in before), default=0)
    size, done, num_sentences, began = size_of(documents), 0, 0, time.monotonic()

    def on_bytes(position: int) -> None:
        nonlocal done
        done = position

    new = tally.new_ones(read_documents(documents, settings, on_bytes), known)
    built, engine = [], worth_processes(engine, size or _LEAST_BYTES, _LEAST_BYTES)
    for record in engine(build_shard, shards(new, first, SHARD_DOCUMENTS, SHARD_CHARACTERS)):
        built.append(record)
        num_sentences += record.counts.get("sentences", 0)
        rate = num_sentences / max(time.monotonic() - began, 1e-9)
        on_progress("building", done, size, f"{num_sentences:,} sentences, {rate:,.0f} per second")
    return built


def _write_knowledge(out: Path, tables: BuildTables) -> None:
    with atomic_file(out / RELATIONS) as file:
        for name, definition, example, is_functional in tables.knowledge.relations:
            record = {"name": name, "definition": definition, "example": example, "functional": is_functional}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    with atomic_file(out / FACTS) as file:
        for (head_id, tail_id), relations in tables.knowledge.facts.items():
            file.writelines(f"{head_id}\t{relation}\t{tail_id}\n" for relation in relations)


def _guess_types(out: Path, tables: BuildTables, new: NewEntities) -> Guesses:
    """Write the types, given and guessed, and return the guesses."""
    guesses = Guesses({})
    if tables.with_guesses:
        guesses = guess_types(partial(_context_lines, out), tables.names, tables.types, tables.settings.seed)
    types = {entity_id: list(given) for entity_id, given in tables.types.items()}
    types |= {entity_id: [guess.type] for entity_id, guess in guesses.types.items()} | new.types(types, guesses.types)
    new.write(types)
    write_text(out / TYPES, json.dumps(types, indent=0, ensure_ascii=False) + "\n")
    with atomic_file(out / GUESSED) as file:
        for entity_id, guess in guesses.types.items():
            file.write(f"{entity_id}\t{guess.type}\t{guess.probability:.3f}\n")
    return guesses


def _context_lines(out: Path) -> Iterator[str]:
    for path in sorted((out / CONTEXTS).glob("[0-9]*")):
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from file


def _report(
    tables: BuildTables, records: Iterable[BuiltShard], tally: DocumentTally, guesses: Guesses
) -> dict[str, Any]:
    # In the order of the shards, so that the list of ambiguous names does not depend on which was built first.
    records = sorted(records, key=lambda record: record.number)
    ambiguous, doubtful, too_long = Counter[str](), Counter[str](), Counter[str]()
    for record in records:
        ambiguous.update(record.ambiguous)
        doubtful.update(record.doubtful)
        too_long.update(dict(record.too_long))
    knowledge, gazetteer = tables.knowledge, tables.gazetteer
    return {
        "counts": total(records),
        "shards": len(records),
        "documents": asdict(tally) | {"left_out": dict(tally.left_out)},
        "ambiguous": dict(ambiguous.most_common(20)),
        "doubtful": dict(doubtful.most_common(20)),
        "too_long": dict(too_long.most_common(_NUM_SHOWN)),
        "names": {
            "entities": len(tables.names),
            "names": gazetteer.num_names,
            "ambiguous": gazetteer.num_ambiguous,
            "stopped": gazetteer.stopped.counts,
            "first_stopped": [name for names in gazetteer.stopped.shown.values() for name in names],
            "unspaced": sum(gazetteer.unspaced.counts.values()),
            "first_unspaced": [name for names in gazetteer.unspaced.shown.values() for name in names],
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
