"""Settings of an invented corpus, and the named sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

from sayso.config import SEED, SHARE, Option, Range, check_ranges
from sayso.errors import BadConfigError


class Size(NamedTuple):
    """Numbers of sentences and documents."""

    train_sentences: int
    test_sentences: int
    direct_sentences: int
    documents: int


SIZES: Mapping[str, Size] = {
    "toy": Size(1_500, 500, 200, 20),
    "demo": Size(12_000, 4_000, 1_500, 200),
    # As many sentences as the FB-NYT release without test pairs in training, and as many direct ones as KBP37.
    "fbnyt": Size(522_611, 172_448, 16_000, 2_000),
}

_COUNT = Option("Count; the default depends on --size.")


@dataclass(frozen=True, kw_only=True)
class InventSettings:
    """Settings of an invented corpus; the same settings give the same bytes.

    FB-NYT has a `na_share` of 0.74 in training and 0.96 in test. The manifest records the actual `irrelevant_share`,
    which cannot go much above 0.7 because every supported bag keeps a rationale per label. An unsupported bag is one in
    which no sentence states any of the labels, as happens with distant supervision; their share is at most
    `irrelevant_share`. `name_shortcut` ties a part of a name (`port_`, a surname) to one relation in training, from 0
    (not at all) to 1 (always). `untyped_share` is the fraction of entities without a type. With a `pronoun_share`, a
    sentence about a person may be followed by another one that begins with a pronoun instead of the name.
    """

    seed: Annotated[int, SEED, Option("The same seed and settings give the same files.")] = 13
    train_sentences: Annotated[int, Range(10, 10**7), _COUNT] = SIZES["demo"].train_sentences
    test_sentences: Annotated[int, Range(10, 10**7), _COUNT] = SIZES["demo"].test_sentences
    direct_sentences: Annotated[int, Range(0, 10**7), _COUNT] = SIZES["demo"].direct_sentences
    documents: Annotated[int, Range(0, 10**7), _COUNT] = SIZES["demo"].documents
    na_share: Annotated[float, Range(0, 0.99), Option("Fraction of sentences about unrelated pairs.", "--na")] = 0.6
    irrelevant_share: Annotated[
        float, SHARE, Option("Fraction of irrelevant sentences in positive bags.", "--irrelevant")
    ] = 0.4
    unsupported_share: Annotated[
        float, SHARE, Option("Fraction of positive bags without a rationale.", "--unsupported")
    ] = 0.1
    name_shortcut: Annotated[
        float, SHARE, Option("How strongly names predict relations in training, but not in test.")
    ] = 0.5
    unseen_wording_share: Annotated[
        float, Range(0, 0.9), Option("Fraction of wordings that occur only in test.", "--unseen-wording")
    ] = 0.3
    shared_share: Annotated[
        float, SHARE, Option("Fraction of NA sentences that also name a related pair.", "--shared")
    ] = 0.05
    untyped_share: Annotated[float, SHARE] = 0.02
    pronoun_share: Annotated[
        float, SHARE, Option("Fraction of the people in --raw whose next sentence calls them he or she.", "--pronouns")
    ] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)

    @classmethod
    def of_size(cls, name: str, **changes: Any) -> Self:
        """Return the settings for a named size, with `changes` applied."""
        if name not in SIZES:
            raise BadConfigError(f"unknown size {name!r}; choose one of {', '.join(SIZES)}")
        return cls(**(SIZES[name]._asdict() | changes))
