"""A made-up world: countries, regions and cities, people, companies, teams, schools, films, and the facts about them.

Entities are numbers here; they are named only after it is known which facts training will show (see `names`).
"""

import random
from collections import defaultdict
from typing import NamedTuple

from sayso.invent import relations as r

BORDERS = "/location/country/borders"
RIVER_MOUTH = "/geography/river/mouth_country"
NEAR = "/location/landmark/nearest_city"
GRAPH_ONLY = (BORDERS, RIVER_MOUTH, NEAR)
"""Relations that the knowledge graph has and the inventory has not: structure for entity vectors."""

_FIELD_SHARES = {"politics": 0.22, "business": 0.24, "sport": 0.22, "screen": 0.14, "letters": 0.18}


class Fact(NamedTuple):
    """Head and tail entity by number, and their relation."""

    head: int
    relation: str
    tail: int


class World(NamedTuple):
    """The kind of each entity, the entities of each kind, and all facts, implied ones included, each once."""

    kinds: list[str]
    members: dict[str, list[int]]
    facts: dict[Fact, None]

    def labels(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """Return the inventory's relations of every pair that has any, in the inventory's order."""
        found: dict[tuple[int, int], list[str]] = defaultdict(list)
        for head, relation, tail in self.facts:
            if relation in r.RELATIONS:
                found[head, tail].append(relation)
        return {pair: r.with_implied(tuple(relations)) for pair, relations in found.items()}


def build_world(num_pairs: int, rng: random.Random, spread: float = 1.0) -> World:
    """Return a world with about three times as many related pairs as are asked for, of all relations.

    `spread` times that where the choice among an entity's relations must be wide.
    """
    builder = _Builder(rng)
    builder.add_places(num_pairs, spread)
    builder.add_kind("school", max(8, round(0.03 * num_pairs)))
    builder.add_people(max(60, round(0.25 * num_pairs * spread)))
    builder.add_companies(max(14, round(0.05 * num_pairs * spread)))
    builder.add_teams(max(10, round(0.03 * num_pairs * spread)))
    builder.add_films(max(12, round(0.04 * num_pairs * spread)))
    return World(builder.kinds, dict(builder.members), builder.facts)


class _Builder:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kinds: list[str] = []
        self.members: defaultdict[str, list[int]] = defaultdict(list)
        self.facts: dict[Fact, None] = {}
        self.cities_of: defaultdict[int, list[int]] = defaultdict(list)

    def add_kind(self, kind: str, number: int) -> list[int]:
        first = len(self.kinds)
        self.kinds.extend([kind] * number)
        added = list(range(first, first + number))
        self.members[kind].extend(added)
        return added

    def say(self, head: int, relation: str, tail: int) -> None:
        self.facts[Fact(head, relation, tail)] = None
        if relation in r.RELATIONS:
            for implied in r.RELATIONS[relation].implies:
                self.facts[Fact(head, implied, tail)] = None

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def any_of(self, kind: str) -> int:
        return self.rng.choice(self.members[kind])

    def several_of(self, kind: str, least: int, most: int) -> list[int]:
        members = self.members[kind]
        return self.rng.sample(members, min(len(members), self.rng.randint(least, most)))

    def add_places(self, num_pairs: int, spread: float) -> None:
        countries = self.add_kind("country", min(300, max(15, round(0.05 * num_pairs * spread))))
        regions = self.add_kind("region", 4 * len(countries))
        cities = self.add_kind("city", max(3 * len(regions), round(0.12 * num_pairs)))
        for number, region in enumerate(regions):
            country = countries[number % len(countries)]
            # A region that is no division is a valley or a coast: it lies in the country, and that is all.
            self.say(country, r.DIVISION if self.chance(0.65) else r.CONTAINS, region)
        for number, city in enumerate(cities):
            region = regions[number % len(regions)]
            country = countries[number % len(regions) % len(countries)]
            self.say(region, r.REGION_CAPITAL if number < len(regions) else r.CONTAINS, city)
            self.say(country, r.CONTAINS, city)
            self.cities_of[country].append(city)
        for country in countries:
            self.say(country, r.CAPITAL, self.rng.choice(self.cities_of[country]))
            for neighbor in self.several_of("country", 1, 2):
                if neighbor != country:
                    self.say(country, BORDERS, neighbor)
        for river in self.add_kind("river", len(countries)):
            self.say(river, RIVER_MOUTH, self.any_of("country"))
        for landmark in self.add_kind("landmark", len(countries)):
            self.say(landmark, NEAR, self.any_of("city"))

    def add_people(self, number: int) -> None:
        for kind, share in _FIELD_SHARES.items():
            for person in self.add_kind(kind, max(10, round(share * number))):
                country = self.any_of("country")
                self._add_life(person, country)
                self._add_schools(person)
                if kind == "politics":
                    self._add_offices(person, country)

    def _add_life(self, person: int, country: int) -> None:
        birth = self.rng.choice(self.cities_of[country]) if self.chance(0.8) else self.any_of("city")
        lived = birth if self.chance(0.2) else self.any_of("city")
        self.say(person, r.NATIONALITY, country)
        self.say(person, r.BIRTH, birth)
        self.say(person, r.LIVED, lived)
        if self.chance(0.4):
            self.say(person, r.LIVED, self.any_of("city"))
        if self.chance(0.6):
            self.say(person, r.DEATH, lived if self.chance(0.25) else self.any_of("city"))

    def _add_schools(self, person: int) -> None:
        school = self.any_of("school")
        if self.chance(0.7):
            self.say(person, r.EDUCATION, school)
        if self.chance(0.5):
            self.say(person, r.TEACHES, school if self.chance(0.2) else self.any_of("school"))

    def _add_offices(self, person: int, country: int) -> None:
        for other in self.several_of("country", 2, 3):
            self.say(person, r.JURISDICTION, other)
        if self.chance(0.4):
            self.say(person, r.JURISDICTION, country)

    def add_companies(self, number: int) -> None:
        for company in self.add_kind("company", number):
            founders = self.several_of("business", 1, 2)
            chiefs = self.several_of("business", 1, 1)
            for founder in founders:
                self.say(company, r.FOUNDERS, founder)
            for chief in founders[:1] if self.chance(0.25) else chiefs:
                self.say(company, r.CHIEF, chief)
            for owner in chiefs if self.chance(0.15) else self.several_of("business", 1, 2):
                self.say(company, r.SHAREHOLDERS, owner)
            start = self.any_of("city")
            self.say(company, r.PLACE_FOUNDED, start)
            self.say(company, r.HEADQUARTERS, start if self.chance(0.3) else self.any_of("city"))

    def add_teams(self, number: int) -> None:
        for team in self.add_kind("team", number):
            home = self.any_of("city")
            self.say(team, r.TEAM_CITY, home)
            for city in [home] if self.chance(0.1) else self.several_of("city", 1, 2):
                self.say(team, r.TRAINING_CAMP, city)
            players = self.several_of("sport", 2, 4)
            for player in players:
                self.say(team, r.ROSTER, player)
            for coach in players[:1] if self.chance(0.2) else self.several_of("sport", 1, 2):
                self.say(team, r.COACH, coach)

    def add_films(self, number: int) -> None:
        for film in self.add_kind("film", number):
            actors = self.several_of("screen", 1, 3)
            for actor in actors:
                self.say(film, r.STARRING, actor)
            for director in actors[:1] if self.chance(0.2) else self.several_of("screen", 1, 1):
                self.say(film, r.DIRECTOR, director)
