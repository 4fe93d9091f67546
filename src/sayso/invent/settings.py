"""Settings of an invented corpus, and the named sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

from sayso.config import SEED, SHARE, Range, check_ranges
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


@dataclass(frozen=True, kw_only=True)
class InventSettings:
    """Settings of an invented corpus; the same settings give the same bytes.

    `na_share`: share of all sentences whose pair has no relation (FB-NYT has 0.74 in training, 0.96 in test).
    `irrelevant_share`: share of the sentences of positive bags that state none of the pair's relations. The manifest
    records the actual share, which cannot go much above 0.7 because every supported bag keeps a rationale per label.
    `unsupported_share`: share of the positive bags in which no sentence states any of the labels, as happens with
    distant supervision; at most `irrelevant_share`.
    `name_shortcut`: how strongly a part of a name (`port_`, a surname) is tied to one relation in training, from 0 (not
    at all) to 1 (always). In test the parts carry no information about the relation.
    `unseen_wording_share`: share of the wordings of each relation that only test sentences use.
    `shared_share`: share of the NA sentences that reuse a positive sentence for another pair that it mentions.
    `untyped_share`: share of the entities without a type.
    """

    seed: Annotated[int, SEED] = 13
    train_sentences: Annotated[int, Range(10, 10**7)] = SIZES["demo"].train_sentences
    test_sentences: Annotated[int, Range(10, 10**7)] = SIZES["demo"].test_sentences
    direct_sentences: Annotated[int, Range(0, 10**7)] = SIZES["demo"].direct_sentences
    documents: Annotated[int, Range(0, 10**7)] = SIZES["demo"].documents
    na_share: Annotated[float, Range(0, 0.99)] = 0.6
    irrelevant_share: Annotated[float, SHARE] = 0.4
    unsupported_share: Annotated[float, SHARE] = 0.1
    name_shortcut: Annotated[float, SHARE] = 0.5
    unseen_wording_share: Annotated[float, Range(0, 0.9)] = 0.3
    shared_share: Annotated[float, SHARE] = 0.05
    untyped_share: Annotated[float, SHARE] = 0.02

    def __post_init__(self) -> None:
        check_ranges(self)

    @classmethod
    def of_size(cls, name: str, **changes: Any) -> Self:
        """Return the settings for a named size, with `changes` applied."""
        if name not in SIZES:
            raise BadConfigError(f"unknown size {name!r}; choose one of {', '.join(SIZES)}")
        return cls(**(SIZES[name]._asdict() | changes))
