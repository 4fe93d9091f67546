"""Shards of a build: a batch of documents, the lines built from them, and a record that marks the shard as finished."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sayso.documents.align import Aligner
from sayso.documents.document import Document
from sayso.documents.knowledge import Names
from sayso.documents.link import Linker
from sayso.documents.mention import DocumentReader, Find
from sayso.documents.type_guess import context_lines
from sayso.io.atomic import atomic_file
from sayso.io.json_file import read_record, to_json
from sayso.readers.jsonl import write_pairs

TRAIN, REST, CONTEXTS, RECORDS = "train", "rest", "contexts", "shards"
"""Folders of a corpus: training lines, lines of the other pairs, words around mentions, shard records."""

COUNTS = (
    "documents",
    "documents with HTML",
    "documents not in UTF-8",
    "documents with NUL characters",
    "sentences",
    "sentences with pairs",
    "sentences too long",
    "names",
    "ambiguous names",
    "ambiguous names resolved",
    "pairs too many for their sentence",
    "lines with a relation",
    "lines NA for training",
    "lines in rest",
)
"""Counts of a build, in display order."""

_NUM_AMBIGUOUS_KEPT = 100


class DocumentShard(NamedTuple):
    """Documents that are processed together."""

    number: int
    documents: list[Document]


class BuiltShard(NamedTuple):
    """A finished shard: counts, the ambiguous names found, and its documents with their fingerprints."""

    number: int
    counts: dict[str, int]
    ambiguous: dict[str, int]
    documents: dict[str, str]


def shards(
    documents: Iterable[Document], first: int, most_documents: int, most_characters: int
) -> Iterator[DocumentShard]:
    """Group the documents into shards numbered from `first`; a shard is full when it reaches either limit."""
    taken: list[Document] = []
    num_characters = 0
    for document in documents:
        taken.append(document)
        num_characters += len(document.text)
        if len(taken) >= most_documents or num_characters >= most_characters:
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

    def __call__(self, shard: DocumentShard) -> BuiltShard:
        """Write the shard's files, its record last, and return the record."""
        reader = DocumentReader(self.find, self.linker, self.names, self.max_tokens)
        lines: dict[str, list[str]] = {TRAIN: [], REST: [], CONTEXTS: []}
        for document in shard.documents:
            for sentence in reader.sentences(document):
                entities = {entity.mention.entity_id: entity for entity in sentence.entities}
                pairs, num_left_out = self.aligner.align(list(entities))
                written = write_pairs(sentence.tokens, sentence.source, entities, [pair[:3] for pair in pairs])
                reader.counts["pairs too many for their sentence"] += num_left_out
                for pair, line in zip(pairs, written, strict=True):
                    lines[TRAIN if pair.is_for_training else REST].append(line)
                    kind = "NA for training" if pair.is_for_training else "in rest"
                    reader.counts[f"lines {'with a relation' if pair.relations else kind}"] += 1
                if self.with_contexts:
                    lines[CONTEXTS] += context_lines(sentence)
        for folder, written in lines.items():
            write_shard(self.folder / folder / f"{shard.number:06d}{_ENDINGS[folder]}", written)
        fingerprints = {document.id: document.fingerprint for document in shard.documents}
        ambiguous = dict(reader.ambiguous.most_common(_NUM_AMBIGUOUS_KEPT))
        record = BuiltShard(shard.number, dict(reader.counts), ambiguous, fingerprints)
        write_shard(self.folder / RECORDS / f"{shard.number:06d}.json", [to_json(record._asdict())])
        return record


_ENDINGS = {TRAIN: ".jsonl", REST: ".jsonl", CONTEXTS: ".tsv"}


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
    counts: Counter[str] = sum((Counter(record.counts) for record in records), Counter())
    return {name: counts[name] for name in COUNTS}
