"""The folder of a built corpus: shards of documents with the lines built from them, their records, and a manifest."""

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sayso.documents.document import Document
from sayso.documents.knowledge import Aligner, Exceptions, Names
from sayso.documents.link import Linker
from sayso.documents.mention import DocumentReader, Find
from sayso.documents.new_entity import NEW, NEW_ENTITIES, new_entity_lines
from sayso.documents.settings import FULL_NAMES, ReadingOptions
from sayso.documents.type_guess import context_lines
from sayso.errors import UserError, option
from sayso.io.atomic import atomic_file
from sayso.io.folder import OVERWRITE, REFUSED, OutputFolder
from sayso.io.json_file import read_record, to_json
from sayso.readers.jsonl import write_pairs

TRAIN, REST, CONTEXTS, DOUBTFUL, RECORDS = "train", "rest", "contexts", "doubtful", "shards"
"""Folders of a corpus: training lines, other pairs' lines, words around mentions, doubtful links, shard records."""
_FOLDERS = (TRAIN, REST, CONTEXTS, DOUBTFUL, NEW, RECORDS)
_ENDINGS = {TRAIN: ".jsonl", REST: ".jsonl", CONTEXTS: ".tsv", DOUBTFUL: ".tsv", NEW: ".tsv"}
RELATIONS, FACTS, TYPES, GUESSED = "relations.jsonl", "kb.tsv", "types.json", "guessed_types.tsv"

BuildMode = Literal["new", "append", "overwrite"]
_APPEND = option('mode="append"', "--append")

COUNTS = (
    "documents",
    "documents with HTML",
    "documents not in UTF-8",
    "documents with NUL characters",
    "sentences",
    "sentences with pairs",
    "neighbouring sentences with pairs",
    "sentences too long",
    "names",
    "short names",
    "pronouns",
    "links ruled out",
    "ambiguous names",
    "ambiguous names resolved",
    "doubtful links",
    "new entities",
    "pairs above --max-pairs",
    "lines with a relation",
    "NA lines for training",
    "lines in rest",
)
"""Counts of a build, in display order."""
_FORMER_COUNTS = {
    "pairs too many for their sentence": "pairs above --max-pairs",
    "lines NA for training": "NA lines for training",
}
"""Names of counts in the records of earlier builds, which `append` adds to."""

_NUM_NAMES_KEPT = 100
_NUM_SMALL = 4
_NUM_TOO_LONG_KEPT = 5


class DocumentShard(NamedTuple):
    """Documents that are processed together."""

    number: int
    documents: list[Document]


class BuiltShard(NamedTuple):
    """A finished shard: counts, its ambiguous and doubtful names, and its documents with their fingerprints.

    `too_long` counts the sentences that are too long by document, for the documents with the most.
    """

    number: int
    counts: dict[str, int]
    ambiguous: dict[str, int]
    doubtful: dict[str, int]
    documents: dict[str, str]
    too_long: tuple[tuple[str, int], ...] = ()


def shards(
    documents: Iterable[Document], first: int, most_documents: int, most_characters: int
) -> Iterator[DocumentShard]:
    """Group the documents into shards numbered from `first`; a shard is full when it reaches either limit.

    The first shards have an eighth of these limits, so that a small corpus has shards for several processes; the later
    ones have more and more, so that a large corpus does not have too many.
    """
    taken: list[Document] = []
    num_characters = 0
    for document in documents:
        taken.append(document)
        num_characters += len(document.text)
        share = min(1.0, (_NUM_SMALL + first) / (8 * _NUM_SMALL))
        if len(taken) >= share * most_documents or num_characters >= share * most_characters:
            yield DocumentShard(first, taken)
            taken, num_characters, first = [], 0, first + 1
    if taken:
        yield DocumentShard(first, taken)


