"""The relations of the invented knowledge base, the scenes they occur in, and the wordings of both.

All of this is data in relations.toml. A scene is a pair of entity kinds (such as a person and a city) in which several
relations and NA compete, so the types of a pair never give its label away.
"""

import random
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("relations.toml").read_text("utf-8"))

PEOPLE: tuple[str, ...] = tuple(_DATA["people"])
"""Kinds of people, by the field they work in."""

ANYWHERE: tuple[str, ...] = tuple(_DATA["anywhere"])
"""Wordings that mention two entities of any type without stating a relation."""

NAME_OF: Mapping[str, str] = _DATA["graph_only"] | {key: each["name"] for key, each in _DATA["relation"].items()}
"""Relation keys to names in the knowledge graph."""


class Scene(NamedTuple):
    """Two kinds of entity that occur together.

    `marked`: the side (`head` or `tail`) whose names the name shortcut affects.
    `neutral`: wordings that mention both without stating a relation.
    """

    head_kinds: tuple[str, ...]
    tail_kinds: tuple[str, ...]
    marked: str
    neutral: tuple[str, ...]

    @property
    def marked_kinds(self) -> tuple[str, ...]:
        """Kinds of the marked side."""
        return self.head_kinds if self.marked == "head" else self.tail_kinds


class RelationKind(NamedTuple):
    """A relation: its meaning, its scenes, the relations it implies, how often it is drawn, and its wordings.

    A sentence that states a relation also states what it implies: a country's capital lies in the country.
    """

    name: str
    definition: str
    example: str
    is_functional: bool
    scenes: tuple[str, ...]
    implies: tuple[str, ...]
    weight: float
    stating: tuple[str, ...]


class Wording(NamedTuple):
    """A clause that mentions a pair, and the relations it states, including implied ones."""

    id: str
    text: str
    states: tuple[str, ...]


class Wordings(NamedTuple):
    """The wordings that one part of the corpus may use: by relation, by scene, and those that fit any pair."""

    stating: Mapping[str, tuple[Wording, ...]]
    neutral: Mapping[str, tuple[Wording, ...]]
    anywhere: tuple[Wording, ...]

    def ids(self) -> frozenset[str]:
        """Return the ids of all wordings."""
        lists = (*self.stating.values(), *self.neutral.values(), self.anywhere)
        return frozenset(wording.id for wordings in lists for wording in wordings)


def _kinds(name: str) -> tuple[str, ...]:
    return PEOPLE if name == "person" else (name,)


SCENES: Mapping[str, Scene] = {
    name: Scene(_kinds(each["head"]), _kinds(each["tail"]), each["marked"], tuple(each["neutral"]))
    for name, each in _DATA["scene"].items()
}

SCENE_OF_KINDS: Mapping[tuple[str, str], str] = {
    (head, tail): name for name, scene in SCENES.items() for head in scene.head_kinds for tail in scene.tail_kinds
}

RELATIONS: Mapping[str, RelationKind] = {
    each["name"]: RelationKind(
        name=each["name"],
        definition=each["definition"],
        example=each["example"],
        is_functional=each.get("functional", False),
        scenes=tuple(each["scenes"]),
        implies=tuple(NAME_OF[key] for key in each.get("implies", ())),
        weight=each.get("weight", 1.0),
        stating=tuple(each["stating"]),
    )
    for each in _DATA["relation"].values()
}


def with_implied(relations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the relations and all they imply, in inventory order."""
    known = {*relations, *(implied for relation in relations for implied in RELATIONS[relation].implies)}
    return tuple(name for name in RELATIONS if name in known)


def strongest(relations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the relations that are not implied by any of the others."""
    implied = {name for relation in relations for name in RELATIONS[relation].implies}
    return tuple(name for name in relations if name not in implied)


def name_class(kind: str) -> str:
    """Return the kind, or `person` for all kinds of people."""
    return "person" if kind in PEOPLE else kind


@cache
def marked_relations(wanted: str) -> tuple[str, ...]:
    """Return the relations whose shortcut affects names of this class."""
    return tuple(
        name
        for name, relation in RELATIONS.items()
        if any(wanted in map(name_class, SCENES[scene].marked_kinds) for scene in relation.scenes)
    )


def all_wordings() -> Wordings:
    """Return every wording."""
    return Wordings(
        {name: _numbered(name, relation.stating, with_implied((name,))) for name, relation in RELATIONS.items()},
        {name: _numbered(name, scene.neutral, ()) for name, scene in SCENES.items()},
        _numbered("anywhere", ANYWHERE, ()),
    )


def training_wordings(unseen_share: float, rng: random.Random) -> Wordings:
    """Return the wordings left for training after this share of each list is reserved for test."""
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
