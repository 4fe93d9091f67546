"""Settings and inputs of a build."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from sayso.config import SEED, SHARE, Option, Range, check_ranges
from sayso.errors import UserError, option

AmbiguityPolicy = Literal["skip", "context"]
DoubtPolicy = Literal["drop", "keep"]
NameFinder = Literal["names", "spacy"]
NameCase = Literal["capitals", "exact", "ignore"]


class ReadingOptions(NamedTuple):
    """Which mentions without the full name to find: bare surnames, and pronouns; `window` as in `BuildSettings`."""

    short_names: bool = False
    pronouns: bool = False
    window: int = 1


FULL_NAMES = ReadingOptions()


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """Settings of one corpus; documents appended later must be built with the same settings.

    Whether an unrelated pair is sampled (`na_share`) depends only on its ids and the seed; other pairs go to `rest`. A
    link is doubtful if the name may be part of a longer one. Of `max_pairs`, related pairs are kept first. Sentences of
    more than `max_tokens` are mostly tables and lists.
    """

    na_share: Annotated[float, SHARE, Option("Fraction of unrelated pairs used for training, as NA.", "--na")] = 0.25
    ambiguous: Annotated[
        AmbiguityPolicy,
        Option("Names shared by several entities: resolve them by context where it is clear, or skip them."),
    ] = "context"
    doubtful: Annotated[
        DoubtPolicy,
        Option("Links of names that may be part of a longer name (Hans Albert Einstein): drop or keep them."),
    ] = "drop"
    case: Annotated[NameCase, Option("capitals: at least the name's capitals; exact: same case; ignore: any case.")] = (
        "capitals"
    )
    finder: Annotated[NameFinder, Option("names: search for the names; spacy: spaCy with the names as rules.")] = (
        "names"
    )
    spacy_model: Annotated[str, Option("spaCy model whose named entities take precedence.")] = ""
    new_entities: Annotated[
        bool,
        Option("Make entities of the people, places and organizations that the spaCy model finds and no name has."),
    ] = False
    short_names: Annotated[
        bool, Option("Link a bare surname to the one person of this surname whom the document has named in full.")
    ] = False
    pronouns: Annotated[
        bool, Option('Link "he", "she", "it" and "the company" within a paragraph, where the antecedent is clear.')
    ] = False
    guess_types: Annotated[bool, Option("Guess the types of entities without one.")] = True
    window: Annotated[
        int,
        Range(1, 2),
        Option("2: also pair entities in two neighbouring sentences of a paragraph; both are evidence."),
    ] = 1
    max_pairs: Annotated[int, Range(1, 1_000_000), Option("Maximum pairs per sentence.")] = 30
    max_tokens: Annotated[int, Range(5, 1_000_000), Option("Longer sentences are left out.")] = 300
    max_document_mb: Annotated[int, Range(1, 100_000), Option("Larger documents are left out.")] = 32
    only_utf8: Annotated[
        bool, Option("Leave out documents that are not UTF-8 instead of reading them as Windows-1252.")
    ] = False
    seed: Annotated[int, SEED, Option("Seed for sampling the unrelated pairs used for training.")] = 13

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.spacy_model and self.finder != "spacy":
            raise UserError(f"{option('spacy_model')} requires {option('finder', '--finder spacy')}")
        if self.new_entities and not self.spacy_model:
            raise UserError(
                f"{option('new_entities')} requires {option('spacy_model')}, a model that finds named entities"
            )

    @property
    def reading(self) -> ReadingOptions:
        """Which mentions and pairs to find."""
        return ReadingOptions(self.short_names, self.pronouns, self.window)


@dataclass(frozen=True, kw_only=True)
class BuildInputs:
    """The files a corpus is built from."""

    documents: Annotated[
        Path, Option("Documents: a folder of .txt and .html, JSON lines (id, text), or one such file. PDF is not read.")
    ]
    kb: Annotated[Path, Option("Facts as TSV: head id, relation, tail id.")]
    names: Annotated[
        Path | None,
        Option("Names as TSV or JSON lines: id, name, other names; by default the ids of the facts and types."),
    ] = None
    types: Annotated[Path | None, Option("Entity types, JSON or TSV; missing types are guessed.")] = None
    relations: Annotated[Path | None, Option("Relations; by default those in the facts.")] = None
    stop_names: Annotated[Path | None, Option("More names to skip, one per line.")] = None
    exceptions: Annotated[
        Path | None, Option("Links that reviewers found wrong: `decisions export --format exceptions` writes them.")
    ] = None

    def tables(self) -> dict[str, Path]:
        """Return all files except the documents, keyed by option name."""
        given = {name.replace("_", "-"): path for name, path in vars(self).items() if path}
        del given["documents"]
        return given
