"""Settings and inputs of a build."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from sayso.config import SEED, SHARE, Range, check_ranges
from sayso.documents.gazetteer import NameCase

AmbiguityPolicy = Literal["skip", "document", "types"]
NameFinder = Literal["names", "spacy"]


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """Settings of one corpus; documents appended later must be built with the same settings.

    `na_share`: share of the unrelated pairs used for training, chosen only by their ids and the seed; the others go to
    `rest`.
    `ambiguous`: a name shared by several entities is ignored (`skip`), or resolved to the entity that the document also
    mentions by an unambiguous name (`document`) or whose type fits the sentence's other entities (`types`).
    `case`: how the case of a name in the text may differ: only more capitals (`capitals`), not at all (`exact`), or
    in any way (`ignore`).
    `max_pairs`: maximum number of pairs per sentence; related pairs are kept first.
    `max_tokens`: longer sentences, which are mostly tables and lists, are left out.
    `only_utf8`: leave out documents in other encodings instead of reading them as Windows-1252.
    `spacy_model`: with the finder `spacy`, a model whose named entities take precedence; empty for no model.
    """

    seed: Annotated[int, SEED] = 13
    na_share: Annotated[float, SHARE] = 0.25
    finder: NameFinder = "names"
    spacy_model: str = ""
    case: NameCase = "capitals"
    ambiguous: AmbiguityPolicy = "skip"
    max_pairs: Annotated[int, Range(1, 1_000_000)] = 30
    max_tokens: Annotated[int, Range(1, 1_000_000)] = 300
    max_document_mb: Annotated[int, Range(1, 100_000)] = 32
    only_utf8: bool = False
    guess_types: bool = True

    def __post_init__(self) -> None:
        check_ranges(self)


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
        """Return all files except the documents, keyed by option name."""
        given = {name.replace("_", "-"): path for name, path in vars(self).items() if path}
        del given["documents"]
        return given
