"""Build from invented documents with known ground truth."""

import json
from pathlib import Path
from typing import Any

import pytest

from sayso.documents.build import build
from sayso.documents.settings import BuildInputs, BuildSettings
from sayso.invent.raw import invent_raw, raw_settings

Place = tuple[str, int, int, str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("invented")
    raw = folder / "raw"
    invent_raw(raw, raw_settings("toy", train_sentences=500, test_sentences=100, documents=30))
    inputs = BuildInputs(
        documents=raw / "documents.jsonl", kb=raw / "kb.tsv", names=raw / "names.tsv", types=raw / "types.json"
    )
    return folder, build(inputs, BuildSettings(), folder / "corpus", lambda *_: None)


def built(folder: Path) -> dict[Place, list[str]]:
    """Return the relations of every line by its place in the documents and its pair."""
    found = {}
    for path in (folder / "corpus").glob("[tr]*/0*"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            document = record["document"]
            place = document["id"], document["start"], document["stop"], record["head"]["id"], record["tail"]["id"]
            found[place] = record["relations"]
    return found


def truth(folder: Path) -> dict[Place, list[str]]:
    keys = ("document", "start", "stop", "head", "tail")
    records = map(json.loads, (folder / "raw" / "truth_sentences.jsonl").read_text().splitlines())
    return {tuple(record[key] for key in keys): record["relations"] for record in records}  # type: ignore[misc]


def test_nearly_all_sentences_are_found_in_their_exact_places_with_their_pair(
    world: tuple[Path, dict[str, Any]],
) -> None:
    wanted, found = truth(world[0]), built(world[0])
    # The others name a person by a surname that the article does not explain.
    assert sum(place in found for place in wanted) / len(wanted) > 0.93


def test_no_line_has_a_withheld_fact_and_every_known_stated_fact_has_its_label(
    world: tuple[Path, dict[str, Any]],
) -> None:
    rows = [line.split("\t") for line in (world[0] / "raw" / "truth_withheld.tsv").read_text().splitlines()]
    withheld = {(head, tail) for head, _, tail in rows}
    found = built(world[0])
    assert not [place for place, relations in found.items() if relations and place[3:] in withheld]
    for place, stated in truth(world[0]).items():
        if place in found and place[3:] not in withheld:
            assert set(stated) <= set(found[place])


def test_guessed_types_are_mostly_right(world: tuple[Path, dict[str, Any]]) -> None:
    types = json.loads((world[0] / "raw" / "truth_types.json").read_text())
    guesses = (line.split("\t") for line in (world[0] / "corpus" / "guessed_types.tsv").read_text().splitlines())
    right = [types[entity_id][0] == guess for entity_id, guess, _ in guesses if types[entity_id]]
    assert len(right) > 10
    assert sum(right) / len(right) > 0.8
