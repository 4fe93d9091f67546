"""The inputs of a store: its files, its settings, and people's decisions on facts, which replace labels."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from sayso.config import SEED, SHARE, Option, Range, check_ranges
from sayso.errors import BadArgumentError, BadInputError
from sayso.input_file import is_pipe
from sayso.readers.files import sha256_of, size_of
from sayso.readers.read import MAX_BAD_SHARE, Tally, read_sentences
from sayso.readers.tables import read_decisions
from sayso.records import OnProgress, Sentence

if TYPE_CHECKING:
    from sayso.engine import Engine
    from sayso.store.table import BagTable

_Item = TypeVar("_Item")
DEFAULT_MAX_TOKENS = 130
"""The limit in DirectSup's published code."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The input files of a corpus; all but the training file are optional."""

    train: Annotated[
        Path, Option("Training sentences, in any format that `sayso check` reads, or a corpus that `sayso build` made.")
    ]
    test: Annotated[Path | None, Option("Test sentences.")] = None
    relations: Annotated[
        Path | None, Option("Relations; by default those of a built corpus, else those in the sentences.")
    ] = None
    types: Annotated[Path | None, Option("Entity types, JSON or TSV; by default those of a built corpus.")] = None
    direct: Annotated[tuple[Path, ...], Option("Directly supervised sentences; may be repeated.")] = ()
    vectors: Annotated[Path | None, Option("Word vectors, word2vec text or binary.")] = None
    entity_vectors: Annotated[Path | None, Option("Entity vectors, for +E.")] = None
    marks: Annotated[tuple[Path, ...], Option("Marks on sentences of any part; may be repeated.")] = ()
    decisions: Annotated[
        tuple[Path, ...],
        Option("Decisions on facts, which override the labels of the training lines; may be repeated."),
    ] = ()
    rest: Annotated[
        Path | None,
        Option(
            "Sentences of pairs outside training, for --decisions or --folds; with --folds, by default from the built"
            " corpus."
        ),
    ] = None

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield each file with its role; files that share a role are numbered."""
        for role, value in vars(self).items():
            paths = value if isinstance(value, tuple) else (value,) if value else ()
            for number, path in enumerate(paths, 1):
                yield (role if len(paths) == 1 else f"{role} {number}"), path

    def resolved(self, with_rest: bool) -> "Inputs":
        """Return the same inputs with files in place of the folders of built corpora, and with their tables.

        `with_rest`: the sentences of the other pairs are needed, and a built corpus has them.
        """
        from sayso.documents.corpus import REST, TRAIN, relations_of, rest_beside, types_of  # numpy, slow to import

        corpus, rest = self.train, self.rest
        train, test = _part_of(corpus, TRAIN), self.test and _part_of(self.test, TRAIN)
        rest = _part_of(rest, REST) if rest else rest_beside(train) if with_rest else None
        relations, types = relations_of(corpus, self.relations), self.types
        if corpus != train:
            types = types_of(corpus, types)
        return replace(self, train=train, test=test, rest=rest, relations=relations, types=types)


def _part_of(path: Path, part: str) -> Path:
    from sayso.documents.corpus import built_corpus

    return path / part if built_corpus(path) else path


@dataclass(frozen=True, kw_only=True)
class PrepareSettings:
    """Settings for making bags."""

    seed: Annotated[int, SEED, Option("Seed for the split into training and validation.")] = 13
    validation_share: Annotated[
        float, Range(0, 0.9), Option("Fraction of the pairs for validation.", "--validation")
    ] = 0.1
    keep_shared_sentences: Annotated[
        bool,
        Option(
            "Keep training sentences that are also in validation, for a different pair.",
            "--keep-shared/--no-keep-shared",
        ),
    ] = False
    folds: Annotated[
        int,
        Range(0, 100),
        Option(
            "Divide the pairs into this many folds instead: `train` withholds the facts of each fold once, then"
            " trains on all."
        ),
    ] = 0
    leak: Annotated[
        Literal["refuse", "drop", "allow"],
        Option("Test pairs in the training data: fail, leave them out of training, or keep them."),
    ] = "refuse"
    max_tokens: Annotated[int, Range(5, 1_000_000), Option("Maximum tokens per sentence that a model reads.")] = (
        DEFAULT_MAX_TOKENS
    )
    max_bad_share: Annotated[
        float, SHARE, Option("Fail if more than this fraction of the lines are bad.", "--max-bad")
    ] = MAX_BAD_SHARE

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.folds == 1:
            raise BadArgumentError("folds is 1: choose at least 2, or 0 for a single validation part")

    def identity(self) -> dict[str, Any]:
        """Return the settings that a store's content depends on; without folds, the same as in earlier versions."""
        return {name: value for name, value in asdict(self).items() if name != "folds" or value}


LEAST_BYTES = 8 * 2**20
"""Processes on this machine take longer to start than a smaller corpus takes to read."""


