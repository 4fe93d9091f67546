"""An invented world: countries, regions and cities, people, companies, teams, schools, films, and facts about them.

Entities are indices here; `names` names them once the training facts are chosen.
"""

import random
from collections import defaultdict
from typing import NamedTuple

from sayso.invent.relations import NAME_OF, RELATIONS, with_implied

_FIELD_SHARES = {"politics": 0.22, "business": 0.24, "sport": 0.22, "screen": 0.14, "letters": 0.18}


class WorldFact(NamedTuple):
    """Head and tail entity indices, and their relation."""

    head: int
    relation: str
    tail: int


class World(NamedTuple):
    """The kind of each entity, the entities of each kind, and all distinct facts, including implied ones."""

    kinds: list[str]
    members: dict[str, list[int]]
    facts: dict[WorldFact, None]

    def labels(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """Return the relations of each related pair, in inventory order."""
        found: dict[tuple[int, int], list[str]] = defaultdict(list)
        for head, relation, tail in self.facts:
            if relation in RELATIONS:
                found[head, tail].append(relation)
        return {pair: with_implied(tuple(relations)) for pair, relations in found.items()}


def build_world(num_pairs: int, rng: random.Random, spread: float = 1.0) -> World:
    """Return a world with about 3 × `spread` × `num_pairs` related pairs, covering all relations."""
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
        self.facts: dict[WorldFact, None] = {}
        self.cities_of: defaultdict[int, list[int]] = defaultdict(list)

    def add_kind(self, kind: str, number: int) -> list[int]:
        first = len(self.kinds)
        self.kinds.extend([kind] * number)
        added = list(range(first, first + number))
        self.members[kind].extend(added)
        return added

    def say(self, head: int, key: str, *tails: int) -> None:
        relation = NAME_OF[key]
        implied = RELATIONS[relation].implies if relation in RELATIONS else ()
        self.facts |= {WorldFact(head, name, tail): None for tail in tails for name in (relation, *implied)}

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
            # Other regions are valleys or coasts, which only lie in the country.
            self.say(country, "division" if self.chance(0.65) else "contains", region)
        for number, city in enumerate(cities):
            region = regions[number % len(regions)]
            country = countries[number % len(regions) % len(countries)]
            self.say(region, "region_capital" if number < len(regions) else "contains", city)
            self.say(country, "contains", city)
            self.cities_of[country].append(city)
        for country in countries:
            self.say(country, "capital", self.rng.choice(self.cities_of[country]))
            self.say(country, "borders", *(each for each in self.several_of("country", 1, 2) if each != country))
        for river in self.add_kind("river", len(countries)):
            self.say(river, "river_mouth", self.any_of("country"))
        for landmark in self.add_kind("landmark", len(countries)):
            self.say(landmark, "nearest_city", self.any_of("city"))

    def add_people(self, number: int) -> None:
        for kind, share in _FIELD_SHARES.items():
            for person in self.add_kind(kind, max(10, round(share * number))):
                country = self.any_of("country")
                self._add_life(person, country)
                if kind == "politics":
                    self.say(person, "jurisdiction", *self.several_of("country", 2, 3))
                    if self.chance(0.4):
                        self.say(person, "jurisdiction", country)

    def _add_life(self, person: int, country: int) -> None:
        birth = self.rng.choice(self.cities_of[country]) if self.chance(0.8) else self.any_of("city")
        lived = birth if self.chance(0.2) else self.any_of("city")
        self.say(person, "nationality", country)
        self.say(person, "birth", birth)
        self.say(person, "lived", lived)
        if self.chance(0.4):
            self.say(person, "lived", self.any_of("city"))
        if self.chance(0.6):
            self.say(person, "death", lived if self.chance(0.25) else self.any_of("city"))
        school = self.any_of("school")
        if self.chance(0.7):
            self.say(person, "education", school)
        if self.chance(0.5):
            self.say(person, "teaches", school if self.chance(0.2) else self.any_of("school"))

    def add_companies(self, number: int) -> None:
        for company in self.add_kind("company", number):
            founders = self.several_of("business", 1, 2)
            chiefs = self.several_of("business", 1, 1)
            self.say(company, "founders", *founders)
            self.say(company, "chief", *(founders[:1] if self.chance(0.25) else chiefs))
            owners = chiefs if self.chance(0.15) else self.several_of("business", 1, 2)
            self.say(company, "shareholders", *owners)
            start = self.any_of("city")
            self.say(company, "place_founded", start)
            self.say(company, "headquarters", start if self.chance(0.3) else self.any_of("city"))

    def add_teams(self, number: int) -> None:
        for team in self.add_kind("team", number):
            home = self.any_of("city")
            self.say(team, "team_city", home)
            self.say(team, "training_camp", *([home] if self.chance(0.1) else self.several_of("city", 1, 2)))
            players = self.several_of("sport", 2, 4)
            self.say(team, "roster", *players)
            self.say(team, "coach", *(players[:1] if self.chance(0.2) else self.several_of("sport", 1, 2)))

    def add_films(self, number: int) -> None:
        for film in self.add_kind("film", number):
            actors = self.several_of("screen", 1, 3)
            self.say(film, "starring", *actors)
            self.say(film, "director", *(actors[:1] if self.chance(0.2) else self.several_of("screen", 1, 1)))
