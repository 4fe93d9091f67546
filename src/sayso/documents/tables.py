"""The tables that every document is read with: names, facts, types; and what is made from them once."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sayso import __version__
from sayso.documents.align import Aligner
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.knowledge import Knowledge, read_knowledge
from sayso.documents.link import Linker, count_type_pairs, finest_type
from sayso.documents.mention import DocumentReader, Find
from sayso.documents.name_table import Names, read_names
from sayso.documents.settings import BuildSettings
from sayso.documents.shard import ShardBuilder
from sayso.documents.stop_name import read_stop_names
from sayso.errors import BadInputError
from sayso.readers.entity_type import EntityTypes, read_entity_types
from sayso.readers.files import sha256_of

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class BuildInputs:
    """The files a corpus is built from."""

    documents: Path
    kb: Path
    names: Path
    types: Path | None = None
    relations: Path | None = None
    stop_names: Path | None = None

    def tables(self) -> dict[str, Path]:
        """Return all but the documents by the name of their option."""
        given = {"kb": self.kb, "names": self.names, "types": self.types, "relations": self.relations}
        return {name: path for name, path in (given | {"stop-names": self.stop_names}).items() if path}


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Names, facts and types in memory, and the automaton of the names."""

    settings: BuildSettings
    names: Names
    knowledge: Knowledge
    types: EntityTypes
    gazetteer: Gazetteer

    @property
    def with_guesses(self) -> bool:
        """Whether types are to be guessed: only where some are given."""
        return bool(self.types) and self.settings.guess_types

    def find(self) -> Find:
        """Return what finds names, by the settings."""
        if self.settings.finder == "names":
            return self.gazetteer.find
        from sayso.documents.spacy_finder import SpacyFinder

        return SpacyFinder(self.gazetteer, self.names, self.settings.spacy_model).find

    def linker(self) -> Linker:
        """Return what says whose name it is, by the settings."""
        finest = {entity_id: finest_type(types) for entity_id, types in self.types.items() if types}
        return Linker(self.settings.ambiguous, finest, count_type_pairs(self.knowledge.facts, finest))

    def reader(self) -> DocumentReader:
        """Return what turns a document into sentences that name entities."""
        return DocumentReader(self.find(), self.linker(), self.names, self.settings.max_tokens)

    def aligner(self) -> Aligner:
        """Return what pairs the entities of a sentence."""
        settings = self.settings
        return Aligner(self.knowledge.facts, settings.na_share, settings.seed, settings.max_pairs)

    def shard_builder(self, folder: Path) -> ShardBuilder:
        """Return what writes shards into the folder."""
        return ShardBuilder(
            folder, self.find(), self.linker(), self.aligner(), self.names, self.settings.max_tokens, self.with_guesses
        )


def read_tables(inputs: BuildInputs, settings: BuildSettings) -> Tables:
    """Return the tables; a file that is missing is told before any work."""
    for path in (inputs.documents, *inputs.tables().values()):
        if str(path) != "-" and not path.exists():
            raise BadInputError(f"{path}: no such file or directory")
    names = read_names(inputs.names)
    stop_names = read_stop_names(inputs.stop_names) if inputs.stop_names else frozenset[str]()
    knowledge = read_knowledge(inputs.kb, names, inputs.relations)
    relations = [relation.name for relation in knowledge.relations]
    return Tables(
        settings=settings,
        names=names,
        knowledge=knowledge,
        types=read_entity_types(inputs.types, relations) if inputs.types else {},
        gazetteer=Gazetteer(names, settings.case, stop_names),
    )


def identity_of(inputs: BuildInputs, settings: BuildSettings) -> dict[str, Any]:
    """Return what two runs must have in common to write into one corpus."""
    digests = {name: sha256_of(path) for name, path in inputs.tables().items()}
    return {"format": FORMAT, "sayso": __version__, "settings": asdict(settings), "inputs": digests}