@dataclass(frozen=True, kw_only=True)
class SentenceFiles:
    """Reads the sentence files of a role, and counts the good and bad lines of each."""

    inputs: Inputs
    settings: PrepareSettings
    on_progress: OnProgress
    tallies: dict[str, Tally] = field(default_factory=dict)

    def read(self, role: str, relations: Collection[str] | None) -> Iterator[Sentence]:
        """Yield the sentences in a role's files; raise `BadInputError` after a file with too many bad lines."""
        return self.read_with(read_sentences, role, relations)

    def read_with(
        self, reader: Callable[..., Iterator[_Item]], role: str, relations: Collection[str] | None
    ) -> Iterator[_Item]:
        """Yield what a function like `read_sentences` reads from a role's files, like `read`."""
        for name, path in self.inputs.files():
            if name.split()[0] == role:
                yield from self._read_file(name, path, relations, reader)

    def read_with_form(self, role: str) -> Iterator[tuple[str, Sentence]]:
        """Yield the sentences in a role's files with the format of their file, like `read`."""
        for name, path in self.inputs.files():
            if name.split()[0] == role:
                for sentence in self._read_file(name, path, None, read_sentences):
                    yield self.tallies[name].form, sentence

    def _read_file(
        self, name: str, path: Path, relations: Collection[str] | None, reader: Callable[..., Iterator[_Item]]
    ) -> Iterator[_Item]:
        tally, size = self.tallies.setdefault(name, Tally(path)), size_of(path)
        yield from reader(path, tally, relations, lambda done: self.on_progress(f"reading {name}", done, size))
        tally.refuse_too_many_bad(self.settings.max_bad_share)
        self.on_progress(f"reading {name}", size, size)

    def workers(self, engine: "Engine | None") -> "Engine | None":
        """Return the engine if its workers should read the files, or None if this process should."""
        from sayso.engine import LocalEngine

        if not isinstance(engine, LocalEngine):
            return engine
        named = [path for name, path in self.inputs.files() if name.split()[0] in ("train", "test", "rest")]
        is_large = engine.num > 1 and not any(map(is_pipe, named)) and sum(map(size_of, named)) >= LEAST_BYTES
        return engine if is_large else None

    def fingerprints(self) -> dict[str, dict[str, Any]]:
        """Return the hash of each file and, for sentence files, the line counts."""
        entries: dict[str, dict[str, Any]] = {}
        for name, path in self.inputs.files():
            entries[name] = {"file": str(path), "sha256": sha256_of(path)}
            if tally := self.tallies.get(name):
                entries[name] |= {
                    "form": tally.form,
                    "sentences": tally.num_good,
                    "bad_lines": tally.num_bad,
                    "first_bad_lines": tally.shown,
                }
        return entries


@dataclass
class FactDecisions:
    """For each pair, its decided relations and whether each was accepted; and counts of the changes to a corpus."""

    by_pair: dict[tuple[str, str], dict[str, bool]] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    num_sentences_changed: int = 0

    def applied(self, train: Iterable[Sentence], rest: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield training sentences, and sentences of `rest` whose pair has a decision, with the decided labels."""
        yield from map(self._apply, train)
        yield from (self._apply(sentence) for sentence in rest if sentence.pair in self.by_pair)

    def without_counts(self) -> "FactDecisions":
        """Return the same decisions with all counts at zero."""
        return FactDecisions(self.by_pair)

    def add_counts(self, other: "FactDecisions") -> None:
        """Add the counts from another process."""
        self.seen |= other.seen
        self.num_sentences_changed += other.num_sentences_changed

    def num_facts_of(self, table: "BagTable", entities: Mapping[str, int]) -> int:
        """Return how many decided facts have a bag in the table."""
        bags = set(table.pairs)
        return sum(
            len(decided)
            for (head, tail), decided in self.by_pair.items()
            if (entities.get(head), entities.get(tail)) in bags
        )

    def report(self) -> dict[str, int]:
        """Return the number of decisions, of pairs without a sentence, and of changed sentences."""
        is_accepted = [decision for decided in self.by_pair.values() for decision in decided.values()]
        return {
            "num_accepted": sum(is_accepted),
            "num_rejected": len(is_accepted) - sum(is_accepted),
            "num_pairs_without_sentence": len(self.by_pair.keys() - self.seen),
            "num_sentences_changed": self.num_sentences_changed,
        }

    def _apply(self, sentence: Sentence) -> Sentence:
        decided = self.by_pair.get(sentence.pair)
        if not decided:
            return sentence
        self.seen.add(sentence.pair)
        kept = [relation for relation in sentence.relations if decided.get(relation, True)]
        added = sorted(relation for relation, is_accepted in decided.items() if is_accepted and relation not in kept)
        relations = (*kept, *added)
        self.num_sentences_changed += relations != sentence.relations
        return sentence._replace(relations=relations)


def decisions_of(paths: Sequence[Path], relations: Collection[str] | None) -> FactDecisions:
    """Read decisions from files; the last decision on a fact wins. Raise on a relation outside the inventory."""
    found = FactDecisions()
    for path in paths:
        for (head_id, relation, tail_id), decision, *_ in read_decisions(path):
            if relations is not None and relation not in relations:
                raise BadInputError(f"{path}: relation '{relation}' is not in the inventory")
            found.by_pair.setdefault((head_id, tail_id), {})[relation] = decision == "accepted"
    return found