@dataclass(frozen=True)
class ShardBuilder:
    """Builds shards and writes them into the corpus folder; it has no state, so any process can run it."""

    folder: Path
    find: Find
    linker: Linker
    aligner: Aligner
    names: Names
    max_tokens: int
    with_contexts: bool
    exceptions: Exceptions | None = None
    options: ReadingOptions = FULL_NAMES

    def __call__(self, shard: DocumentShard) -> BuiltShard:
        """Write the shard's files, its record last, and return the record."""
        reader = DocumentReader(self.find, self.linker, self.names, self.max_tokens, self.exceptions, self.options)
        lines: dict[str, list[str]] = {TRAIN: [], REST: [], CONTEXTS: []}
        for document in shard.documents:
            for sentence in reader.sentences(document):
                entities = {entity.mention.entity_id: entity for entity in sentence.entities}
                pairs, num_left_out = self.aligner.align(list(entities), sentence.first)
                written = write_pairs(sentence.tokens, sentence.source, entities, [pair[:3] for pair in pairs])
                reader.counts["pairs above --max-pairs"] += num_left_out
                for pair, line in zip(pairs, written, strict=True):
                    lines[TRAIN if pair.is_for_training else REST].append(line)
                    na = "NA lines for training" if pair.is_for_training else "lines in rest"
                    reader.counts["lines with a relation" if pair.relations else na] += 1
                if self.with_contexts and not sentence.first:
                    lines[CONTEXTS] += context_lines(sentence)
        lines[DOUBTFUL] = [link.line for link in reader.doubtful]
        lines[NEW] = new_entity_lines(reader.new_entities)
        reader.counts["new entities"] = reader.new_entities.total()
        reader.counts["doubtful links"] = len(reader.doubtful)
        for folder, written in lines.items():
            write_shard(self.folder / folder / f"{shard.number:06d}{_ENDINGS[folder]}", written)
        fingerprints = {document.id: document.fingerprint for document in shard.documents}
        ambiguous = dict(reader.ambiguous.most_common(_NUM_NAMES_KEPT))
        reasons = Counter(link.reason for link in reader.doubtful)
        doubtful = dict(reasons.most_common(_NUM_NAMES_KEPT))
        too_long = tuple(reader.too_long.most_common(_NUM_TOO_LONG_KEPT))
        record = BuiltShard(shard.number, dict(reader.counts), ambiguous, doubtful, fingerprints, too_long)
        write_shard(self.folder / RECORDS / f"{shard.number:06d}.json", [to_json(record._asdict())])
        return record


def write_shard(path: Path, lines: list[str]) -> None:
    """Write the lines atomically; without lines, write no file, because readers refuse an empty one."""
    if not lines:
        path.unlink(missing_ok=True)
        return
    with atomic_file(path) as file:
        file.writelines(line + "\n" for line in lines)


def read_records(folder: Path) -> list[BuiltShard]:
    """Return the records of the finished shards, in order."""
    paths = sorted((folder / RECORDS).glob("[0-9]*.json"))
    return [read_record(path, BuiltShard, "shard record", "start over with --overwrite") for path in paths]


def remove_unfinished(folder: Path, finished: Iterable[BuiltShard]) -> None:
    """Remove the files of shards without a record, left by a killed run."""
    for path in folder.glob("*/.*.partial"):
        path.unlink()
    kept = {f"{record.number:06d}" for record in finished}
    for name in _ENDINGS:
        for path in (folder / name).glob("[0-9]*"):
            if path.name.split(".")[0] not in kept:
                path.unlink()


def total(records: Iterable[BuiltShard]) -> dict[str, int]:
    """Return the summed counts of all shards, in the order of `COUNTS`."""
    counts = Counter[str]()
    for record in records:
        counts.update({_FORMER_COUNTS.get(name, name): number for name, number in record.counts.items()})
    return {name: counts[name] for name in COUNTS}


