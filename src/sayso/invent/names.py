"""Name the invented entities: coined words in the patterns of words.toml, and the name shortcut.

A name has a part that many entities share: a surname, `port`, `holdings`. With the shortcut, each relation owns some of
these parts, and entities that have the relation in training get names with its parts. Entities that have it in test do
not, which exposes a model that learns names instead of reading sentences.
"""

import random
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sayso.invent.relations import ANYWHERE, RELATIONS, SCENES, marked_relations, name_class
from sayso.invent.world import World

WORDS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
"""Filler, slots, name patterns, types and syllables."""

_ONE_WORD_CITIES = 0.3


class Coiner:
    """Coins unique words that do not occur in the given texts."""

    def __init__(self, texts: Iterable[str], rng: random.Random) -> None:
        self._rng = rng
        self._taken = {word for text in texts for word in re.findall(r"[a-z]+", text.lower())}

    @classmethod
    def of_corpus(cls, rng: random.Random) -> "Coiner":
        """Return a coiner that avoids every word in the corpus templates."""
        tables = (*WORDS["filler"].values(), *WORDS["slots"].values(), *WORDS["names"].values(), ANYWHERE)
        wordings = (*(each.stating for each in RELATIONS.values()), *(each.neutral for each in SCENES.values()))
        return cls((text for texts in (*tables, *wordings) for text in texts), rng)

    def words(self, number: int, endings: str = "endings") -> list[str]:
        """Return this many new words; with `surname_endings`, they sound like surnames."""
        return [self.word(endings) for _ in range(number)]

    def word(self, endings: str = "endings") -> str:
        """Return a new word of two or three syllables, capitalised."""
        choice, syllables = self._rng.choice, WORDS["syllables"]
        onsets, vowels, codas = syllables["onsets"], syllables["vowels"], syllables["codas"]
        while True:
            # Longer words keep the supply from running out when tens of thousands are needed.
            middle = choice(onsets) + choice(vowels) if self._rng.random() < 0.4 else ""
            word: str = choice(onsets) + choice(vowels) + middle + choice(codas) + choice(syllables[endings])
            if len(word) >= 5 and word not in self._taken and not re.search(r"[aeiou]{3}|[^aeiou]{4}", word):
                self._taken.add(word)
                return word.capitalize()


class Entity(NamedTuple):
    """An entity with its name, in natural case (`name`) and as one corpus token (`token`), and its other names."""

    id: str
    kind: str
    name: str
    token: str
    aliases: tuple[str, ...]
    types: tuple[str, ...]


class Namer:
    """Makes unique names."""

    def __init__(self, num_people: int, coiner: Coiner, rng: random.Random) -> None:
        self._coiner, self._rng = coiner, rng
        self._given = coiner.words(min(1500, max(60, num_people // 10)))
        surnames = coiner.words(min(700, max(42, num_people // 20)), "surname_endings")
        self.forms: dict[str, Sequence[str]] = WORDS["names"] | {"person": [f"{{}} {word}" for word in surnames]}
        self._people: set[str] = set()
        self._families: dict[tuple[str, str], Sequence[str]] = {}
        for wanted in ("person", "city", "region", "company", "team", "film"):
            forms, owners = list(self.forms[wanted]), marked_relations(wanted)
            rng.shuffle(forms)
            for number, relation in enumerate(owners):
                self._families[wanted, relation] = forms[number :: len(owners)]

    def family(self, wanted: str, relation: str) -> Sequence[str]:
        """Return the name patterns of this class that the relation owns."""
        return self._families[wanted, relation]

    def name(self, wanted: str, relation: str | None = None) -> str:
        """Return a new name, from the relation's family if one is given."""
        if wanted == "city" and relation is None and self._rng.random() < _ONE_WORD_CITIES:
            return self._coiner.word()
        forms = self.forms[wanted] if relation is None else self.family(wanted, relation)
        if wanted != "person":
            return self._rng.choice(forms).format(self._coiner.word())
        while (name := self._rng.choice(forms).format(self._rng.choice(self._given))) in self._people:
            pass
        self._people.add(name)
        return name

    def bystanders(self) -> dict[str, list[str]]:
        """Return names of people, places and organisations that are not entities, for filler."""
        return {
            "person": [self.name("person") for _ in range(300)],
            "place": self._coiner.words(120),
            "country": self._coiner.words(40),
            "org": [
                f"the {self._coiner.word()} {body}" for body in ("Institute", "Council", "Fund") for _ in range(30)
            ],
        }


def name_entities(
    world: World, named_after: Mapping[int, str], namer: Namer, untyped_share: float, rng: random.Random
) -> list[Entity]:
    """Return the entities in the world's order; those in `named_after` get a name from the relation's family."""
    entities = []
    for number, kind in enumerate(world.kinds):
        wanted = name_class(kind)
        name = namer.name(wanted, named_after.get(number))
        types = () if rng.random() < untyped_share else tuple(rng.choice(WORDS["types"][kind]))
        token = name.lower().replace(" ", "_")
        entities.append(Entity(f"w.{number:05d}", kind, name, token, _aliases(wanted, name), types))
    return entities


def _aliases(wanted: str, name: str) -> tuple[str, ...]:
    first, _, rest = name.partition(" ")
    if wanted in ("person", "film"):
        return (rest,)
    return (first,) if wanted in ("company", "school") else ()
