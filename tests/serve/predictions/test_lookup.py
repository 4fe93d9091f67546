from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sayso.serve.server import ServeSettings
from sayso.store.store import Store
from toy_predictions import make_run_folder
from toy_workbench import NUM_PAIRS, Person, open_client

WITHHELD = "You have yet to annotate this fact"


@pytest.fixture
def nobody(shelf: ServeSettings, tmp_path: Path) -> Iterator[TestClient]:
    with open_client(replace(shelf, database=tmp_path / "marks.db")) as opened:
        yield opened


@pytest.fixture
def ada(nobody: TestClient) -> Person:
    return Person(TestClient(nobody.app, base_url=str(nobody.base_url)), "Ada")


def asked(bag: int, **more: object) -> dict[str, Any]:
    return {"bag": bag, "relation": "capital", **more}


def status(client: TestClient, bag: int) -> int:
    return client.get("/api/predictions/run/fact", params=asked(bag)).status_code


def marks(client: TestClient, bag: int) -> list[str]:
    evidence = client.get("/api/predictions/run/fact", params=asked(bag)).json()["evidence"]
    return [each["mark"] for each in evidence if each["mark"]]


def marked_bag(client: TestClient) -> int:
    return next(bag for bag in range(NUM_PAIRS) if "rationale" in marks(client, bag))


def test_a_fact_is_withheld_from_its_annotator_until_they_submit_it(ada: Person, nobody: TestClient) -> None:
    assert "What the prediction rests on" in ada.page("/predictions/run/fact", **asked(1))
    ada.mark(1, "capital", "rationale", "irrelevant", "unsure")
    page = ada.page("/predictions/run/fact", **asked(1))
    assert WITHHELD in page
    assert "/annotate/fact?bag=1&amp;relation=capital" in page
    for led in (
        "What the prediction rests on",
        "evidence-list",
        "Checks on the explanations",
        "probability <b",
        'name="decision"',
    ):
        assert led not in page
    assert status(nobody, 1) == 200
    ada.submit(1, "capital")
    assert "What the prediction rests on" in ada.page("/predictions/run/fact", **asked(1))
    assert status(ada.client, 1) == 200


def test_every_way_to_a_withheld_fact_is_closed(ada: Person) -> None:
    ada.mark(1, "capital", "rationale")
    both = asked(1, left="run", right="run")
    assert status(ada.client, 1) == 403
    refused = ada.client.get("/api/predictions/run/fact", params=asked(1)).json()["error"]
    assert "/annotate/fact?bag=1" in refused["details"][0]
    assert ada.client.get("/api/compare", params=both).status_code == 403
    assert WITHHELD in ada.page("/compare", **both)
    ada.ask("POST", "/decisions", 403, **asked(1, run="run", decision="accepted", key="decide it"))


def test_the_tables_have_no_figures_of_a_withheld_fact(ada: Person, nobody: TestClient) -> None:
    ada.mark(1, "capital", "rationale")
    hidden = {"probability": None, "support": "", "faithfulness": None, "disagreement": None, "is_withheld": True}
    rows = {
        (row["bag"], row["relation"]): row
        for row in ada.client.get("/api/predictions/run", params={"relation": "capital"}).json()["rows"]
    }
    assert hidden.items() <= rows[1, "capital"].items()
    assert rows[2, "capital"]["probability"] is not None
    assert ada.page("/predictions/run", relation="capital").count("to annotate</td>") == 1
    assert "to annotate</td>" not in nobody.get("/predictions/run", params={"relation": "capital"}).text


def test_the_pilot_round_is_withheld_until_all_of_it_is_done(ada: Person, nobody: TestClient) -> None:
    ada.ask("PUT", "/queue", num_pilot=2)
    bags = [ada.ask("POST", "/annotate/next")["fact"]["bag"]]
    pilot = {bag for bag in range(NUM_PAIRS) if status(ada.client, bag) == 403}
    assert len(pilot) == 2
    bags.append(ada.ask("POST", "/annotate/next", **asked(bags[0]))["fact"]["bag"])
    assert set(bags) == pilot
    for bag in bags:
        assert {status(ada.client, each) for each in bags} == {403}
        ada.mark(bag, "capital", "rationale", "irrelevant", "irrelevant")
        ada.submit(bag, "capital")
    assert {status(ada.client, each) for each in bags} == {200}
    assert {status(nobody, each) for each in bags} == {200}


def test_peoples_marks_are_shown_to_who_has_submitted_the_fact(ada: Person, nobody: TestClient) -> None:
    bag = marked_bag(nobody)
    assert marks(ada.client, bag) == []
    assert "you will see them after you submit your own" in ada.page("/predictions/run/fact", **asked(bag))
    ada.mark(bag, "capital", "rationale", "irrelevant", "unsure")
    ada.submit(bag, "capital")
    assert marks(ada.client, bag) == marks(nobody, bag)
    assert "you will see them" not in ada.page("/predictions/run/fact", **asked(bag))


def test_a_decision_quotes_nothing_that_the_person_could_not_see(ada: Person, nobody: TestClient) -> None:
    bag = marked_bag(nobody)
    ada.ask("POST", "/decisions", **asked(bag, run="run", decision="accepted", key="decide it"))
    (decided,) = ada.client.get("/api/decisions").json()
    assert {quote["mark"] for quote in decided["quotes"]} == {""}


def test_a_list_of_differences_leaves_out_withheld_facts(shelf: ServeSettings, tmp_path: Path) -> None:
    runs = (*shelf.runs, make_run_folder(tmp_path / "other", Store(shelf.data), seed=7))
    with open_client(replace(shelf, runs=runs, database=tmp_path / "two.db")) as client:
        person = Person(client, "Ada")
        query = {"left": "run", "right": "other"}
        (row, *_) = client.get("/api/compare/facts", params=query).json()["rows"]
        before = client.get("/api/compare/facts", params=query).json()["num_found"]
        assert "left out" not in person.page("/compare/facts")
        person.mark(row["bag"], row["relation"], "rationale")
        after = client.get("/api/compare/facts", params=query).json()
        assert after["num_found"] == before - 1
        assert row["bag"] not in [each["bag"] for each in after["rows"] if each["relation"] == row["relation"]]
        assert "1 fact that you have yet to annotate is left out" in person.page("/compare/facts")
