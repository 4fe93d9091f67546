"""Precision and recall of linking, on 200 mentions of real text that were judged by reading them.

The mentions were drawn at random, at most one of each kind per document: 50 of a name that several entities share, 50
beside a capitalised word that is no title (or a city before a comma), and 100 others. `linking/mentions.tsv` has their
places in the text of the gensim wheel and the right entity, `-` where the name means none of the knowledge base. A
name inside the proper name of something else means none (Sydney Swans); one that says whose or where something is
means its entity (Queensland Premier, Melbourne Test). Weights were chosen on the part `develop` alone.
"""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from documents.wheel_text import wheel_texts
from sayso.documents.entity_graph import EntityGraph
from sayso.documents.gazetteer import Gazetteer
from sayso.documents.knowledge import read_knowledge, read_names
from sayso.documents.link import Linker
from sayso.documents.settings import AmbiguityPolicy, DoubtPolicy
from sayso.readers.tables import read_entity_types

FOLDER = Path(__file__).with_name("linking")
PAGE = Path(__file__).parents[2] / "docs" / "build.md"
NONE = "-"


class Judged(NamedTuple):
    part: str
    kind: str
    document: str
    start: int
    stop: int
    entity: str


class Score(NamedTuple):
    num_right: int
    num_linked: int
    num_linkable: int

    @property
    def cells(self) -> str:
        precision, recall = self.num_right / self.num_linked, self.num_right / self.num_linkable
        return f"{precision:.0%} ({self.num_right} of {self.num_linked}) | {recall:.0%} (of {self.num_linkable})"


@cache
def judged() -> tuple[Judged, ...]:
    with (FOLDER / "mentions.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return tuple(
            Judged(row["part"], row["kind"], row["document"], int(row["start"]), int(row["stop"]), row["entity"])
            for row in rows
        )


@cache
def links(ambiguous: AmbiguityPolicy, doubtful: DoubtPolicy) -> dict[tuple[str, int, int], str]:
    """Return the entity of every linked name in the documents with judged mentions."""
    names = read_names(FOLDER / "names.tsv")
    graph = EntityGraph(read_knowledge(FOLDER / "kb.tsv", names).facts, read_entity_types(FOLDER / "types.tsv"))
    linker, gazetteer, texts = Linker(names, graph, ambiguous, doubtful), Gazetteer(names), wheel_texts()
    return {
        (name, link.start, link.stop): link.entity_id
        for name in {each.document for each in judged()}
        for link in linker.link(texts[name], gazetteer.find(texts[name]))
        if link.entity_id
    }


def score(part: str, ambiguous: AmbiguityPolicy, doubtful: DoubtPolicy) -> Score:
    here = [each for each in judged() if each.part == part]
    linked = [(each.entity, links(ambiguous, doubtful).get(each[2:5])) for each in here]
    num_right = sum(entity == found for entity, found in linked)
    return Score(num_right, sum(found is not None for _, found in linked), sum(each.entity != NONE for each in here))


def test_the_judged_mentions_are_names_of_the_text_and_half_of_them_are_hard() -> None:
    names = read_names(FOLDER / "names.tsv")
    for each in judged():
        written = wheel_texts()[each.document][each.start : each.stop]
        spelled = {name.upper() for key, found in names.items() for name in found if each.entity in (NONE, key)}
        assert written.upper() in spelled, each
    assert len(set(judged())) == 200
    assert sum(each.part == "develop" for each in judged()) == 100
    assert sum(each.kind == "other" for each in judged()) == 100


@pytest.mark.parametrize("part", ["develop", "report"])
@pytest.mark.parametrize(("ambiguous", "doubtful"), [("skip", "keep"), ("context", "keep"), ("context", "drop")])
def test_the_page_states_precision_and_recall(part: str, ambiguous: AmbiguityPolicy, doubtful: DoubtPolicy) -> None:
    row = f"| {part} | `{ambiguous}` | `{doubtful}` | {score(part, ambiguous, doubtful).cells} |"
    assert row in PAGE.read_text("utf-8"), f"docs/build.md should have: {row}"
