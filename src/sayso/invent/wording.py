"""All wordings of the invented corpus, by relation and by scene, and which of them training may use."""

import random
from collections.abc import Mapping
from typing import NamedTuple

from sayso.invent import wording_business, wording_people, wording_places, wording_stage
from sayso.invent.relations import RELATIONS, SCENES, with_implied

STATING: Mapping[str, tuple[str, ...]] = {
    **wording_people.STATING,
    **wording_places.STATING,
    **wording_business.STATING,
    **wording_stage.STATING,
}
"""Ways of saying each relation."""

NEUTRAL: Mapping[str, tuple[str, ...]] = {
    **wording_people.NEUTRAL,
    **wording_places.NEUTRAL,
    **wording_business.NEUTRAL,
    **wording_stage.NEUTRAL,
}
"""For each scene, ways of mentioning the two without saying any relation; positive and NA bags share them."""

ANYWHERE: tuple[str, ...] = (
    "{head} and {tail} were both named in the report",
    "an article about {head} stood beside one about {tail}",
    "readers wrote in about {head} and about {tail}",
    "the list ran from {head} to {tail}",
    "the quiz had questions on {head} , {tail} and {topic}",
    "{paper} published photographs of {head} and {tail}",
    "at the {event} the talk turned from {tail} to {head}",
    "{person} has written books about {head} and {tail}",
    "neither {head} nor {tail} came up at the {event}",
    "a story about {head} was followed by one about {tail}",
    "{person} , asked about {head} , talked of {tail} instead",
    "{group} had never heard of {tail} or of {head}",
)
"""Ways of mentioning any two entities, whatever their types."""


class Wording(NamedTuple):
    """One way of naming a pair in a clause, and the relations it states, implied ones included."""

    id: str
    text: str
    states: tuple[str, ...]


class Wordings(NamedTuple):
    """The wordings that one part of the corpus may use."""

    stating: Mapping[str, tuple[Wording, ...]]
    neutral: Mapping[str, tuple[Wording, ...]]
    anywhere: tuple[Wording, ...]

    def ids(self) -> frozenset[str]:
        """Return the ids of all of them."""
        lists = (*self.stating.values(), *self.neutral.values(), self.anywhere)
        return frozenset(wording.id for wordings in lists for wording in wordings)


def all_wordings() -> Wordings:
    """Return every wording."""
    return Wordings(
        {name: _numbered(name, STATING[name], with_implied((name,))) for name in RELATIONS},
        {name: _numbered(name, NEUTRAL[name], ()) for name in SCENES},
        _numbered("anywhere", ANYWHERE, ()),
    )


def training_wordings(unseen_share: float, rng: random.Random) -> Wordings:
    """Return what is left for training when the share of each list is kept back for test."""
    every = all_wordings()
    return Wordings(
        {name: _kept(wordings, unseen_share, rng) for name, wordings in every.stating.items()},
        {name: _kept(wordings, unseen_share, rng) for name, wordings in every.neutral.items()},
        _kept(every.anywhere, unseen_share, rng),
    )


def _numbered(name: str, texts: tuple[str, ...], states: tuple[str, ...]) -> tuple[Wording, ...]:
    return tuple(Wording(f"{name}#{number}", text, states) for number, text in enumerate(texts))


def _kept(wordings: tuple[Wording, ...], unseen_share: float, rng: random.Random) -> tuple[Wording, ...]:
    num_kept = max(1, len(wordings) - round(unseen_share * len(wordings)))
    return tuple(wordings[i] for i in sorted(rng.sample(range(len(wordings)), num_kept)))
