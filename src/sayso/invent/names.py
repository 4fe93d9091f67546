"""Names for the invented entities, and the name shortcut.

A name has parts that many entities share: a surname, `port`, `holdings`. With the shortcut, each relation owns some of
the parts, and entities that training shows with that relation are named after it. Entities that test shows with the
relation are not, so that whoever learns the names instead of reading the sentences is caught.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sayso.invent.coin import Coiner
from sayso.invent.relations import marked_relations, name_class
from sayso.invent.world import World

FORMS: Mapping[str, tuple[str, ...]] = {
    "city": (
        *("Port {}", "Fort {}", "New {}", "Saint {}", "Mount {}", "Lake {}", "Old {}", "Grand {}", "Point {}"),
        *("{} Springs", "{} Falls", "{} Hills", "{} Bay", "{} Heights", "{} Crossing", "{} Harbor", "{} Grove"),
        "{} Rapids",
    ),
    "region": (
        *("Upper {}", "Lower {}", "North {}", "South {}", "East {}", "West {}", "Outer {}", "Inner {}"),
        *("{} Valley", "{} Coast", "{} Plain", "{} Highlands", "{} March", "{} Forest", "{} Basin", "{} Shore"),
    ),
    "company": (
        *("{} Group", "{} Holdings", "{} Industries", "{} Systems", "{} Foods", "{} Energy", "{} Mills", "{} Motors"),
        *("{} Brothers", "{} Partners", "{} Textiles", "{} Steel", "{} Trading", "{} Chemicals", "{} Airlines"),
        *("{} Paper", "{} Electric", "{} Brewing", "{} Shipping", "{} Optics"),
    ),
    "team": (
        *("{} United", "{} Athletic", "{} Rovers", "{} Wanderers", "{} Rangers", "{} Albion", "{} Dynamo", "{} Arrows"),
        *("Sporting {}", "Racing {}", "Real {}", "Olympic {}", "Royal {}", "Red {}", "Blue {}", "Young {}"),
    ),
    "film": (
        *("The {} Harvest", "The {} Letters", "The {} Affair", "The {} Garden", "The {} Winter", "The {} Road"),
        *("The {} Secret", "The {} Waltz", "The {} Bridge", "The {} Shadow", "The {} Promise", "The {} Express"),
    ),
    "school": ("{} College", "{} University", "{} Academy", "{} Institute"),
    "river": ("{} River", "{} Creek"),
    "landmark": ("{} Tower", "{} Palace", "{} Gate", "{} Cathedral"),
    "country": ("{}",),
}
"""How a coined word becomes a name; the word beside it is the part that entities share."""

_TYPES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "politics": (("/person/politician", "/person"), ("/person/politician", "/person"), ("/person",)),
    "business": (("/person/engineer", "/person"), ("/person",)),
    # Players and coaches, actors and directors are typed alike: the type must not tell the relation.
    "sport": (("/person/athlete", "/person"), ("/person/coach", "/person/athlete", "/person")),
    "screen": (("/person/actor", "/person"), ("/person/director", "/person/actor", "/person")),
    "letters": (("/person/author", "/person"), ("/person/artist", "/person"), ("/person/musician", "/person")),
    "country": (("/location/country", "/location"),),
    "region": (("/location/province", "/location"),),
    "city": (("/location/city", "/location"),),
    "river": (("/location/body_of_water", "/location"),),
    "landmark": (("/building", "/location"),),
    "company": (("/organization/company", "/organization"),),
    "team": (("/organization/sports_team", "/organization"),),
    "school": (("/organization/educational_institution", "/organization"),),
    "film": (("/art/film", "/art"),),
}

_ONE_WORD_CITIES = 0.3


class Entity(NamedTuple):
    """An entity: its name in natural case, as one token of the corpus, and other names it goes by."""

    id: str
    kind: str
    name: str
    token: str
    aliases: tuple[str, ...]
    types: tuple[str, ...]


class Namer:
    """Makes names, no two alike."""

    def __init__(self, num_people: int, coiner: Coiner, rng: random.Random) -> None:
        self._coiner, self._rng = coiner, rng
        self._given = coiner.words(min(1500, max(60, num_people // 10)))
        self._surnames = [f"{{}} {word}" for word in coiner.surnames(min(700, max(42, num_people // 20)))]
        self._people: set[str] = set()
        self._families: dict[tuple[str, str], Sequence[str]] = {}
        for wanted in ("person", "city", "region", "company", "team", "film"):
            self._share_out(wanted)

    def _share_out(self, wanted: str) -> None:
        forms = list(self.forms(wanted))
        self._rng.shuffle(forms)
        owners = marked_relations(wanted)
        for number, relation in enumerate(owners):
            self._families[wanted, relation] = forms[number :: len(owners)]

    def forms(self, wanted: str) -> Sequence[str]:
        """Return all the forms that names of the class may have."""
        return self._surnames if wanted == "person" else FORMS[wanted]

    def family(self, wanted: str, relation: str) -> Sequence[str]:
        """Return the forms that the relation owns among names of the class."""
        return self._families[wanted, relation]

    def name(self, wanted: str, relation: str | None = None) -> str:
        """Return a new name, of the relation's family where one is given."""
        if wanted == "city" and relation is None and self._rng.random() < _ONE_WORD_CITIES:
            return self._coiner.word()
        forms = self.forms(wanted) if relation is None else self.family(wanted, relation)
        form = self._rng.choice(forms)
        if wanted != "person":
            return form.format(self._coiner.word())
        return self._new_person(form, forms)

    def _new_person(self, form: str, forms: Sequence[str]) -> str:
        name = form.format(self._rng.choice(self._given))
        while name in self._people:
            name = self._rng.choice(forms).format(self._rng.choice(self._given))
        self._people.add(name)
        return name

    def bystanders(self) -> dict[str, list[str]]:
        """Return names of people, places and bodies that are no entities, for filler."""
        return {
            "person": [self.name("person") for _ in range(300)],
            "place": [self._coiner.word() for _ in range(120)],
            "country": [self._coiner.word() for _ in range(40)],
            "org": [
                f"the {self._coiner.word()} {body}" for body in ("Institute", "Council", "Fund") for _ in range(30)
            ],
        }


def name_entities(
    world: World, named_after: Mapping[int, str], namer: Namer, untyped_share: float, rng: random.Random
) -> list[Entity]:
    """Return the entities in the world's order; those in `named_after` get a name of the relation's family."""
    entities = []
    for number, kind in enumerate(world.kinds):
        wanted = name_class(kind)
        name = namer.name(wanted, named_after.get(number))
        types = () if rng.random() < untyped_share else rng.choice(_TYPES[kind])
        token = name.lower().replace(" ", "_")
        entities.append(Entity(f"w.{number:05d}", kind, name, token, _aliases(wanted, name), types))
    return entities


def _aliases(wanted: str, name: str) -> tuple[str, ...]:
    first, _, rest = name.partition(" ")
    if wanted in ("person", "film"):
        return (rest,)
    return (first,) if wanted in ("company", "school") else ()
