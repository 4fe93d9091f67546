"""The relations of the invented knowledge base, the scenes they occur in, and the wordings of both.

All of this is data in relations.toml. A scene is a pair of entity kinds (such as a person and a city) in which several
relations and NA compete, so the types of a pair never give its label away.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("relations.toml").read_text("utf-8"))

PEOPLE: Sequence[str] = _DATA["people"]
"""Kinds of people, by the field they work in."""

ANYWHERE: Sequence[str] = _DATA["anywhere"]
"""Wordings that mention two entities of any type without stating a relation."""

NAME_OF: Mapping[str, str] = _DATA["graph_only"] | {key: each["name"] for key, each in _DATA["relation"].items()}
"""Relation keys to names in the knowledge graph."""


class Scene(NamedTuple):
    """Two kinds of entity that occur together.

    `marked`: the side (`head` or `tail`) whose names the name shortcut affects.
    `neutral`: wordings that mention both without stating a relation.
    """

    head_kinds: Sequence[str]
    tail_kinds: Sequence[str]
    marked: str
    neutral: Sequence[str]

    @property
    def marked_kinds(self) -> Sequence[str]:
        """Kinds of the marked side."""
        return self.head_kinds if self.marked == "head" else self.tail_kinds


class RelationKind(NamedTuple):
    """A relation: its meaning, its scenes, the relations it implies, how often it is drawn, and its wordings.

    A sentence that states a relation also states what it implies: a country's capital lies in the country.
    """

    name: str
    definition: str
    example: str
    scenes: Sequence[str]
    stating: Sequence[str]
    implies: Sequence[str] = ()
    weight: float = 1.0
    is_functional: bool = False


class Wording(NamedTuple):
    """A clause that mentions a pair, and the relations it states, including implied ones."""

    id: str
    text: str
    states: tuple[str, ...]


Wordings = Mapping[str, Sequence[Wording]]
"""The wordings that a part of the corpus may use, by relation or scene; `anywhere` has those that fit any pair."""


def _kinds(name: str) -> Sequence[str]:
    return PEOPLE if name == "person" else (name,)


SCENES: Mapping[str, Scene] = {
    name: Scene(_kinds(each["head"]), _kinds(each["tail"]), each["marked"], each["neutral"])
    for name, each in _DATA["scene"].items()
}

SCENE_OF_KINDS: Mapping[tuple[str, str], str] = {
    (head, tail): name for name, scene in SCENES.items() for head in scene.head_kinds for tail in scene.tail_kinds
}

RELATIONS: Mapping[str, RelationKind] = {
    each["name"]: RelationKind(**each | {"implies": [NAME_OF[key] for key in each.get("implies", ())]})
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
    texts = {name: relation.stating for name, relation in RELATIONS.items()}
    texts |= {name: scene.neutral for name, scene in SCENES.items()} | {"anywhere": ANYWHERE}
    states = {name: with_implied((name,)) for name in RELATIONS}
    return {
        name: [Wording(f"{name}#{number}", text, states.get(name, ())) for number, text in enumerate(of_name)]
        for name, of_name in texts.items()
    }


def training_wordings(unseen_share: float, rng: random.Random) -> Wordings:
    """Return the wordings left for training after this fraction of each list is reserved for test."""
    known: dict[str, Sequence[Wording]] = {}
    for name, wordings in all_wordings().items():
        num_kept = max(1, len(wordings) - round(unseen_share * len(wordings)))
        known[name] = [wordings[index] for index in sorted(rng.sample(range(len(wordings)), num_kept))]
    return known
