"""How a corpus is built from documents: every knob and its default."""

from dataclasses import dataclass
from typing import Annotated, Literal

from sayso.config import SEED, SHARE, Range, check_ranges
from sayso.documents.gazetteer import Case

Ambiguous = Literal["skip", "document", "types"]
Finder = Literal["names", "spacy"]


@dataclass(frozen=True, kw_only=True)
class BuildSettings:
    """One corpus; what is appended later must be built with the same settings.

    `na_share`: of the pairs that the knowledge base does not relate, those that go into training; the others go to
    `rest`. A pair's place depends on its ids and the seed alone, not on what else is there.
    `ambiguous`: a name of several entities is passed over (`skip`), is the one that the document names by a name of its
    own (`document`), or the one whose type fits the sentence's other entities (`types`).
    `case`: how a name may be written: with capitals wherever the name has them (`capitals`), `exact`, or `ignore`.
    `max_pairs`: pairs that one sentence may give; related ones go first.
    `max_tokens`: a longer sentence is left out; it is a table or a list.
    `only_utf8`: leave out documents in other encodings instead of reading them as Windows-1252.
    `spacy_model`: with the finder `spacy`, a model whose named entities go before the names; empty for no model.
    """

    seed: Annotated[int, SEED] = 13
    na_share: Annotated[float, SHARE] = 0.25
    finder: Finder = "names"
    spacy_model: str = ""
    case: Case = "capitals"
    ambiguous: Ambiguous = "skip"
    max_pairs: Annotated[int, Range(1, 1_000_000)] = 30
    max_tokens: Annotated[int, Range(1, 1_000_000)] = 300
    max_document_mb: Annotated[int, Range(1, 100_000)] = 32
    only_utf8: bool = False
    guess_types: bool = True

    def __post_init__(self) -> None:
        check_ranges(self)