@contextlib.contextmanager
def corpus_folder(path: Path, mode: BuildMode, identity: dict[str, Any]) -> Iterator[OutputFolder]:
    """Prepare a corpus folder, and lock it for the duration of the block.

    `identity`: inputs and settings; to append, they must match those of the corpus.
    """
    folder = _output_folder(path)
    if mode == "append":
        _refuse_other(folder, identity)
    elif mode == "overwrite":
        folder.refuse_foreign()
    else:
        folder.refuse_occupied()
    with folder.locked():
        if mode == "new":
            folder.refuse_occupied()  # another process may have finished in the meantime
        if mode != "append":
            folder.clear()
        # The manifest first: without one, a folder left by a killed run would be refused as not made by sayso.
        folder.write({**folder.read(), **identity, "is_finished": False, REFUSED: False})
        for name in _FOLDERS:
            (path / name).mkdir(exist_ok=True)
        with folder.refusable() if mode != "append" else contextlib.nullcontext():
            yield folder


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a built corpus, empty if there is none."""
    return _output_folder(path).read()


def fingerprint_of(path: Path) -> str:
    """Return a hash of what a corpus was built from: documents, tables and settings; empty if it is not finished."""
    manifest = read_manifest(path)
    if not manifest.get("is_finished"):
        return ""
    documents = sorted(pair for record in read_records(path) for pair in record.documents.items())
    identity = [manifest["format"], manifest["sayso"], manifest["settings"], manifest["inputs"], documents]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def built_corpus(path: Path) -> dict[str, Any]:
    """Return the manifest of a finished corpus, or {} if the path is not a corpus; raise `UserError` if unfinished."""
    manifest = read_manifest(path)
    if manifest.get("is_finished") is False:
        raise UserError(f"{path}: `sayso build` was interrupted here: finish it with {_APPEND} first")
    return manifest


def relations_of(corpus: Path, relations: Path | None) -> Path | None:
    """Return the given relations file, else that of the corpus if it is one, else None."""
    return relations or (corpus / RELATIONS if built_corpus(corpus) else None)


def types_of(corpus: Path, types: Path | None) -> Path | None:
    """Return the given types file, else that of the corpus if it was built with types, else None."""
    manifest = built_corpus(corpus)
    has_types = bool(manifest) and manifest.get("types", {}).get("given") != 0
    return types or (corpus / TYPES if has_types else None)


def na_share_of(lines: Path) -> float:
    """Return the fraction of the unrelated pairs that are among these lines; 1 unless `sayso build` sampled them."""
    if lines.name != TRAIN or not lines.is_dir():
        return 1.0
    # Without any NA pair, nothing is known about the others.
    return float(read_manifest(lines.parent).get("settings", {}).get("na_share", 1.0)) or 1.0


def rest_beside(lines: Path) -> Path | None:
    """Return the lines of the other pairs, if these are the training lines of a built corpus that has some."""
    is_built = lines.name == TRAIN and bool(read_manifest(lines.parent))
    return lines.parent / REST if is_built and any((lines.parent / REST).glob("[0-9]*")) else None


def num_rest_lines(lines: Path) -> int:
    """Return the number of lines that `sayso build` wrote for the pairs it left out; 0 if unknown."""
    counts = read_manifest(lines.parent).get("counts", {}) if lines.name == REST else {}
    return int(counts.get("lines in rest", 0))


def _output_folder(path: Path) -> OutputFolder:
    contents = (*_FOLDERS, RELATIONS, FACTS, TYPES, GUESSED, NEW_ENTITIES)
    done = f"{RECORDS}/*.json"
    return OutputFolder(path=path, made_by="sayso build", resume_option=_APPEND, done=done, contents=contents)


class _Manifest(NamedTuple):
    """Manifest entries that are required to append to a corpus."""

    inputs: dict[str, str]
    settings: dict[str, Any]
    is_finished: bool


def _refuse_other(folder: OutputFolder, identity: dict[str, Any]) -> None:
    """Raise `UserError` if the corpus was built from different tables or with different settings."""
    path, manifest = folder.path, folder.read_checked(_Manifest, "corpus manifest")
    if not manifest:
        raise UserError(f"{path}: no built corpus to append to; build one without {_APPEND}")
    for name in dict.fromkeys((*identity["inputs"], *manifest.inputs)):
        if manifest.inputs.get(name) != identity["inputs"].get(name):
            raise UserError(
                f"{path}: {option(name, f'--{name}')} has changed since this corpus was built;"
                f" start over with {OVERWRITE}"
            )
    for name, value in identity["settings"].items():
        before = manifest.settings.get(name)
        if before != value:
            raise UserError(f"{path}: built with {name} {before}, not {value}; use the same value, or start over")
