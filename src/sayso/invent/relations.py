"""The relations of the invented knowledge base, and the scenes they are told in.

A scene is a pair of entity kinds (a person and a city). Several relations and NA compete in each scene, so that the
types of a pair never give its label away.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

PEOPLE = ("politics", "business", "sport", "screen", "letters")
"""Kinds of person: the field they work in."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Which kinds of entity meet; `marked` is the side whose name the name shortcut works on."""

    head_kinds: tuple[str, ...]
    tail_kinds: tuple[str, ...]
    marked: Literal["head", "tail"] = "head"


SCENES: Mapping[str, Scene] = {
    "person-city": Scene(head_kinds=PEOPLE, tail_kinds=("city",)),
    "person-country": Scene(head_kinds=PEOPLE, tail_kinds=("country",)),
    "person-school": Scene(head_kinds=PEOPLE, tail_kinds=("school",)),
    "country-city": Scene(head_kinds=("country",), tail_kinds=("city",), marked="tail"),
    "country-region": Scene(head_kinds=("country",), tail_kinds=("region",), marked="tail"),
    "region-city": Scene(head_kinds=("region",), tail_kinds=("city",), marked="tail"),
    "company-person": Scene(head_kinds=("company",), tail_kinds=("business",)),
    "company-city": Scene(head_kinds=("company",), tail_kinds=("city",)),
    "team-city": Scene(head_kinds=("team",), tail_kinds=("city",)),
    "team-person": Scene(head_kinds=("team",), tail_kinds=("sport",)),
    "film-person": Scene(head_kinds=("film",), tail_kinds=("screen",)),
}

SCENE_OF_KINDS: Mapping[tuple[str, str], str] = {
    (head, tail): name for name, scene in SCENES.items() for head in scene.head_kinds for tail in scene.tail_kinds
}


@dataclass(frozen=True, kw_only=True)
class RelationKind:
    """A relation: what it means, where it is told, what it implies, how often it is drawn.

    Who states a relation states what it implies too: a country's capital lies in the country.
    """

    name: str
    definition: str
    example: str
    is_functional: bool
    scenes: tuple[str, ...]
    implies: tuple[str, ...] = ()
    weight: float = 1.0


BIRTH = "/people/person/place_of_birth"
LIVED = "/people/person/place_lived"
DEATH = "/people/deceased_person/place_of_death"
NATIONALITY = "/people/person/nationality"
JURISDICTION = "/government/politician/jurisdiction"
EDUCATION = "/people/person/education"
TEACHES = "/education/academic/employer"
CAPITAL = "/location/country/capital"
DIVISION = "/location/country/administrative_divisions"
REGION_CAPITAL = "/location/region/capital"
CONTAINS = "/location/location/contains"
FOUNDERS = "/business/company/founders"
CHIEF = "/business/company/chief_executive"
SHAREHOLDERS = "/business/company/major_shareholders"
PLACE_FOUNDED = "/business/company/place_founded"
HEADQUARTERS = "/business/company/headquarters"
TEAM_CITY = "/sports/sports_team/location"
TRAINING_CAMP = "/sports/sports_team/training_camp"
COACH = "/sports/sports_team/coach"
ROSTER = "/sports/sports_team/roster"
DIRECTOR = "/film/film/directed_by"
STARRING = "/film/film/starring"


def _relation(
    name: str,
    scene: str,
    definition: str,
    example: str,
    *,
    functional: bool = False,
    implies: tuple[str, ...] = (),
    weight: float = 1.0,
) -> RelationKind:
    return RelationKind(
        name=name,
        definition=definition,
        example=example,
        is_functional=functional,
        scenes=tuple(scene.split()),
        implies=implies,
        weight=weight,
    )


