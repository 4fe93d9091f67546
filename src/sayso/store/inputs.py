"""The input files and settings of a store."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from sayso.config import SEED, SHARE, Option, Range, check_ranges
from sayso.errors import BadArgumentError
from sayso.readers.files import sha256_of, size_of
from sayso.readers.read import MAX_BAD_SHARE, Tally, read_sentences
from sayso.records import OnProgress, Sentence

DEFAULT_MAX_TOKENS = 130
"""The limit in DirectSup's published code."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The input files of a corpus; all but the training file are optional."""

    train: Annotated[Path, Option("Training sentences, in any format that `sayso check` reads.")]
    test: Annotated[Path | None, Option("Test sentences.")] = None
    relations: Annotated[Path | None, Option("Relations; by default those in the sentences.")] = None
    types: Annotated[Path | None, Option("Entity types, JSON or TSV.")] = None
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
        Option("Sentences for other pairs, for --decisions or --folds; with --folds, those of a built corpus."),
    ] = None

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield each file with its role; files that share a role are numbered."""
        for role, value in vars(self).items():
            paths = value if isinstance(value, tuple) else (value,) if value else ()
            for number, path in enumerate(paths, 1):
                yield (role if len(paths) == 1 else f"{role} {number}"), path


@dataclass(frozen=True, kw_only=True)
class PrepareSettings:
    """Settings for making bags."""

    seed: Annotated[int, SEED, Option("Seed for the split into training and validation.")] = 13
    validation_share: Annotated[
        float, Range(0, 0.9), Option("Fraction of the pairs for validation.", "--validation")
    ] = 0.1
    keep_shared_sentences: Annotated[
        bool,
        Option("Keep training sentences that validation has for a different pair.", "--keep-shared/--no-keep-shared"),
    ] = False
    folds: Annotated[
        int,
        Range(0, 100),
        Option("Divide the pairs into folds instead: `train` withholds the facts of each once, then uses all."),
    ] = 0
    leak: Annotated[
        Literal["refuse", "drop", "allow"],
        Option("Test pairs in the training data: fail, leave them out of training, or keep them."),
    ] = "refuse"
    max_tokens: Annotated[int, Range(5, 1_000_000), Option("Maximum tokens per sentence that a model reads.")] = (
        DEFAULT_MAX_TOKENS
    )
    max_bad_share: Annotated[
        float, SHARE, Option("Fail if more than this fraction of the lines is bad.", "--max-bad")
    ] = MAX_BAD_SHARE

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.folds == 1:
            raise BadArgumentError("folds is 1: choose at least 2, or 0 for a single validation part")

    def identity(self) -> dict[str, Any]:
        """Return the settings that a store's content depends on; without folds, the same as in earlier versions."""
        return {name: value for name, value in asdict(self).items() if name != "folds" or value}


@dataclass(frozen=True, kw_only=True)
class SentenceFiles:
    """Reads the sentence files of a role, and counts the good and bad lines of each."""

    inputs: Inputs
    settings: PrepareSettings
    on_progress: OnProgress
    tallies: dict[str, Tally] = field(default_factory=dict)

    def read(self, role: str, relations: Collection[str] | None) -> Iterator[Sentence]:
        """Yield the sentences in a role's files; raise `BadInputError` after a file with too many bad lines."""
        for name, path in self.inputs.files():
            if name.split()[0] == role:
                yield from self._read_file(name, path, relations)

    def read_with_form(self, role: str) -> Iterator[tuple[str, Sentence]]:
        """Yield the sentences in a role's files with the format of their file, like `read`."""
        for name, path in self.inputs.files():
            if name.split()[0] == role:
                for sentence in self._read_file(name, path, None):
                    yield self.tallies[name].form, sentence

    def _read_file(self, name: str, path: Path, relations: Collection[str] | None) -> Iterator[Sentence]:
        tally, size = self.tallies.setdefault(name, Tally(path)), size_of(path)
        yield from read_sentences(path, tally, relations, lambda done: self.on_progress(f"reading {name}", done, size))
        tally.refuse_too_many_bad(self.settings.max_bad_share)
        self.on_progress(f"reading {name}", size, size)

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
