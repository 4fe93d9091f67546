"""The tables that every document is read with: names, facts and types, and what is made from them once."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sayso import __version__
from sayso.documents.align import Aligner
from sayso.documents.gazetteer import Gazetteer, read_stop_names
from sayso.documents.knowledge import Knowledge, Names, read_knowledge, read_names
from sayso.documents.link import Linker, count_type_pairs, finest_type
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.documents.shard import ShardBuilder
from sayso.errors import BadInputError
from sayso.readers.entity_type import TypesById, read_entity_types
from sayso.readers.files import sha256_of

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class BuildTables:
    """Names, facts and types in memory, and the trie of the names."""

    settings: BuildSettings
    names: Names
    knowledge: Knowledge
    types: TypesById
    gazetteer: Gazetteer

    @property
    def with_guesses(self) -> bool:
        """Whether types are guessed: only if some are given."""
        return bool(self.types) and self.settings.guess_types

    def shard_builder(self, folder: Path) -> ShardBuilder:
        """Return the builder that writes shards into the folder, as the settings say."""
        settings, find = self.settings, self.gazetteer.find
        if settings.finder == "spacy":
            from sayso.documents.spacy_finder import SpacyFinder

            find = SpacyFinder(self.gazetteer, self.names, settings.spacy_model).find
        finest = {entity_id: finest_type(types) for entity_id, types in self.types.items() if types}
        linker = Linker(settings.ambiguous, finest, count_type_pairs(self.knowledge.facts, finest))
        aligner = Aligner(self.knowledge.facts, settings.na_share, settings.seed, settings.max_pairs)
        return ShardBuilder(folder, find, linker, aligner, self.names, settings.max_tokens, self.with_guesses)


def read_tables(inputs: BuildInputs, settings: BuildSettings) -> BuildTables:
    """Return the tables; a missing file is an error before any of them is read."""
    for path in (inputs.documents, *inputs.tables().values()):
        if str(path) != "-" and not path.exists():
            raise BadInputError(f"{path}: no such file or directory")
    names = read_names(inputs.names)
    stop_names = read_stop_names(inputs.stop_names) if inputs.stop_names else frozenset[str]()
    knowledge = read_knowledge(inputs.kb, names, inputs.relations)
    relations = [relation.name for relation in knowledge.relations]
    return BuildTables(
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