RELATIONS: Mapping[str, RelationKind] = {
    kind.name: kind
    for kind in (
        _relation(
            BIRTH,
            "person-city",
            "The head, a person, was born in the tail, a city.",
            "Dana Holt, a native of Port Marlow, won the race.",
            functional=True,
            weight=1.5,
        ),
        _relation(
            LIVED,
            "person-city",
            "The head, a person, lives or has lived in the tail, a city.",
            "Dana Holt moved to Port Marlow in 1987 and has lived there since.",
            weight=1.5,
        ),
        _relation(
            DEATH,
            "person-city",
            "The head, a person, died in the tail, a city.",
            "Dana Holt died at a hospital in Port Marlow.",
            functional=True,
        ),
        _relation(
            NATIONALITY,
            "person-country",
            "The head, a person, is a citizen of the tail, a country.",
            "Dana Holt holds the passport of Velmaria.",
            weight=1.5,
        ),
        _relation(
            JURISDICTION,
            "person-country",
            "The head, a person, holds or has held office in the government of the tail, a country.",
            "Dana Holt is the prime minister of Velmaria.",
        ),
        _relation(
            EDUCATION,
            "person-school",
            "The head, a person, is or was a student of the tail, a school.",
            "Dana Holt graduated from Ostrel College in 1987.",
        ),
        _relation(
            TEACHES,
            "person-school",
            "The head, a person, teaches or has taught at the tail, a school.",
            "Dana Holt is a professor at Ostrel College.",
        ),
        _relation(
            CAPITAL,
            "country-city",
            "The tail, a city, is the capital of the head, a country.",
            "The talks were held in Port Marlow, the capital of Velmaria.",
            functional=True,
            implies=(CONTAINS,),
        ),
        _relation(
            DIVISION,
            "country-region",
            "The tail, a region, is an administrative division (province, district) of the head, a country.",
            "Upper Tarn is one of the provinces of Velmaria.",
            implies=(CONTAINS,),
        ),
        _relation(
            REGION_CAPITAL,
            "region-city",
            "The tail, a city, is the seat of government of the head, a region.",
            "The offices are in Port Marlow, the provincial capital of Upper Tarn.",
            functional=True,
            implies=(CONTAINS,),
        ),
        _relation(
            CONTAINS,
            "country-city country-region region-city",
            "The tail, a place, lies in the head, a larger place.",
            "The road ends at Port Marlow, in northern Velmaria.",
            weight=1.5,
        ),
        _relation(
            FOUNDERS,
            "company-person",
            "The tail, a person, founded the head, a company, alone or with others.",
            "Dana Holt, who founded Velmar Group in 1987, retired.",
        ),
        _relation(
            CHIEF,
            "company-person",
            "The tail, a person, is or was the chief executive of the head, a company.",
            "Velmar Group named Dana Holt chief executive.",
        ),
        _relation(
            SHAREHOLDERS,
            "company-person",
            "The tail, a person, owns a large part of the shares of the head, a company.",
            "Dana Holt owns 12 percent of Velmar Group.",
        ),
        _relation(
            PLACE_FOUNDED,
            "company-city",
            "The head, a company, was founded in the tail, a city.",
            "Velmar Group was founded in Port Marlow in 1987.",
            functional=True,
        ),
        _relation(
            HEADQUARTERS,
            "company-city",
            "The head, a company, has its head office in the tail, a city.",
            "Velmar Group, based in Port Marlow, makes glass.",
            functional=True,
        ),
        _relation(
            TEAM_CITY,
            "team-city",
            "The head, a team, has its home in the tail, a city.",
            "Tarn Athletic, the home team in Port Marlow, won.",
            functional=True,
        ),
        _relation(
            TRAINING_CAMP,
            "team-city",
            "The head, a team, holds its training camp in the tail, a city.",
            "Tarn Athletic trains in Port Marlow each spring.",
        ),
        _relation(
            COACH,
            "team-person",
            "The tail, a person, is or was the coach of the head, a team.",
            "Tarn Athletic hired Dana Holt as head coach.",
        ),
        _relation(
            ROSTER,
            "team-person",
            "The tail, a person, plays or played for the head, a team.",
            "Dana Holt scored twice for Tarn Athletic.",
        ),
        _relation(
            DIRECTOR,
            "film-person",
            "The tail, a person, directed the head, a film.",
            "The Velmar Harvest, a film by Dana Holt, opened.",
        ),
        _relation(
            STARRING,
            "film-person",
            "The tail, a person, acts in the head, a film.",
            "Dana Holt stars in The Velmar Harvest.",
        ),
    )
}


def with_implied(relations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the relations and all they imply, in the order of the inventory."""
    known = set(relations)
    for relation in relations:
        known.update(RELATIONS[relation].implies)
    return tuple(name for name in RELATIONS if name in known)


def strongest(relations: tuple[str, ...]) -> tuple[str, ...]:
    """Return the relations that no other one of them implies."""
    implied = {name for relation in relations for name in RELATIONS[relation].implies}
    return tuple(name for name in relations if name not in implied)


def name_class(kind: str) -> str:
    """Return the kind, all kinds of people being one."""
    return "person" if kind in PEOPLE else kind


@cache
def marked_relations(wanted: str) -> tuple[str, ...]:
    """Return the relations whose shortcut works on names of this class."""
    found = []
    for name, relation in RELATIONS.items():
        for scene in (SCENES[scene] for scene in relation.scenes):
            kinds = scene.head_kinds if scene.marked == "head" else scene.tail_kinds
            if wanted in map(name_class, kinds) and name not in found:
                found.append(name)
    return tuple(found)
