"""A finished extraction: yields the facts of its shards in order, compared with a knowledge base."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sayso.extract.shard import merged_facts, shard_file
from sayso.facts.corpus_facts import frame_of
from sayso.facts.fact import ExtractedFact, Status
from sayso.records import Relation, Triple


@dataclass(frozen=True)
class KnownFacts:
    """The objects that a knowledge base has for each (subject, relation), and the functional relations."""

    tails: Mapping[tuple[str, str], frozenset[str]]
    functional: frozenset[str]

    def compare(self, fact: ExtractedFact) -> ExtractedFact:
        """Return the fact with its status and the objects that it contradicts.

        Only facts of functional relations, which have one object per subject, can be contradicted.
        """
        tails = self.tails.get((fact.head_id, fact.relation), frozenset())
        if fact.tail_id in tails:
            return replace(fact, status="known")
        if tails and fact.relation in self.functional:
            return replace(fact, status="contradicts", contradicts=tuple(sorted(tails)))
        return replace(fact, status="new")


def known_facts(triples: Iterable[Triple], relations: Sequence[Relation]) -> KnownFacts:
    """Return the knowledge base's facts for these relations; others are ignored."""
    names = {relation.name for relation in relations}
    tails: dict[tuple[str, str], set[str]] = {}
    for triple in triples:
        head_id, relation, tail_id = (column.removeprefix("\ufeff").strip() for column in triple)  # as `build` does
        if relation in names:
            tails.setdefault((head_id, relation), set()).add(tail_id)
    functional = frozenset(relation.name for relation in relations if relation.is_functional)
    return KnownFacts({key: frozenset(found) for key, found in tails.items()}, functional)


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
        for fact in merged_facts(files):
            compared = self.known.compare(fact) if self.known else fact
            if not self.only or compared.status in self.only:
                yield compared

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per fact and the columns of `ExtractedFact.to_dict`."""
        return frame_of(fact.to_dict() for fact in self)
